/** What one system does with the stream, and then with questions about it. */
import { setTimeout as sleep } from 'node:timers/promises'
import { idle } from './idle.ts'
import { runRequest, SPANS_PER_RUN, traceIdOf } from './stream.ts'
import { type System, weigh } from './systems.ts'

/** A run of ten thousand spans, sent last. */
const BIG_RUN = 50_000_000
export const BIG_SPANS = 10_000
const IN_FLIGHT = 4
/** Nobody waits longer for an answer. */
const ANSWER_MS = 120_000
/** What is not idle then is said not to be. */
const IDLE_MS = 900_000

export interface Figures {
  name: string
  notes: string
  spans: number
  /** Of what was offered, when the system's time was over before. */
  offered: number
  receivedBytes: number
  perSecond: number
  perCpuSecond: number
  /** CPU seconds for 200,000 spans: until the last was answered, and until nothing followed from them. */
  cpuAnswered: number
  cpuIdle: number
  isIdle: boolean
  /** The most of a core that it took in any ten seconds of that. */
  background: number
  diskBytes: number
  /** Counting what the system does until the last run can be opened whole; `undefined` when it never could. */
  perCpuSecondUntilOpened: number | undefined
  lagSeconds: number
  residentMib: number
  residentMibAtEnd: number
  list: Answer
  open: Answer
  search: Answer
  /** Until the first search was answered at all, maybe of a part. */
  searchAnsweredMs: number
}

export interface Answer {
  firstMs: number
  /** Median of what came after. */
  thenMs: number | undefined
  count: number
  error: string
}

export async function measure(system: System, runs: number): Promise<Figures> {
  const beginMs = Date.now() - runs * 10 - 3_600_000
  const before = weigh(system.process)
  const begun = performance.now()
  const untilMs = begun + system.sendSeconds * 1000
  let next = 0
  let taken = 0
  let receivedBytes = 0
  const send = async () => {
    while (next < runs && performance.now() < untilMs) {
      const body = runRequest(next++, beginMs)
      if (!(await deliver(system, body, untilMs))) continue
      taken += SPANS_PER_RUN
      receivedBytes += body.length
    }
  }
  await Promise.all(Array.from({ length: IN_FLIGHT }, send))
  const seconds = (performance.now() - begun) / 1000
  const ingest = weigh(system.process).cpuSeconds - before.cpuSeconds
  const after = weigh(system.process)
  const quiet = await idle(system.process, IDLE_MS)
  const diskBytes = system.diskBytes()
  const per200k = 200_000 / Math.max(1, taken)
  const big = runRequest(BIG_RUN, Date.now() - BIG_RUN * 10 - 60_000, BIG_SPANS)
  const cpuBetween = weigh(system.process).cpuSeconds - after.cpuSeconds
  const settleMs = performance.now() + system.settleSeconds * 1000
  if (await deliver(system, big, settleMs)) taken += BIG_SPANS
  const lag = await waitUntilStored(system, settleMs)
  const opened = weigh(system.process)
  const list = await timed(() => system.list(10_000))
  const open = await timed(() => system.open(traceIdOf(BIG_RUN)))
  const asked = performance.now()
  let answeredAt: number | undefined
  const search = await timed(() => system.search(() => (answeredAt ??= performance.now())))
  const searchAnsweredMs = (answeredAt ?? asked + search.firstMs) - asked
  return {
    name: system.name,
    notes: system.notes,
    spans: taken,
    offered: runs * SPANS_PER_RUN + BIG_SPANS,
    perSecond: (taken - BIG_SPANS) / seconds,
    perCpuSecond: (taken - BIG_SPANS) / ingest,
    receivedBytes,
    cpuAnswered: ingest * per200k,
    cpuIdle: (quiet.cpuSeconds - before.cpuSeconds) * per200k,
    isIdle: quiet.isIdle,
    background: quiet.most,
    diskBytes,
    perCpuSecondUntilOpened:
      lag === undefined ? undefined : taken / (opened.cpuSeconds - before.cpuSeconds - cpuBetween),
    lagSeconds: lag ?? Number.NaN,
    residentMib: opened.rssBytes / 1024 ** 2,
    residentMibAtEnd: weigh(system.process).rssBytes / 1024 ** 2,
    list,
    open,
    search,
    searchAnsweredMs,
  }
}

/** Sends until it is taken: a system that is full says so, and an exporter would send again. */
async function deliver(system: System, body: Buffer, untilMs: number): Promise<boolean> {
  do {
    const response = await fetch(system.tracesUrl, {
      method: 'POST',
      headers: { 'content-type': 'application/x-protobuf' },
      body: body as never,
    })
    await response.arrayBuffer()
    if (response.status === 200) return true
    if (response.status !== 429 && response.status !== 503)
      throw new Error(`${system.name} answered ${response.status}.`)
    await sleep(200)
  } while (performance.now() < untilMs)
  return false
}

/** Answering is not storing: some queue. What counts is when the last run can be opened whole. */
async function waitUntilStored(system: System, untilMs: number): Promise<number | undefined> {
  const begun = performance.now()
  for (;;) {
    if ((await system.open(traceIdOf(BIG_RUN)).catch(() => 0)) >= BIG_SPANS)
      return (performance.now() - begun) / 1000
    if (performance.now() > untilMs) return undefined
    await sleep(system.pollMs)
  }
}

async function timed(ask: () => Promise<number>): Promise<Answer> {
  const times: number[] = []
  let count = 0
  let error = ''
  const late = AbortSignal.timeout(ANSWER_MS)
  for (let round = 0; round < 4; round++) {
    const begun = performance.now()
    try {
      count = await Promise.race([
        ask(),
        new Promise<never>((_, reject) =>
          late.addEventListener('abort', () => reject(new Error(`no answer in ${ANSWER_MS / 1000} s`))),
        ),
      ])
    } catch (cause) {
      error = (cause as Error).message.slice(0, 100)
      break
    }
    times.push(performance.now() - begun)
    // Long ones are asked twice, not four times.
    if (round > 0 && times[round]! > 5_000) break
  }
  // The first is told, too: it may have waited for an index, or warmed a cache.
  const rest = times.slice(1).sort((a, b) => a - b)
  return { firstMs: times[0] ?? Number.NaN, thenMs: rest[Math.floor(rest.length / 2)], count, error }
}
