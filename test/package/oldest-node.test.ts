/** What the oldest Node has less of than the one of the other tests, or otherwise: SQLite, and what a promise holds. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { outside, ROOT, run } from './support.ts'
import { neededTool } from './tools.ts'

const OPTIONS = '--experimental-strip-types --no-warnings'
const VITEST = join(ROOT, 'node_modules/vitest/vitest.mjs')

it.each([
  ['unit', ['test/agent/checkpoint-stores.test.ts', 'test/gates/what-is-shown.test.ts']],
  ['policies', ['test/approval/stores.test.ts']],
  [
    'viewer',
    ['store', 'model', 'run-uses', 'two-stores', 'what-is-kept'].map((name) => `test/viewer/${name}.test.ts`),
  ],
])('keeps there what is to be kept, as the tests of %s say', async (project, files) => {
  await passes(project, files)
})

it('lets go there of the runs of LangChain', () =>
  passes('adapter', ['test/adapter/let-go.test.ts'], '-t', 'without a signal.*langchain'))

it('says nothing there of SQLite in the commands that read a store', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'hookspan-old-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const path = await neededTool('node')
  const command = [join(ROOT, 'dist/cli/bin.js'), 'runs', '--db', join(folder, 'traces.db')]
  const { stderr } = await run(path, command, { cwd: folder, env: outside }).catch((failed) => failed)
  expect(stderr).toMatch(/^hookspan: .+traces\.db is not there/)
})

async function passes(project: string, files: readonly string[], ...more: string[]): Promise<void> {
  const path = await neededTool('node')
  // Processes that a test starts are sources, which this Node reads only when told to.
  const env = { ...outside, NODE_OPTIONS: OPTIONS }
  const args = [VITEST, 'run', '--project', project, ...files, ...more]
  const { stdout } = await run(path, args, { cwd: ROOT, env, maxBuffer: 1e8 })
  expect(stdout).toMatch(new RegExp(`Test Files +${files.length} passed`))
}
