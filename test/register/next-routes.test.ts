import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { programEnv, registered } from '../support/registered.ts'

/** What `next start` and `next dev` load of a route, in a project that has these files. */
async function served(server: string, files: Record<string, string>) {
  const cwd = mkdtempSync(join(tmpdir(), 'hookspan-next-'))
  onTestFinished(() => rmSync(cwd, { recursive: true, force: true }))
  const all = {
    ...files,
    [`${server}/app/page.js`]: '',
    [`${server}/app/api/route.js`]: "console.log('served')",
    'serve.cjs': `require('./${server}/app/page.js'); require('./${server}/app/api/route.js')`,
  }
  for (const [path, text] of Object.entries(all)) {
    mkdirSync(join(cwd, path, '..'), { recursive: true })
    writeFileSync(join(cwd, path), text)
  }
  const env = programEnv('http://127.0.0.1:9/v1', 'http://127.0.0.1:9')
  const { stdout, stderr } = await registered(join(cwd, 'serve.cjs'), { env, cwd })
  expect(stdout, stderr).toBe('served\n')
  return stderr
}

const built = (serverExternalPackages?: string[]) => ({
  '.next/required-server-files.json': JSON.stringify({ config: { serverExternalPackages } }, null, 2),
})

it.each([
  ['start', '.next/server', { ...built(), 'next.config.mjs': 'export default {}' }],
  ['start, of an empty list', '.next/server', built([])],
  ['dev', '.next/dev/server', {}],
])('says once that Next.js bundles the SDKs of its routes: next %s', async (_, server, files) => {
  const told = await served(server, files)
  expect(
    told.match(/^hookspan: Next\.js bundles .* serverExternalPackages: \['ai', 'openai'\]\.$/gm),
  ).toHaveLength(1)
})

it.each([
  ['start', '.next/server', built(['ai'])],
  ['dev', '.next/dev/server', { 'next.config.ts': "export default { serverExternalPackages: ['ai'] }" }],
])('says nothing where they are named in its config: next %s', async (_, server, files) => {
  expect(await served(server, files)).not.toContain('Next.js')
})
