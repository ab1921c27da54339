/** What its trace does not price is priced here, by the same table as the agents', and said to be. */
import { calcPrice } from '@pydantic/genai-prices'
import { startViewer, type Viewer } from 'hookspan/viewer'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { createPaint } from '../../src/viewer/text/paint.ts'
import { showText } from '../../src/viewer/text/show-text.ts'
import { id, otlp, post, type TestSpan, TRACE, type Value } from './support.ts'

let viewer: Viewer
beforeEach(async () => {
  viewer = await startViewer({ port: 0, db: ':memory:' })
})
afterEach(() => viewer.close())

const call = (number: number, parent: number, attributes: Record<string, Value> = {}): TestSpan => ({
  spanId: id(number),
  parentSpanId: id(parent),
  name: 'chat',
  start: number,
  end: number + 1,
  attributes: {
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': 'openai',
    'gen_ai.request.model': 'gpt-4o',
    'gen_ai.usage.input_tokens': 10_000,
    'gen_ai.usage.output_tokens': 100,
    ...attributes,
  },
})
const named = (number: number, parent: number, operation: string, name: string): TestSpan => ({
  spanId: id(number),
  ...(parent > 0 && { parentSpanId: id(parent) }),
  name: operation,
  start: 0,
  end: 50,
  attributes: {
    'gen_ai.operation.name': operation,
    [operation === 'execute_tool' ? 'gen_ai.tool.name' : 'gen_ai.agent.name']: name,
  },
})
const price = (model: string, input_tokens: number, output_tokens: number, cache_read_tokens = 0) =>
  calcPrice({ input_tokens, output_tokens, cache_read_tokens }, model)!.total_price
const PLAIN = price('gpt-4o', 10_000, 100)
const CACHED = price('gpt-4o', 10_000, 100, 8_000)

it('from tokens, what was kept in a cache for an hour for more', async () => {
  const written = {
    'gen_ai.provider.name': 'anthropic',
    'gen_ai.request.model': 'claude-opus-4-5',
    'gen_ai.usage.cache_creation.input_tokens': 8_000,
    'hookspan.usage.cache_creation_1h.input_tokens': 6_000,
  }
  await post(viewer, otlp([call(1, 0, written)]))
  const costUsd = (2_000 * 5 + 2_000 * 6.25 + 6_000 * 10 + 100 * 25) / 1e6
  expect(viewer.store.run(TRACE)!.rows).toMatchObject([{ costUsd: expect.closeTo(costUsd, 10) }])
})

it('from tokens, what was cached for less, as the library does', async () => {
  expect(CACHED).toBeLessThan(PLAIN)
  const cached = { 'gen_ai.usage.cache_read.input_tokens': 8_000 }
  await post(viewer, otlp([call(1, 0), call(2, 1, cached)]))
  const { summary, rows } = viewer.store.run(TRACE)!
  expect(rows.map((row) => [row.costUsd, row.costEstimated])).toEqual([
    [expect.closeTo(PLAIN, 10), true],
    [expect.closeTo(CACHED, 10), true],
  ])
  // The second is inside of the first: nested instrumentation of one call.
  expect(summary).toMatchObject({
    costUsd: expect.closeTo(PLAIN, 10),
    estimatedUsd: expect.closeTo(PLAIN, 10),
  })
})

it('and takes nothing off for counts and costs below zero', async () => {
  const wrong = {
    'gen_ai.usage.input_tokens': -1,
    'gen_ai.usage.output_tokens': -1,
    'gen_ai.usage.cost': -3,
    'llm.cost.prompt': -2,
  }
  await post(viewer, otlp([named(1, 0, 'invoke_agent', 'a'), call(2, 1), call(3, 1, wrong)]))
  expect(viewer.store.run(TRACE)!.summary).toMatchObject({
    inputTokens: 10_000,
    outputTokens: 100,
    costUsd: expect.closeTo(PLAIN, 10),
  })
})

it('and not what the trace prices, what was mocked, or what no table knows', async () => {
  await post(
    viewer,
    otlp([
      named(1, 0, 'invoke_agent', 'a'),
      call(2, 1, { 'hookspan.cost_usd': 0.5 }),
      call(3, 1, { 'hookspan.mock.source': 'scripted' }),
      call(4, 1, { 'gen_ai.request.model': 'no-such-model-at-all', 'gen_ai.provider.name': 'nobody' }),
      // More cached than sent: no price rather than a wrong one.
      call(5, 1, { 'gen_ai.usage.cache_read.input_tokens': 20_000 }),
      call(6, 1),
    ]),
  )
  const { summary, rows } = viewer.store.run(TRACE)!
  expect(rows.filter((row) => row.costEstimated).map((row) => row.spanId)).toEqual([id(6)])
  expect(summary.costUsd).toBeCloseTo(0.5 + PLAIN, 10)
  expect(summary.estimatedUsd).toBeCloseTo(PLAIN, 10)
  const numbers = await (await fetch(`${viewer.url}/api/numbers?q=`)).json()
  expect(numbers).toMatchObject({
    costUsd: expect.closeTo(0.5 + PLAIN, 10),
    estimatedUsd: expect.closeTo(PLAIN, 10),
  })
})

it('and not what is known to be free', async () => {
  await post(viewer, otlp([named(1, 0, 'invoke_agent', 'a'), call(2, 1, { 'hookspan.cost_usd': 0 })]))
  expect(viewer.store.run(TRACE)!.summary).toMatchObject({ costUsd: 0, estimatedUsd: 0 })
})

it('and a run of which only some calls have a price says so', async () => {
  const unknown = { 'gen_ai.request.model': 'no-such-model-at-all', 'gen_ai.provider.name': 'nobody' }
  const told = { 'hookspan.cost_usd': 0.5 }
  await post(viewer, otlp([named(1, 0, 'invoke_agent', 'a'), call(2, 1, told), call(4, 1, unknown)]))
  const { summary, rows } = viewer.store.run(TRACE)!
  const text = showText(summary, rows, { paint: createPaint(false), width: 100, nowMs: Date.now() })
  expect(text).toMatch(/\$0\.50* in 1 of 2 calls,/)
})

it('and told by agent, tool, model: each call once', async () => {
  await post(
    viewer,
    otlp([
      named(1, 0, 'invoke_agent', 'boss'),
      call(2, 1),
      named(3, 1, 'execute_tool', 'ask_clerk'),
      named(4, 3, 'invoke_agent', 'clerk'),
      call(5, 4),
      call(6, 4, { 'gen_ai.request.model': 'gpt-4o-mini' }),
    ]),
  )
  const MINI = price('gpt-4o-mini', 10_000, 100)
  const costs = async (kind: string) => {
    const { uses } = (await (await fetch(`${viewer.url}/api/uses/${kind}?q=`)).json()) as {
      uses: { name: string; costUsd: number; inputTokens: number }[]
    }
    return Object.fromEntries(uses.map((use) => [use.name, use.costUsd]))
  }
  expect(await costs('agent')).toEqual({
    boss: expect.closeTo(PLAIN, 10),
    clerk: expect.closeTo(PLAIN + MINI, 10),
  })
  expect(await costs('tool')).toEqual({ ask_clerk: expect.closeTo(PLAIN + MINI, 10) })
  expect(await costs('model')).toEqual({
    'gpt-4o': expect.closeTo(2 * PLAIN, 10),
    'gpt-4o-mini': expect.closeTo(MINI, 10),
  })
})

it('with the table named, and the day of its newest price', async () => {
  const { prices } = (await (await fetch(`${viewer.url}/api/status`)).json()) as {
    prices: { source: string; newest: string }
  }
  expect(prices.source).toMatch(/^@pydantic\/genai-prices \d+\.\d+\.\d+$/)
  expect(prices.newest).toMatch(/^20\d\d-\d\d-\d\d$/)
  expect(Date.parse(prices.newest)).toBeLessThanOrEqual(Date.now())
})
