/**
 * The viewer beside a real Jaeger and a real Arize Phoenix: same machine, same OTLP stream, one after the other.
 *
 *   npm run bench:viewer -- [--spans 1000000] [--limit-s 300] [--only hookspan,memory,jaeger,phoenix,browser]
 *
 * Jaeger is found by JAEGER_BIN, Phoenix by PHOENIX_BIN or in .cache/phoenix (python3 -m venv .cache/phoenix &&
 * .cache/phoenix/bin/pip install arize-phoenix). A system that takes longer than the limit is stopped there and its
 * numbers are for what it had taken by then.
 */
import { execFileSync } from 'node:child_process'
import { cpus, loadavg } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { measureBrowser } from './browser.ts'
import { runRequest, SPANS_PER_RUN, traceIdOf } from './stream.ts'
import { type System, startHookspan, startJaeger, startPhoenix, weigh } from './systems.ts'

const { values: options } = parseArgs({
  options: {
    spans: { type: 'string', default: '1000000' },
    'limit-s': { type: 'string', default: '300' },
    only: { type: 'string', default: 'hookspan,memory,jaeger,phoenix,browser' },
  },
})
const runs = Math.ceil(Number(options.spans) / SPANS_PER_RUN)
const limitMs = Number(options['limit-s']) * 1000
const only = new Set(options.only.split(','))
/** A run of ten thousand spans, sent last. */
const BIG_RUN = 50_000_000
const BIG_SPANS = 10_000
const IN_FLIGHT = 4

const commit = execFileSync('git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8' }).trim()
console.log(
  `${cpus().length} × ${cpus()[0]?.model}, node ${process.version}, ${new Date().toISOString().slice(0, 10)}, commit ${commit}, load ${loadavg()
    .map((one) => one.toFixed(1))
    .join(' ')}`,
)
console.log(`${runs * SPANS_PER_RUN} spans in ${runs} requests, at most ${options['limit-s']} s each\n`)

const starters: [string, () => Promise<System | undefined>][] = [
  ['hookspan', () => startHookspan(false)],
  ['memory', () => startHookspan(true)],
  ['jaeger', startJaeger],
  ['phoenix', startPhoenix],
]
for (const [key, start] of starters) {
  if (!only.has(key)) continue
  const system = await start()
  if (!system) {
    console.log(`${key}: not found, left out\n`)
    continue
  }
  try {
    await measure(system)
  } finally {
    await system.stop()
  }
}
if (only.has('browser')) await measureBrowser()

async function measure(system: System): Promise<void> {
  const beginMs = Date.now() - runs * 10 - 3_600_000
  const before = weigh(system.process)
  const begun = performance.now()
  let next = 0
  let taken = 0
  const send = async () => {
    while (next < runs && performance.now() - begun < limitMs) {
      if (await deliver(system, runRequest(next++, beginMs), begun)) taken += SPANS_PER_RUN
    }
  }
  await Promise.all(Array.from({ length: IN_FLIGHT }, send))
  const seconds = (performance.now() - begun) / 1000
  const ingest = weigh(system.process).cpuSeconds - before.cpuSeconds
  await deliver(system, runRequest(BIG_RUN, Date.now() - BIG_RUN * 10 - 60_000, BIG_SPANS), performance.now())
  const lag = await waitUntilStored(system)
  const after = weigh(system.process)
  console.log(`${system.name}: ${system.notes}`)
  console.log(
    `  spans taken           ${taken.toLocaleString('en')} in ${seconds.toFixed(1)} s: ${Math.round(taken / seconds).toLocaleString('en')} spans/s`,
  )
  console.log(
    `  per core              ${Math.round(taken / ingest).toLocaleString('en')} spans per CPU second until answered; ${Math.round(taken / (after.cpuSeconds - before.cpuSeconds)).toLocaleString('en')} until everything could be opened (${lag.toFixed(1)} s later)`,
  )
  const rows: [string, () => Promise<number>][] = [
    ['list of 10,000 runs', () => system.list(10_000)],
    ['run of 10,000 spans', () => system.open(traceIdOf(BIG_RUN))],
    ['search of a word', () => system.search()],
  ]
  for (const [name, ask] of rows) console.log(`  ${name.padEnd(22)}${await timed(ask)}`)
  console.log(
    `  memory                ${Math.round(weigh(system.process).rssBytes / 1024 ** 2).toLocaleString('en')} MiB resident, ${(weigh(system.process).cpuSeconds - before.cpuSeconds).toFixed(1)} CPU s in all\n`,
  )
}

/** Sends until it is taken: a system that is full says so, and an exporter would send again. */
async function deliver(system: System, body: Buffer, since: number): Promise<boolean> {
  while (performance.now() - since < limitMs) {
    const response = await fetch(system.tracesUrl, {
      method: 'POST',
      headers: { 'content-type': 'application/x-protobuf' },
      body: body as never,
    })
    await response.arrayBuffer()
    if (response.status === 200) return true
    if (response.status !== 429 && response.status !== 503)
      throw new Error(`${system.name} answered ${response.status}.`)
    await sleep(50)
  }
  return false
}

/** Answering is not storing: some queue. What counts is when the last run can be opened whole. */
async function waitUntilStored(system: System): Promise<number> {
  const begun = performance.now()
  while (performance.now() - begun < limitMs) {
    if ((await system.open(traceIdOf(BIG_RUN)).catch(() => 0)) >= BIG_SPANS) break
    await sleep(250)
  }
  return (performance.now() - begun) / 1000
}

async function timed(ask: () => Promise<number>): Promise<string> {
  const times: number[] = []
  let count = 0
  for (let round = 0; round < 4; round++) {
    const begun = performance.now()
    try {
      count = await ask()
    } catch (error) {
      return `failed: ${(error as Error).message.slice(0, 100)}`
    }
    times.push(performance.now() - begun)
    if (times[0]! > 60_000) break
  }
  // The first is told, too: it may have waited for an index, or warmed a cache.
  const rest = times.slice(1).sort((a, b) => a - b)
  return `${Math.round(times[0]!)} ms first${rest.length > 0 ? `, then ${Math.round(rest[Math.floor(rest.length / 2)]!)} ms` : ''} (${count.toLocaleString('en')} came)`
}
