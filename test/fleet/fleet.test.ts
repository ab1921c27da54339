import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { recordingsFolder } from '../support/recordings-folder.ts'
import { type Plan, runAgent, type Verdict, verdictOn, verdictsOn } from './support/agents.ts'
import { Fleet, PARTITIONS } from './support/fleet.ts'
import { bytesIn, table, usageOf } from './support/measure.ts'
import { inShare, type RunTruth } from './support/span-truth.ts'

const folder = recordingsFolder()
const recordings = join(folder ?? '', 'tau-bench/gpt-4o-airline.json')

/** Shorter than what is deployed, so that the suite is. */
const WAIT_MS = 20_000
const LONG_MS = 10_000
const DROP_PERCENT = 90

/** Runs of each of the three agents for the decisions. */
const RUNS = Number(process.env.FLEET_RUNS ?? 3_400)

const AGENTS = ['support', 'billing', 'travel'] as const

const isKept = (run: RunTruth): boolean => run.reason !== undefined || !inShare(run.traceId, DROP_PERCENT)

/** How long nothing may come into the store before nothing more is waited for. */
const STILL_MS = 120_000

/**
 * Asks until it is so, for as long as the store takes anything: a sampler that was started again sends all that it kept of an hour
 * once more, and what comes after that waits.
 */
async function untilItIs(fleet: Fleet, isSo: () => Promise<boolean>): Promise<void> {
  let taken = await fleet.taken()
  for (let until = Date.now() + STILL_MS; Date.now() < until; ) {
    if (await isSo()) return
    const now = await fleet.taken()
    if (now !== taken) until = Date.now() + STILL_MS
    taken = now
    await sleep(1_000)
  }
}

/** The runs that the store has otherwise than it is to have them. */
async function untilDecided(fleet: Fleet, runs: readonly RunTruth[]): Promise<[RunTruth, Verdict][]> {
  const wrongOf = (verdicts: ReadonlyMap<RunTruth, Verdict>) =>
    [...verdicts].filter(([run, verdict]) => verdict !== (isKept(run) ? 'whole' : 'absent'))
  await vi.waitFor(async () => expect(await fleet.undecided()).toBe(0), { timeout: 300_000, interval: 500 })
  let wrong = runs.filter(isKept).map((run): [RunTruth, Verdict] => [run, 'absent'])
  await untilItIs(fleet, async () => {
    const open = wrong.map(([run]) => run)
    wrong = wrongOf(await verdictsOn(fleet, open))
    return wrong.length === 0
  })
  // Last, those of which nothing may have come.
  return wrong.length > 0 ? wrong : wrongOf(await verdictsOn(fleet, runs))
}

describe.skipIf(!folder)('the fleet of deploy/fleet, on real engines', () => {
  let fleet: Fleet
  const agent = (plan: Omit<Plan, 'recordings'>) => runAgent(fleet, { recordings, ...plan })
  const allAgents = async (plan: Partial<Plan>, suffix: string) => {
    const ended = await Promise.all(AGENTS.map((name) => agent({ ...plan, name: `${name}-${suffix}` })))
    return ended.flatMap(({ truth }) => truth)
  }

  beforeAll(async () => {
    fleet = await Fleet.start({
      env: {
        DECISION_WAIT: `${WAIT_MS}ms`,
        LONG_RUN_NS: String(LONG_MS * 1e6),
        DROP_PERCENT: String(DROP_PERCENT),
        // Fewer than there are runs, so that later spans of a run find nothing of it here.
        DECISIONS: '2000',
        KEEP_FOR: '72h',
      },
    })
  })
  afterAll(() => fleet?.[Symbol.asyncDispose]())

  it('keeps runs whole and as they were sent, with all that was said in them', async () => {
    const runs = await allAgents({ runs: 50, turns: 40, tracing: { captureContent: true } }, 'content')
    expect(runs).toHaveLength(150)
    expect(await untilDecided(fleet, runs)).toEqual([])
    expect(runs.filter(isKept).length).toBeGreaterThan(20)
    expect(runs.filter((run) => !isKept(run)).length).toBeGreaterThan(20)
  })

  it(`decides rightly on ${AGENTS.length * RUNS} runs, and says what that took`, async () => {
    const keyspace = join(fleet.folder, 'cassandra/data/data/jaeger')
    // What is in memory is written to tables when it starts.
    await fleet.servers.cassandra.restart()
    const [before, bytes] = [usageOf(fleet), bytesIn(keyspace)]
    const runs = await allAgents({ runs: RUNS }, 'many')
    expect(runs).toHaveLength(AGENTS.length * RUNS)
    expect(await untilDecided(fleet, runs)).toEqual([])
    const after = usageOf(fleet)
    const kept = runs.filter(isKept)
    const spansOf = (of: readonly RunTruth[]) => of.reduce((sum, { spans }) => sum + spans, 0)
    const spans = { sent: spansOf(runs), kept: spansOf(kept) }
    await fleet.servers.cassandra.restart()
    const perSpan = Math.round((bytesIn(keyspace) - bytes) / spans.kept)
    console.log(
      `${runs.length} runs of ${spans.sent} spans: ${kept.length} kept, of ${spans.kept} spans, ${perSpan} bytes each`,
    )
    console.log(table(before, after, spans))
    expect(kept.length).toBeGreaterThan(RUNS * 0.3)
    expect(kept.length).toBeLessThan(RUNS * AGENTS.length * 0.5)
  })

  it('loses no kept run while each part is killed, and started again', async () => {
    const until = join(fleet.folder, 'enough')
    const working = allAgents({ until, everyMs: 150 }, 'killed')
    // Of what goes wrong before it is waited for.
    working.catch(() => {})
    for (const part of ['sampler', 'store', 'cassandra', 'ingest', 'kafka', 'sampler'] as const) {
      // Killed in the middle of its work: something of what is made now has come to the store.
      const kept = new Set(await keptNow(fleet))
      await vi.waitFor(async () => expect((await keptNow(fleet)).some((id) => !kept.has(id))).toBe(true), {
        timeout: 300_000,
        interval: 500,
      })
      await fleet.servers[part].kill()
      await fleet.servers[part].start()
    }
    writeFileSync(until, '')
    const runs = await working
    console.log(`${runs.length} runs while parts were killed: ${runs.filter(isKept).length} are to be kept`)
    expect(runs.length).toBeGreaterThan(300)
    expect(await untilDecided(fleet, runs)).toEqual([])
  })

  it.each([
    ['human', 'a sampler that still has its decision'],
    ['next', 'one that was started again, after Kafka had forgotten how it began'],
  ])('keeps a run whole that waited for "%s" and went on an hour later, at %s', async (waitingFor, which) => {
    const name = `parked-${waitingFor}`
    const parked = { state: join(fleet.folder, `${name}.json`), waitingFor }
    await agent({ name, parked })
    const { traceId } = JSON.parse(readFileSync(parked.state, 'utf8'))
    await untilItIs(fleet, async () => (await fleet.trace(traceId)) !== undefined)
    expect(await fleet.trace(traceId)).toBeDefined()
    if (which.startsWith('one')) {
      await fleet.servers.sampler.kill()
      await fleet.kafka.forget('spans', PARTITIONS)
      await fleet.servers.sampler.start()
    }
    const { truth } = await agent({ name, parked, aheadMs: 3_600_000 })
    expect(truth).toHaveLength(1)
    const run = truth[0] as RunTruth
    await untilItIs(fleet, async () => (await verdictOn(fleet, run)) === 'whole')
    expect(await verdictOn(fleet, run)).toBe('whole')
  })
})

/** The newest traces in the store. */
async function keptNow(fleet: Fleet): Promise<string[]> {
  const found = await Promise.all(
    AGENTS.map(async (name) => {
      const query = new URLSearchParams({ service: `${name}-killed`, limit: '20', lookback: '1h' })
      const { data } = (await (await fetch(`${fleet.queryUrl}/api/traces?${query}`)).json()) as {
        data: { traceID: string }[] | null
      }
      return (data ?? []).map(({ traceID }) => traceID)
    }),
  )
  return found.flat()
}
