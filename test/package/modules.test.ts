import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { transform } from 'esbuild'
import { expect, it } from 'vitest'
import { ROOT } from './support.ts'

/** Is waited for by `node --import`: no guard of a config file may be missing when the program starts. */
const PRELOADED = join('register', 'index.js')

it('ships no module with a top-level await: `require` could not load it', async () => {
  const modules = readdirSync(join(ROOT, 'dist'), { recursive: true, encoding: 'utf8' }).filter(
    (path) => path.endsWith('.js') && !path.startsWith('ui/') && path !== PRELOADED,
  )
  expect(modules.length).toBeGreaterThan(100)
  const waiting: string[] = []
  for (const path of modules) {
    const code = readFileSync(join(ROOT, 'dist', path), 'utf8')
    // CommonJS has none, so esbuild says where one is.
    await transform(code, { format: 'cjs', logLevel: 'silent' }).catch((error: Error) => {
      waiting.push(`${path}: ${error.message}`)
    })
  }
  expect(waiting).toEqual([])
})
