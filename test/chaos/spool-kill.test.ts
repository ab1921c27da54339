import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { missing, startAgent, truthOf } from './support/agent.ts'
import { type Collector, startCollectorProcess } from './support/collector.ts'
import { tell } from './support/tell.ts'

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

it('loses nothing to SIGKILL while the collector is away', async () => {
  await collector.leave()
  const truth = join(folder, 'truth')
  const tracing = { endpoint: collector.url, spoolDir: join(folder, 'spool') }
  await using killed = startAgent({
    tracing,
    truth,
    spansPerSecond: 1_000,
    spans: 300,
    leaveOpen: true,
    then: 'stay',
  })
  await killed.made
  killed.child.kill('SIGKILL')
  await killed.ended
  await collector.comeBack()
  await using next = startAgent({
    tracing,
    truth: join(folder, 'next'),
    spansPerSecond: 1,
    spans: 1,
    then: 'stay',
  })
  await next.made
  const told = truthOf(truth)
  await expect
    .poll(async () => missing(told, await collector.received()), { timeout: 30_000 })
    .toEqual({ ended: [], open: [] })
  const { doubled, states } = await collector.received()
  tell({ done: 'SIGKILL while the collector is away', times: 1, lost: 0, doubled })
  expect(doubled).toBe(0)
  for (const id of told.open) expect(states.get(id)).toBe('interrupted')
})
