import { execFile } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'

const root = fileURLToPath(new URL('../..', import.meta.url))

it.each([
  ['as vitest is set up', []],
  ['without isolation, in threads', ['--isolate=false', '--pool=threads']],
])(
  'is at home with what test authors do: %s',
  async (_name, flags) => {
    const folder = mkdtempSync(join(tmpdir(), 'hookspan-habits-'))
    const recordings = join(folder, 'recordings')
    const report = join(folder, 'report.json')
    const env: NodeJS.ProcessEnv = {
      ...process.env,
      INNER_REPORT: report,
      INNER_RECORDINGS: recordings,
      HOOKSPAN_TRACE_DIR: join(folder, 'traces'),
    }
    // The inner vitest must not take itself for a worker of this one.
    for (const name of Object.keys(env)) if (/^VITEST|^NODE_ENV$|^NODE_OPTIONS$/.test(name)) delete env[name]
    const vitest = join(root, 'node_modules/vitest/vitest.mjs')
    const args = [vitest, 'run', '--config', 'test/vitest/habits/vitest.config.ts', ...flags]
    const run = promisify(execFile)(process.execPath, args, { cwd: root, env })
    const { stderr } = await run.catch((error: { stderr: string }) => error)
    const { testResults } = JSON.parse(readFileSync(report, 'utf8')) as {
      testResults: { assertionResults: { title: string; status: string; failureMessages: string[] }[] }[]
    }
    const tests = testResults.flatMap(({ assertionResults }) => assertionResults)
    const wrong = tests.filter(({ title, status }) => /\bok\b|^nul$/i.test(title) !== (status === 'passed'))
    // Of tests whose recordings have one name, on whichever file system, only the first has it.
    expect(wrong.map(({ title }) => title)).toEqual(['x - y: ok', 'X y: OK', 'same'])
    const said = (title: string) =>
      tests
        .filter((one) => one.title.startsWith(title))
        .map(({ failureMessages }) => failureMessages.join('\n'))
    expect(said('x - y')[0]).toMatch(/x-y-ok\.json" is that of another test of this file/)
    expect(said('same')).toEqual(['', expect.stringContaining('is that of another test of this file')])
    expect(said('bad: ü')[0]).toContain('"without a mock" was called, and no mock fits')
    expect(said('bad: softly')[0]).toMatch(/call of "other", found 0[\s\S]*denied call of "t", found 0/)
    expect(said('bad: on a dispatcher')[0]).toContain('"of the shared" was called, and no mock fits')
    expect(said('bad: the second')[0]).toContain('Two tests have the same `dispatcher` at once')
    expect(said('bad: a trace')[0]).toContain('"without a mock" was called, and no mock fits')
    expect(stderr).toContain('(not saved: ')
    const traces = readdirSync(join(folder, 'traces/test/vitest/habits/habits.inner.ts'))
    expect(traces.filter((name) => name.startsWith('bad-of-the-same-name'))).toEqual([
      'bad-of-the-same-name-2.json',
      'bad-of-the-same-name.json',
    ])
    const made = readdirSync(recordings, { recursive: true, encoding: 'utf8' })
    expect(made.filter((name) => name.includes('bad-'))).toEqual([])
    expect(made.filter((name) => name.includes('nul'))).toEqual(['habits.inner.ts/test-nul.json'])
    expect(made.filter((name) => name.includes('ok-tried-again'))).toHaveLength(1)
    expect(stderr).not.toContain('Trace of the failed test "bad: skips itself')
    rmSync(folder, { recursive: true, force: true })
  },
  120_000,
)
