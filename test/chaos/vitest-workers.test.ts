/** Test files that run agents, in the workers of vitest: their spans are sent before a worker is ended. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { startTracing } from 'hookspan/tracing'
import { expect, it, onTestFinished } from 'vitest'
import { scene } from './support/scene.ts'
import { tell } from './support/tell.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const beside = (file: string) => JSON.stringify(fileURLToPath(new URL(file, import.meta.url)))
const VITEST = join(ROOT, 'node_modules/vitest/vitest.mjs')
const FILES = 8
const RUNS = 5

const at = scene()

const setup = (ends: boolean) => `
import { openSync, writeSync } from 'node:fs'
import { HookDispatcher } from 'hookspan'
import { startTracing } from 'hookspan/tracing'
import { afterAll } from 'vitest'
import { hideWholeSdk } from ${beside('./processes/small-sdk.ts')}
import { witness } from ${beside('./processes/witness.ts')}

const truth = openSync(process.env.TRUTH, 'a')
const spanProcessors = [witness((line) => void writeSync(truth, line))]
const { ENDPOINT: endpoint, SPOOL: spoolDir } = process.env
// The first file is on the whole one.
if (process.env.VITEST_WORKER_ID !== '1') hideWholeSdk()
const tracing = startTracing({ endpoint, spanProcessors, ...(spoolDir && { spoolDir }) })
globalThis.dispatcher = new HookDispatcher()
dispatcher.use(tracing)
${ends ? 'afterAll(() => tracing.shutdown())' : ''}
`

const CASE = `
import { it } from 'vitest'

for (let run = 0; run < ${RUNS}; run++) it('makes run ' + run, async () => {
  const op = dispatcher.startOperation({ agentName: 'worker' })
  await op.step((step) => step.toolCall({ apiName: 'look', args: {} }, async () => 'seen'))
  await op.complete({ reason: 'done' })
})
`

interface Pool {
  pool: string
  isolate: boolean
  /** Whether the setup file ends its tracing. */
  ends?: boolean
  spoolDir?: string
}

/** A project of so many test files, run to its end by a vitest of its own. */
async function runTests({ pool, isolate, ends = true, spoolDir }: Pool): Promise<void> {
  // Below the repository, where the package finds itself by its name.
  mkdirSync(join(ROOT, '.cache'), { recursive: true })
  const folder = mkdtempSync(join(ROOT, '.cache', 'vitest-workers-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const options = { include: ['*.case.js'], setupFiles: ['./setup.js'], pool, isolate, maxWorkers: 4 }
  // As in a project that has installed it: not transformed, but loaded by Node.
  const config = `{ test: { ...${JSON.stringify(options)}, server: { deps: { external: [/\\/dist\\//] } } } }`
  writeFileSync(join(folder, 'vitest.config.js'), `export default ${config}`)
  writeFileSync(join(folder, 'setup.js'), setup(ends))
  for (let file = 0; file < FILES; file++) writeFileSync(join(folder, `agents-${file}.case.js`), CASE)
  const inherited = Object.entries(process.env).filter(
    ([name]) => !/^(VITEST|TINYPOOL|NODE_ENV|TEST)/.test(name),
  )
  const env = { ENDPOINT: at.collector.url, TRUTH: at.truth(), ...(spoolDir && { SPOOL: spoolDir }) }
  const child = spawn(process.execPath, [VITEST, 'run', '--root', folder], {
    env: { ...Object.fromEntries(inherited), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const [[code], said, problems] = await Promise.all([
    once(child, 'close'),
    text(child.stdout),
    text(child.stderr),
  ])
  expect(code, said + problems).toBe(0)
  expect(at.told().ended.size).toBe(FILES * RUNS * 3)
}

it.each([
  { pool: 'threads', isolate: true },
  { pool: 'threads', isolate: false },
  { pool: 'forks', isolate: true },
  { pool: 'forks', isolate: false },
])(
  'delivers what test files do in a pool of $pool, isolated: $isolate, that end their tracing',
  async (pool) => {
    await runTests(pool)
    // They are there when vitest ends, not later.
    const { states, doubled } = await at.collector.received()
    expect(states.size).toBe(FILES * RUNS * 3)
    expect(doubled).toBe(0)
    const done = `test files of vitest, ${pool.pool}${pool.isolate ? '' : ', not isolated'}, ${states.size} spans`
    tell({ done, times: FILES, lost: 0, doubled })
  },
)

it('keeps on disk what threads had not sent when vitest ended them, for the next process', async () => {
  const { spoolDir } = at
  await runTests({ pool: 'threads', isolate: true, ends: false, spoolDir })
  const next = startTracing({ endpoint: at.collector.url, spoolDir })
  const { doubled } = await at.allThere()
  await next.shutdown()
  const spans = FILES * RUNS * 3
  tell({
    done: `test files of vitest, threads that end no tracing, spoolDir, ${spans} spans`,
    times: FILES,
    lost: 0,
    doubled,
  })
})
