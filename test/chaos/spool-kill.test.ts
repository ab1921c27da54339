import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { availableParallelism, loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { missing, startAgent, type TracedAgent, truthOf } from './support/agent.ts'
import { type Collector, startCollectorProcess } from './support/collector.ts'
import { tell } from './support/tell.ts'

/** More of everything, for whoever has the time. */
const LONG = process.env.HOOKSPAN_CHAOS === 'long'
const KILLS = Number(process.env.HOOKSPAN_KILLS ?? 100)
/** Started together, and killed when all of them are at work: whoever starts would take the others' time. */
const GROUP = 12
const KILLED_WITHIN_MS = LONG ? 20_000 : 3_000

let collector: Collector
let folder: string
beforeEach(async () => {
  collector = await startCollectorProcess()
  folder = mkdtempSync(join(tmpdir(), 'hookspan-kill-'))
})
afterEach(async () => {
  await collector[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true, force: true })
})

const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

async function killAtRandom({ child, ended }: TracedAgent): Promise<void> {
  await wait(Math.random() * KILLED_WITHIN_MS)
  child.kill('SIGKILL')
  expect(await ended).toBe('SIGKILL')
}

/** What the collector does while processes are killed. The stop brings it back. */
type Weather = () => () => Promise<void>

const up: Weather = () => async () => {}

const away: Weather = () => {
  const left = collector.leave()
  return async () => {
    await left
    await collector.comeBack()
  }
}

const comingAndGoing: Weather = () => {
  let isOver = false
  const changing = (async () => {
    while (!isOver) {
      await collector.leave()
      await wait(Math.random() * 300)
      await collector.comeBack()
      await wait(Math.random() * 600)
    }
  })()
  return async () => {
    isOver = true
    await changing
  }
}

it('loses nothing to SIGKILL at 100 random points, and closes what was open', async () => {
  const spoolDir = join(folder, 'spool')
  const truths: string[] = []
  const start = (number: number) => {
    const truth = join(folder, `truth-${number}`)
    truths.push(truth)
    // Most send as soon as they can: as many moments as can be between an answer and its noting.
    const queue = number % 10 === 0 ? {} : { delayMs: 20 }
    return startAgent({
      tracing: { endpoint: collector.url, spoolDir, queue },
      truth,
      spansPerSecond: 100,
      leaveOpen: true,
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

  const truth = join(folder, 'truth-last')
  const tracing = { endpoint: collector.url, spoolDir }
  await using last = startAgent({ tracing, truth, spansPerSecond: 100, spans: 3, then: 'stay' })
  await last.made
  await expect.poll(() => readdirSync(spoolDir).length, { timeout: 60_000, interval: 200 }).toBe(1)
  const received = await collector.received()
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
  // An answer that its process had no time to take is not noted. On a machine that has no time for anybody, that is a while.
  const isBusy = (loadavg()[0] ?? 0) > 2 * availableParallelism()
  expect(received.doubled / ended).toBeLessThan(isBusy ? 0.05 : 0.001)
  for (const { open } of told) {
    expect(open.size).toBeGreaterThan(2)
    for (const id of open) expect(['interrupted', 'ended']).toContain(received.states.get(id))
  }
  const closed = told.filter(({ open }) => [...open].every((id) => received.states.has(id)))
  expect(closed).toHaveLength(truths.length)
}, 600_000)
