import { readdirSync } from 'node:fs'
import { expect, it } from 'vitest'
import { startAgent } from './support/agent.ts'
import { scene } from './support/scene.ts'
import { tell } from './support/tell.ts'

const at = scene()

it.each([
  ['process.exit()', 'exit', 3],
  ['an exception that nobody catches', 'throw', 1],
  ['a rejection that nobody handles', 'reject', 1],
  ['shutdown()', 'shutdown', 0],
  ['SIGTERM', 'SIGTERM', 'SIGTERM'],
  ['having nothing left to do', undefined, 0],
] as const)('delivers what is on its way at %s, and leaves nothing on disk', async (what, then, code) => {
  const tracing = { endpoint: at.collector.url, spoolDir: at.spoolDir, queue: { delayMs: 60_000 } }
  await using agent = startAgent({
    tracing,
    truth: at.truth(),
    spansPerSecond: 100_000,
    spans: 201,
    // Which listens to the ends of a process, too.
    wholeSdk: true,
    ...(then && { then }),
  })
  expect(await agent.ended).toBe(code)
  const { doubled } = await at.allThere(1_000)
  tell({ done: `201 spans, then ${what}`, times: 1, lost: 0, doubled })
  expect(doubled).toBe(0)
  expect(readdirSync(at.spoolDir)).toEqual([])
})

it('keeps for the next what nobody took when it ended', async () => {
  await at.collector.leave()
  const tracing = { endpoint: at.collector.url, spoolDir: at.spoolDir }
  for (const then of ['exit', 'throw', 'shutdown'] as const) {
    await using agent = startAgent({ tracing, truth: at.truth(), spansPerSecond: 100_000, spans: 300, then })
    await agent.ended
    expect(agent.stderr()).not.toMatch(/lost/)
  }
  await at.collector.comeBack()
  await using next = startAgent({ tracing, truth: at.truth(), spansPerSecond: 1_000, spans: 3 })
  expect(await next.ended).toBe(0)
  const { doubled } = await at.allThere()
  tell({ done: 'three ends while the collector is away, then a short process', times: 3, lost: 0, doubled })
  expect(doubled).toBe(0)
})
