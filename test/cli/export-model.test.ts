/** Random runs, each made a test by `hookspan export`: all of them pass at once. */
import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { HookDispatcher } from 'hookspan'
import { execAgent } from 'hookspan/agent'
import { scriptedModel } from 'hookspan/mock'
import { startTracing } from 'hookspan/tracing'
import { startViewer } from 'hookspan/viewer'
import { expect, it, onTestFinished } from 'vitest'
import { runCli } from '../support/run-cli.ts'
import { randomRun } from './export-model/random-run.ts'

/** More of them look further: `EXPORT_RUNS=100` (a file holds no more); `EXPORT_SEED` has others, or the same again. */
const RUNS = Number(process.env.EXPORT_RUNS ?? 25)
const SEED = Number(process.env.EXPORT_SEED ?? 1)

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

function project(): string {
  const folder = mkdtempSync(join(tmpdir(), 'hookspan-export-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  mkdirSync(join(folder, 'node_modules'))
  symlinkSync(ROOT, join(folder, 'node_modules', 'hookspan'))
  symlinkSync(join(ROOT, 'node_modules', 'vitest'), join(folder, 'node_modules', 'vitest'))
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  return folder
}

interface Report {
  testResults: {
    message: string
    assertionResults: { title: string; status: string; failureMessages: string[] }[]
  }[]
}

async function tested(folder: string, file: string): Promise<Report['testResults']> {
  const env: NodeJS.ProcessEnv = { ...process.env, CI: 'true', NO_COLOR: '1' }
  // The inner vitest must not take itself for a worker of this one.
  for (const name of Object.keys(env)) if (/^VITEST|^NODE_ENV$|^NODE_OPTIONS$/.test(name)) delete env[name]
  const flags = [
    '--testTimeout=120000',
    '--reporter=json',
    '--outputFile=report.json',
    '--root',
    folder,
    file,
  ]
  const vitest = join(ROOT, 'node_modules/vitest/vitest.mjs')
  await promisify(execFile)(process.execPath, [vitest, 'run', ...flags], { cwd: folder, env }).catch(() => {})
  return (JSON.parse(readFileSync(join(folder, 'report.json'), 'utf8')) as Report).testResults
}

it(`is a test that passes at once: ${RUNS} random runs`, async () => {
  const folder = project()
  const viewer = await startViewer({ port: 0, db: join(folder, 'traces.db') })
  onTestFinished(() => viewer.close())
  const dispatcher = new HookDispatcher()
  const tracing = startTracing({ endpoint: viewer.otlpEndpoint, captureContent: true })
  dispatcher.use(tracing)
  for (let seed = SEED; seed < SEED + RUNS; seed++) {
    const { agent, prompt, steps, more } = randomRun(seed)
    const client = scriptedModel(steps)
    await execAgent({ agent, prompt, dispatcher, client, ...more })
  }
  await tracing.shutdown()

  const args = ['export', 'spans>0', '-f', 'vitest', '-o', 'all.test.ts', '--url', viewer.url]
  const { code, stderr } = await runCli(args, { cwd: folder })
  expect([code, code === 0 || stderr]).toEqual([0, true])
  // Mocks refuse them in any test.
  const leftOut =
    stderr.match(/^.*Left out: Run \w+ called ".*" with arguments that are no JSON object/gm) ?? []
  expect(stderr.match(/Left out/g) ?? []).toHaveLength(leftOut.length)

  const results = await tested(folder, 'all.test.ts')
  if (process.env.EXPORT_KEEP)
    writeFileSync(process.env.EXPORT_KEEP, readFileSync(join(folder, 'all.test.ts')))
  const tests = results.flatMap(({ assertionResults }) => assertionResults)
  const failed = tests.filter(({ status }) => status !== 'passed')
  const said = failed.map(({ title, failureMessages: [why = ''] }) => `${title}\n${why.slice(0, 700)}`)
  expect([results[0]?.message, ...said]).toEqual([''])
  expect(tests).toHaveLength(RUNS - leftOut.length)
})
