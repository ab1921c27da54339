import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, it } from 'vitest'
import { ROOT, runModule } from './support.ts'

/** How long an import takes is measured by `npm run bench -- --suite import`. Here is what it takes that long for. */
const loads = (file: string) => `
import { builtinModules, registerHooks } from 'node:module'
const files = [], had = new Set(process.moduleLoadList)
registerHooks({ load: (url, context, next) => (files.push(url), next(url, context)) })
await import(${JSON.stringify(pathToFileURL(join(ROOT, file)).href)})
const builtins = process.moduleLoadList.filter((name) => !had.has(name)).map((name) => name.replace(/^NativeModule /, ''))
console.log(JSON.stringify({ files, dragged: builtins.filter((name) => builtinModules.includes(name)) }))`

async function loadedBy(file: string): Promise<{ ours: string[]; builtins: string[]; dragged: string[] }> {
  const { files, dragged } = JSON.parse(await runModule(ROOT, loads(file)))
  const dist = pathToFileURL(join(ROOT, 'dist/')).href
  const builtins = files.filter((url: string) => url.startsWith('node:'))
  const ours = files
    .filter((url: string) => !builtins.includes(url))
    .map((url: string) => url.replace(dist, ''))
  return { ours, builtins, dragged }
}

describe('importing the root', () => {
  it('opens two files', async () => {
    expect((await loadedBy('dist/index.js')).ours).toEqual(['index.js', 'core.js'])
  })

  // Of node:util only `types`: the names of the whole of it load worker_threads and a parser of arguments, 5 ms.
  it('asks Node for what it has loaded anyway', async () => {
    const { builtins, dragged } = await loadedBy('dist/index.js')
    expect(builtins.sort()).toEqual(['node:async_hooks', 'node:diagnostics_channel', 'node:util/types'])
    expect(dragged).toEqual([])
  })
})
