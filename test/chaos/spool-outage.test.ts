import { expect, it } from 'vitest'
import { type AgentStats, startAgent, type TracedAgent } from './support/agent.ts'
import { bytesIn, scene, wait } from './support/scene.ts'
import { tell } from './support/tell.ts'

const at = scene()
const MIB = 1024 * 1024
/** Its memory would hold a small part of an outage. */
const SMALL_QUEUE = { maxQueueSpans: 1_000 }
/** It would die of what it kept in memory. */
const SMALL_HEAP = ['env', 'NODE_OPTIONS=--max-old-space-size=128']

/** The most that it has in use until then. */
async function highestMemory(agent: TracedAgent, until: Promise<unknown>): Promise<number> {
  let isOver = false
  void until.then(() => {
    isOver = true
  })
  let highest = 0
  while (!isOver) {
    highest = Math.max(highest, (await agent.stats()).liveBytes)
    await wait(500)
  }
  return highest
}

it('delivers 25 s at 1,000 spans a second that nobody took, of one process and of three on one folder', async () => {
  await at.collector.leave()
  const spans = 25_000
  const start = (spoolDir: string) =>
    startAgent({
      tracing: { endpoint: at.collector.url, spoolDir, queue: SMALL_QUEUE },
      truth: at.truth(),
      spansPerSecond: 1_000,
      spans,
      then: 'stay',
    })
  const alone = start(`${at.spoolDir}-alone`)
  const together = [1, 2, 3].map(() => start(at.spoolDir))
  const agents = [alone, ...together]
  try {
    await Promise.all(agents.map(({ made }) => made))
    const waiting = await Promise.all(agents.map((agent) => agent.stats()))
    expect(waiting.map(({ queued, dropped }) => [queued, dropped])).toEqual(agents.map(() => [spans + 2, 0]))
    for (const agent of agents) expect(agent.stderr().match(/cannot be delivered/g)).toHaveLength(1)
    await at.collector.comeBack()
    const { doubled } = await at.allThere(120_000)
    tell({
      done: `25 s outage at 1,000 spans/s, four processes, ${at.told().ended.size} spans`,
      times: 1,
      lost: 0,
      doubled,
    })
    expect(doubled).toBe(0)
    for (const agent of agents) {
      const left = async () => {
        const { queued, dropped, spool } = await agent.stats()
        return { queued, dropped, isSmall: (spool?.bytes ?? 0) < MIB }
      }
      await expect.poll(left).toEqual({ queued: 0, dropped: 0, isSmall: true })
    }
  } finally {
    await Promise.all(agents.map((agent) => agent[Symbol.asyncDispose]()))
  }
})

it('keeps its memory flat through an outage of ten minutes at 1,000 spans a second, and delivers all of it', async () => {
  await at.collector.leave()
  // As many as come in ten minutes, made as fast as they can be: nothing of the spool goes by the clock.
  const spans = 600_000
  const tracing = { endpoint: at.collector.url, spoolDir: at.spoolDir, queue: SMALL_QUEUE }
  const bulk = { truthIsBuffered: true, spansPerSecond: 1_000_000, spans, callsPerRun: 28 }
  await using agent = startAgent({ tracing, truth: at.truth(), ...bulk, then: 'stay' }, SMALL_HEAP)
  await agent.running
  let early: AgentStats
  for (early = await agent.stats(); early.queued < spans / 10; early = await agent.stats()) await wait(250)
  const live = await highestMemory(agent, agent.made)
  const { queued, dropped } = await agent.stats()
  expect([queued, dropped]).toEqual([spans, 0])
  const perSpan = Math.round(bytesIn(at.spoolDir) / spans)
  await at.collector.comeBack()
  const { doubled } = await at.allThere(300_000)
  const grown = Math.round((live - early.liveBytes) / MIB)
  tell({
    done: `outage of 10 min at 1,000 spans/s: ${perSpan} bytes a span on disk, ${grown} MiB more memory in use`,
    times: 1,
    lost: 0,
    doubled,
  })
  expect(doubled).toBe(0)
  // In memory they would take a gigabyte.
  expect(grown).toBeLessThan(20)
  // A file that is kept to be written over, and what is not worth the work of removing it.
  await expect.poll(() => bytesIn(at.spoolDir)).toBeLessThan(2 * MIB)
}, 600_000)

it('keeps little on disk while everything is delivered, and delivers it once when it is killed then', async () => {
  const tracing = { endpoint: at.collector.url, spoolDir: at.spoolDir }
  const agent = startAgent({ tracing, truth: at.truth(), spansPerSecond: 1_000, leaveOpen: true })
  await agent.running
  let highest = 0
  for (const end = performance.now() + 8_000; performance.now() < end; await wait(100)) {
    highest = Math.max(highest, bytesIn(at.spoolDir))
  }
  await agent[Symbol.asyncDispose]()
  await using next = startAgent({ tracing, truth: at.truth(), spansPerSecond: 1_000, spans: 3, then: 'stay' })
  await next.made
  const { doubled } = await at.allThere()
  const { size } = at.told().ended
  tell({
    done: `SIGKILL after 8 s of delivery, ${size} spans, at most ${Math.round(highest / 1024)} KiB on disk`,
    times: 1,
    lost: 0,
    doubled,
  })
  expect(highest).toBeLessThan(8 * MIB)
  // One request may have been on its way.
  expect(doubled).toBeLessThanOrEqual(512)
})
