import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type ScriptOptions, startScriptedServer } from 'hookspan/mock'
import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'vitest'
import { startCollector } from './collector.ts'
import { programEnv, registered } from './registered.ts'
import { runCli } from './run-cli.ts'

/** What a program says of objects that nothing of ours can be put into, or that are not what they seem. */
export interface Odd {
  /** What is said not to be observed. */
  readonly said: readonly string[]
  /** Cases that are refused where a gate decides on the tool. */
  readonly refused: readonly string[]
}

/** With a model that answers so, and a collector, for each test of the file. @returns runs a program of cases. */
export function oddPrograms(respond: ScriptOptions['respond']): (file: string, odd: Odd) => Promise<void> {
  let collector: Awaited<ReturnType<typeof startCollector>>
  let model: Awaited<ReturnType<typeof startScriptedServer>>
  beforeAll(async () => {
    model = await startScriptedServer({ respond })
  })
  afterAll(() => model.close())
  beforeEach(async () => {
    collector = await startCollector()
  })
  afterEach(() => collector.stop())
  return (file, odd) => expectAsBare(file, programEnv(model.baseURL, collector.url), odd)
}

/** Runs it bare, observed, and observed where a gate denies its tool `wipe`. */
async function expectAsBare(file: string, env: Record<string, string>, odd: Odd): Promise<void> {
  const cwd = mkdtempSync(join(tmpdir(), 'hookspan-'))
  const gates = [{ id: 'no-wiping', type: 'toolPolicy', deny: ['wipe'] }]
  writeFileSync(join(cwd, 'hookspan.config.json'), JSON.stringify({ gates }))
  const [bare, observed, held] = await Promise.all([
    runCli([file], { command: '--no-warnings', env }),
    registered(file, { env }),
    registered(file, { env, cwd }),
  ])

  const cases = Object.keys(said(bare.stdout))
  expect(cases).toContain('plain')
  expect({ code: observed.code, stdout: observed.stdout }, observed.stderr).toEqual({
    code: 0,
    stdout: bare.stdout,
  })
  const lines = observed.stderr.split('\n').filter((line) => line.includes('frozen'))
  expect(lines).toEqual(odd.said.map((line) => expect.stringContaining(line)))

  expect(held.stdout, held.stderr).not.toContain('wiped')
  const told = said(held.stdout)
  expect(Object.keys(told)).toEqual(cases)
  expect(cases.filter((name) => told[name]?.includes('nobody would be asked'))).toEqual(odd.refused)
}

/** What it said of each case. */
const said = (stdout: string): Record<string, string> =>
  Object.fromEntries(
    stdout.split('\n').flatMap((line) => (/^\S.*?: /.test(line) ? [line.split(/: (.*)/s).slice(0, 2)] : [])),
  )
