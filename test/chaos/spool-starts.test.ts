import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type ReadableSpan, TracerProvider } from '@opentelemetry/sdk-trace'
import { expect, it } from 'vitest'
import { spanBytes } from '../../src/tracing/export/span-bytes.ts'
import { RecordWriter } from '../../src/tracing/export/spool/record-writer.ts'
import { SegmentLog } from '../../src/tracing/export/spool/segment-log.ts'
import { startAgent } from './support/agent.ts'
import { scene, wait } from './support/scene.ts'
import { tell } from './support/tell.ts'

const at = scene()
const MIB = 1024 * 1024

/** An agent that could deliver nothing, and was killed. */
async function leaveBehind(spans: number): Promise<void> {
  await at.collector.leave()
  const tracing = { endpoint: at.collector.url, spoolDir: at.spoolDir }
  await using agent = startAgent({
    tracing,
    truth: at.truth(),
    spansPerSecond: 10_000,
    spans,
    leaveOpen: true,
    then: 'stay',
  })
  await agent.made
}

const newcomer = () =>
  startAgent({
    tracing: { endpoint: at.collector.url, spoolDir: at.spoolDir },
    truth: at.truth(),
    spansPerSecond: 1_000,
    spans: 3,
    then: 'stay',
  })

it('delivers a leftover once, of three that start together', async () => {
  const rounds = 6
  for (let round = 0; round < rounds; round++) {
    await leaveBehind(93)
    await at.collector.comeBack()
    const starting = [newcomer(), newcomer(), newcomer()]
    try {
      await Promise.all(starting.map(({ made }) => made))
      await at.allThere()
      // What came is noted, too, before they are killed.
      await expect.poll(() => readdirSync(at.spoolDir)).toHaveLength(starting.length)
      for (const agent of starting) await expect.poll(async () => (await agent.stats()).queued).toBe(0)
    } finally {
      await Promise.all(starting.map((agent) => agent[Symbol.asyncDispose]()))
    }
  }
  const { doubled } = await at.collector.received()
  tell({
    done: `three starts together beside a leftover, ${at.told().ended.size} spans`,
    times: 3 * rounds,
    lost: 0,
    doubled,
  })
  expect(doubled).toBe(0)
})

it('delivers a leftover to a collector that comes four seconds late', async () => {
  await leaveBehind(24)
  await using agent = newcomer()
  await agent.made
  await wait(4_000)
  await at.collector.comeBack()
  const { doubled } = await at.allThere()
  tell({ done: 'a collector four seconds late', times: 1, lost: 0, doubled })
  expect(doubled).toBe(0)
})

it('delivers what dies while others live', async () => {
  await using living = newcomer()
  await living.made
  await expect.poll(async () => (await living.stats()).exported).toBe(3)
  await leaveBehind(60)
  await at.collector.comeBack()
  const { doubled } = await at.allThere()
  tell({ done: 'a process dies beside one that lives', times: 1, lost: 0, doubled })
  expect(doubled).toBe(0)
})

it('starts beside a leftover of more than 512 MiB, which it reads in a stream', async () => {
  const left = join(at.spoolDir, '0mwrr673d-3d2ea3cbf58a')
  mkdirSync(left, { recursive: true })
  writeFileSync(join(left, 'lock'), '')
  const log = new SegmentLog(left, Number.POSITIVE_INFINITY)
  const records = new RecordWriter()
  const tracer = new TracerProvider().getTracer('big')
  const record = (text: string) => {
    const span = tracer.startSpan('big', { attributes: { text } })
    span.end()
    const { head, bytes } = spanBytes(span as unknown as ReadableSpan)
    return records.append(log, 'e', head, bytes).end
  }
  const padding = 'x'.repeat(MIB)
  let bytes = 0
  while (bytes < 520 * MIB) bytes = record(padding)
  // All of it was delivered but the last few, which does not shorten the reading.
  writeFileSync(join(left, 'acked'), `1 ${bytes}`.padEnd(31).concat('\n'))
  for (let i = 0; i < 25; i++) record('small')
  log.rotate()
  await using agent = newcomer()
  await agent.made
  await expect
    .poll(async () => (await at.collector.received()).names.filter((name) => name === 'big').length, {
      timeout: 100_000,
    })
    .toBe(25)
  const { rssBytes } = await agent.stats()
  const { doubled } = await at.collector.received()
  tell({
    done: `a start beside a leftover of ${Math.round(bytes / MIB)} MiB, ${Math.round(rssBytes / MIB)} MiB of memory`,
    times: 1,
    lost: 0,
    doubled,
  })
  expect(rssBytes).toBeLessThan(450 * MIB)
})
