import { readdirSync } from 'node:fs'
import { availableParallelism, loadavg } from 'node:os'
import { expect, it, vi } from 'vitest'
import { missing, startAgent, type TracedAgent, truthOf } from './support/agent.ts'
import { scene, wait } from './support/scene.ts'
import { tell } from './support/tell.ts'

/** `HOOKSPAN_KILLS`: more, for whoever has the time. */
const KILLS = Number(process.env.HOOKSPAN_KILLS ?? 100)
/** Started together, and at work when all of them are there: whoever starts would take the others' time. */
const GROUP = 12
/** So long that what is on its way as one is killed is next to nothing of what it has made. */
const KILLED_WITHIN_MS = 6_000

vi.setConfig({ testTimeout: 9_000 * KILLS })
const at = scene()

async function killAtRandom({ child, ended }: TracedAgent): Promise<void> {
  child.send('go')
  await wait(Math.random() * KILLED_WITHIN_MS)
  child.kill('SIGKILL')
  expect(await ended).toBe('SIGKILL')
}

/** What the collector does while processes are killed. The stop brings it back. */
type Weather = () => () => Promise<void>

const up: Weather = () => async () => {}

const away: Weather = () => {
  const left = at.collector.leave()
  return async () => {
    await left
    await at.collector.comeBack()
  }
}

const comingAndGoing: Weather = () => {
  let isOver = false
  const changing = (async () => {
    while (!isOver) {
      await at.collector.leave()
      await wait(Math.random() * 300)
      await at.collector.comeBack()
      await wait(Math.random() * 600)
    }
  })()
  return async () => {
    isOver = true
    await changing
  }
}

/** An answer that its process had no time to take is not noted: a moment, and more where others have the machine. */
function mayDouble(): number {
  const waiting = (loadavg()[0] ?? 0) / availableParallelism()
  return Math.min(0.05, 0.001 * Math.max(1, waiting) ** 2)
}

it(`loses nothing to SIGKILL at ${KILLS} random points, and closes what was open`, async () => {
  const truths: string[] = []
  const start = (number: number) => {
    const truth = at.truth()
    truths.push(truth)
    // Most send as soon as they can: as many moments as can be between an answer and its noting.
    const queue = number % 10 === 0 ? {} : { delayMs: 20 }
    return startAgent({
      tracing: { endpoint: at.collector.url, spoolDir: at.spoolDir, queue },
      truth,
      spansPerSecond: 100,
      leaveOpen: true,
      waits: true,
      wholeSdk: number % 10 === 5,
    })
  }
  for (const [weather, share] of [
    [up, 34],
    [away, 33],
    [comingAndGoing, 33],
  ] as const) {
    const stop = weather()
    for (let left = Math.ceil((KILLS * share) / 100); left > 0; left -= GROUP) {
      const group = Array.from({ length: Math.min(left, GROUP) }, () => start(truths.length))
      try {
        await Promise.all(group.map((agent) => agent.running))
        await Promise.all(group.map(killAtRandom))
      } finally {
        await Promise.all(group.map((agent) => agent[Symbol.asyncDispose]()))
      }
    }
    await stop()
  }

  const tracing = { endpoint: at.collector.url, spoolDir: at.spoolDir }
  await using last = startAgent({ tracing, truth: at.truth(), spansPerSecond: 100, spans: 3, then: 'stay' })
  await last.made
  await expect.poll(() => readdirSync(at.spoolDir).length, { timeout: 60_000, interval: 200 }).toBe(1)
  const received = await at.collector.received()
  const told = truths.map(truthOf)
  const lost = told.map((one) => missing(one, received))
  const ended = told.reduce((sum, one) => sum + one.ended.size, 0)
  const lostSpans = lost.flatMap((one) => [...one.ended, ...one.open])
  tell({
    done: `SIGKILL at random points, ${ended} spans ended`,
    times: truths.length,
    lost: lostSpans.length,
    doubled: received.doubled,
  })
  expect(lostSpans).toEqual([])
  expect(received.doubled / ended).toBeLessThan(mayDouble())
  for (const { open } of told) {
    expect(open.size).toBeGreaterThan(2)
    for (const id of open) expect(['interrupted', 'ended']).toContain(received.states.get(id))
  }
  const closed = told.filter(({ open }) => [...open].every((id) => received.states.has(id)))
  expect(closed).toHaveLength(truths.length)
})
