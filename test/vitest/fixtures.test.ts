import { execFile } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { readTrajectory } from 'hookspan/mock'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const root = fileURLToPath(new URL('../..', import.meta.url))

interface InnerTest {
  title: string
  status: string
  failureMessages: string[]
}

let folder: string
let tests: Map<string, InnerTest>
let output: string

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'hookspan-vitest-'))
  const report = join(folder, 'report.json')
  const vitest = join(root, 'node_modules/vitest/vitest.mjs')
  const env: NodeJS.ProcessEnv = {
    ...process.env,
    INNER_REPORT: report,
    HOOKSPAN_TRACE_DIR: join(folder, 'traces'),
    INNER_RECORDINGS: join(folder, 'recordings'),
  }
  // The inner vitest must not take itself for a worker of this one.
  for (const name of Object.keys(env)) if (/^VITEST|^NODE_ENV$|^NODE_OPTIONS$/.test(name)) delete env[name]
  const args = [vitest, 'run', '--config', 'test/vitest/inner/vitest.config.ts']
  const run = promisify(execFile)(process.execPath, args, { cwd: root, env })
  const { stdout, stderr } = await run.catch((error: { stdout: string; stderr: string }) => error)
  output = `${stdout}\n${stderr}`
  const { testResults } = JSON.parse(readFileSync(report, 'utf8')) as {
    testResults: { assertionResults: InnerTest[] }[]
  }
  tests = new Map(
    testResults.flatMap(({ assertionResults }) => assertionResults.map((one) => [one.title, one] as const)),
  )
}, 60_000)

afterAll(() => rmSync(folder, { recursive: true, force: true }))

const MISTAKES: [string, RegExp][] = [
  ['bad: a call without a mock, swallowed by the agent', /Tool "get_weather" was called, and no mock fits/],
  [
    'bad: a mock that is not used',
    /A mock was not used: mock\("get_weather"\)\.returns\(1\) answered 0 calls/,
  ],
  [
    'bad: mocks of an agent that has another dispatcher',
    /The test has mocks, and nothing has run on its dispatcher/,
  ],
  [
    'bad: mocks of an agent that has another dispatcher, whose spans are looked through',
    /The test has mocks, and nothing has run on its dispatcher/,
  ],
  ['bad: a mock for a tool that no agent has', /tool that no agent has[\s\S]*Did you mean "get_weather"\?/],
  ['bad: arguments that break the schema', /break the tool's input schema[\s\S]*args\.city: is required/],
  ['bad: a result that breaks the schema', /breaks the tool's output schema[\s\S]*expected number/],
  ['bad: a step of the model that is not asked for', /steps\[1\] was never asked for: "never said"/],
  ['bad: a request that the model does not expect', /all 1 steps are used/],
  [
    'bad: a request that the model does not expect, and what is not used for that',
    /all 1 steps are used[\s\S]*A mock was not used/,
  ],
  [
    'bad: a human nobody scripted is asked',
    /A human was asked, and no scripted answer fits[\s\S]*get_weather\(\{"city":"Berlin"\}\)/,
  ],
  [
    'bad: a mock that expects what is not so',
    /mock of "get_weather" expects is not so: the town: expected 'Berlin' to be 'Oslo'[\s\S]*get_weather\(\{"city":"Berlin"\}\)/,
  ],
  ['bad: a hook that expects what is not so', /AssertionError: the town: expected 'Berlin' to be 'Oslo'/],
  ['bad: a gate that expects what is not so', /AssertionError: the town: expected 'Berlin' to be 'Oslo'/],
  ['bad: a tool that needs approval by what is not so', /the town: expected 'Berlin' to be 'Oslo'/],
  ['bad: a tool of the test that expects what is not so', /the town: expected 'Berlin' to be 'Oslo'/],
  ['bad: a hook that expects what is not so, later, in one of several runs', /expected \+?0 to be 1/],
  [
    'bad: a human whose edits expect what is not so',
    /human\("get_weather"\)\.edits\S* threw: the town: expected 'Berlin' to be 'Oslo'/,
  ],
  [
    'bad: a human who expects what is not so',
    /^HookspanError: The `when` function of human\("get_weather"\)\S* threw: the town: expected 'Berlin' to be 'Oslo'/,
  ],
  ['bad: a human who is not asked', /A scripted human was not asked: human\("get_weather"\)\.approves/],
  ['bad: an assertion on the trajectory', /- book_flight\(…\) {4}expected as call 2, not made/],
  ['bad: an assertion on a run that failed', /found 0[\s\S]*The run itself failed: the model is away/],
  [
    'bad: mocks of its own that nobody takes out',
    /^HookspanError: Tool "get_weather" was called, and no mock fits/,
  ],
  ['bad: a replay of its own that nobody takes out', /args\.city: expected "Oslo", got "Berlin"/],
  [
    'bad: mocks of its own, and an expect',
    /^AssertionError: expected 'sorry' to be '7 °C'[\s\S]*HookspanError: Tool "get_weather" was called, and no mock fits/,
  ],
  ['bad: a scripted human of its own who is not asked', /A scripted human was not asked/],
  ['bad: a recording that is missing under strict', /Record it first, with mode "record" or "auto"/],
  [
    'bad: several runs, at whose report nobody looks',
    /1 of 2 runs passed\nrun 1: expected 1 to be \+?0[\s\S]*Nobody looked at the report of repeat\(\)/,
  ],
  ['bad: a run that nobody awaits', /The test ended while a run went on \(invoke_agent weather\)/],
  ['bad: several runs that nobody awaits', /repeat\(\) had not ended when the test did. Await it/],
  ['bad: concurrent, and only this one', /Tool "get_weather" was called, and no mock fits/],
]

describe('a test with the fixtures of hookspan/vitest', () => {
  it.each(MISTAKES)('fails: %s', (title, message) => {
    expect(tests.get(title)?.status).toBe('failed')
    expect(tests.get(title)?.failureMessages.join('\n')).toMatch(message)
  })

  it('passes when nothing is wrong with it, whatever goes on beside it', () => {
    const wrong = [...tests.values()].filter(
      ({ title, status }) => title.startsWith('ok') !== (status === 'passed'),
    )
    expect(wrong).toEqual([])
    expect(tests.size).toBe(MISTAKES.length + 21)
  })

  it('prints the tree of a failed run and saves its trace as OTLP JSON', () => {
    expect(output).toContain('Trace of the failed test "')
    expect(output).toMatch(/invoke_agent weather {2}\[done, \d+ ms\]\n {2}step 0/)
    expect(output).toMatch(
      /execute_tool get_weather\(\{"city":"Berlin"\}\) ! Tool "get_weather" was called, and no mock fits/,
    )
    const traces = join(folder, 'traces/test/vitest/inner/mistakes.inner.ts')
    const files = readdirSync(traces)
    const file = files.find((name) => name.includes('an-assertion-on-the-trajectory')) as string
    const otlp = JSON.parse(readFileSync(join(traces, file), 'utf8'))
    expect(readTrajectory(otlp)).toMatchObject([
      { name: 'get_weather', args: { city: 'Berlin' }, agent: 'weather', outcome: 'mocked' },
    ])
    expect(files.some((name) => name.includes('everything-is-used'))).toBe(false)
  })

  it('keeps one recording per test', () => {
    const file = join(folder, 'recordings/mistakes.inner.ts/ok-a-recording-is-made-where-there-is-none.json')
    expect(JSON.parse(readFileSync(file, 'utf8')).calls).toMatchObject([
      { tool: 'get_weather', result: { tempC: 7 } },
    ])
  })

  it('reports the mock coverage, of repeated runs and of tests without mocks, too', () => {
    expect(output).toMatch(
      /Mock coverage: 3 of 3 tools mocked, 1 live, in \d+ tests\n {2}mocked {3}get_weather, only_repeated, t\n {2}live {5}get_weather\n {2}refused {2}get_weather/,
    )
  })
})
