/** What the README says of a fresh clone, done as a reader does it. */
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { manifest, outside, ROOT, run } from './support.ts'

const LINES = [...readFileSync(join(ROOT, 'README.md'), 'utf8').matchAll(/`(npm ci && [^`]+)`/g)].map(
  ([, line = '']) => line,
)

let parent: string
beforeAll(() => {
  parent = mkdtempSync(join(tmpdir(), 'hookspan-clone-'))
})
afterAll(() => rmSync(parent, { recursive: true, force: true }))

it('has two lines that do everything, the second of which .ci/run begins with', () => {
  expect(LINES).toEqual(['npm ci && npm run demo', 'npm ci && npm test'])
  expect(Object.keys(manifest.scripts)).toEqual(expect.arrayContaining(['demo', 'test']))
})

it('shows the demo in a fresh clone, by the line alone', async () => {
  const cwd = join(parent, 'hookspan')
  await run('git', ['clone', '--quiet', '--depth', '1', `file://${ROOT}`, cwd])
  // No key and no viewer: the shell of somebody who has just found the project.
  const env = { ...outside, npm_config_prefer_offline: 'true', OPENAI_API_KEY: '' }
  const { stdout } = await promisify(execFile)('sh', ['-c', LINES[0] ?? 'false'], {
    cwd,
    env,
    maxBuffer: 1e8,
  })
  expect(stdout).toContain('16 of 16 hook types fired')
})
