/**
 * Measures hookspan against other ways to do the same.
 *
 *   npm run bench -- [--suite dispatch,tool-call] [--variant TEXT] [--rounds N] [--quick] [--no-peers] [--force]
 */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { availableParallelism, loadavg } from 'node:os'
import { parseArgs } from 'node:util'
import { peersFolder, root } from './harness/environment.ts'
import { differences, measure } from './harness/measure.ts'
import { environmentLine, suiteReport, versionsTable } from './harness/report.ts'
import type { Effort, Suite, SuiteResult } from './harness/types.ts'
import { suites } from './suites/index.ts'

const { values: options } = parseArgs({
  options: {
    suite: { type: 'string' },
    variant: { type: 'string' },
    rounds: { type: 'string' },
    quick: { type: 'boolean', default: false },
    'no-peers': { type: 'boolean', default: false },
    force: { type: 'boolean', default: false },
  },
})

/** Measured on their own: `npm run bench:viewer`. The last by hand, of a part of it. */
const viewerParts = ['viewer.md', 'viewer-large.md', 'viewer-until-idle.md'].map(
  (name) => `${root}/bench/results/${name}`,
)
const chosen = options.suite === undefined ? suites : options.suite.split(',').map(suiteNamed)
const partial = options.quick || options['no-peers'] || options.variant !== undefined
if (!options['no-peers']) installPeers()
checkLoad()
for (const suite of chosen) await runSuite(suite)
if (partial) console.log('\nOnly a part was measured: bench/results and bench/RESULTS.md are as they were.')
else writeReport()

function suiteNamed(id: string): Suite {
  const suite = suites.find((other) => other.id === id)
  if (suite === undefined) {
    fail(`Unknown suite "${id}". Known: ${suites.map((other) => other.id).join(', ')}.`)
  }
  return suite
}

/** The libraries that we are measured against have a folder and a lock of their own. */
function installPeers(): void {
  const lock = `${peersFolder}/package-lock.json`
  const stamp = `${peersFolder}/node_modules/.installed-lock.json`
  const wanted = readFileSync(lock, 'utf8')
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted) return
  console.log('npm ci --prefix bench/peers')
  execFileSync('npm', ['ci', '--prefix', peersFolder, '--no-audit', '--no-fund'], { stdio: 'inherit' })
  writeFileSync(stamp, wanted)
}

/** Numbers taken while something else runs are worth little. */
function checkLoad(): void {
  const load = loadavg()[0] as number
  const busy = load > 0.3 * availableParallelism()
  console.log(`Load ${load.toFixed(2)} on ${availableParallelism()} cores.`)
  if (!busy || options.force || partial) return
  fail('The machine is busy. Wait until it is idle, or add --force: the load is printed beside the numbers.')
}

async function runSuite(suite: Suite): Promise<void> {
  const variants = suite.variants.filter(
    ({ id, peer }) => id.includes(options.variant ?? '') && !(peer && options['no-peers']),
  )
  if (variants.length === 0) return
  const rounds = Number(options.rounds ?? (options.quick ? 1 : suite.rounds))
  if (!Number.isInteger(rounds) || rounds < 1)
    fail(`Expected --rounds to be an integer >= 1, got "${options.rounds}".`)
  const result = await measure(suite, {
    rounds,
    variants,
    effortOf: (variant) => effortOf(variant.effort ?? suite.effort),
    onProgress: progress,
  })
  progress('')
  console.log(`\n${suiteReport(suite, result)}\n`)
  for (const { id, error } of result.variants)
    if (error !== undefined) console.error(`${id} failed:\n${error}\n`)
  const unlike = differences(suite, result)
  for (const difference of unlike) console.error(difference)
  if (unlike.length > 0 || result.variants.some(({ error }) => error !== undefined)) {
    process.exitCode = 1
    return
  }
  if (partial) return
  mkdirSync(`${root}/bench/results`, { recursive: true })
  writeFileSync(resultFile(suite), `${JSON.stringify(result, null, 2)}\n`)
}

function effortOf(effort: Effort): Effort {
  if (!options.quick) return effort
  return { warmups: Math.min(effort.warmups, 3), batches: Math.min(effort.batches, 5), count: effort.count }
}

/** All suites that have results, whenever they were measured. */
function writeReport(): void {
  const measured = suites.flatMap((suite) =>
    existsSync(resultFile(suite))
      ? [{ suite, result: JSON.parse(readFileSync(resultFile(suite), 'utf8')) as SuiteResult }]
      : [],
  )
  const last = measured.at(-1)?.result.environment
  if (last === undefined) return
  const text = [
    '# Benchmarks',
    'Written by `npm run bench`. Each variant runs in a fresh process; the order is reversed in every other round; a number is the median of the rounds, and each aim is told by the lowest rounds, too, which other work on the machine disturbs least. It is met or missed by the medians. Where hookspan loses, the table says so.',
    ...measured.map(({ suite, result }) => suiteReport(suite, result)),
    ...viewerParts.filter((file) => existsSync(file)).map((file) => readFileSync(file, 'utf8').trim()),
    '## Versions',
    versionsTable(last),
  ].join('\n\n')
  writeFileSync(`${root}/bench/RESULTS.md`, `${text}\n`)
  console.log(`bench/RESULTS.md written: ${environmentLine(last)}.`)
}

function resultFile(suite: Suite): string {
  return `${root}/bench/results/${suite.id}.json`
}

function progress(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${text}`)
}

function fail(message: string): never {
  console.error(message)
  process.exit(2)
}
