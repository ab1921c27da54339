import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics'
import { HookDispatcher } from 'hookspan'
import { traceHooks } from 'hookspan/tracing'
import { describe, expect, it } from 'vitest'

async function metricsOf(semconv: 'compat' | 'latest') {
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
  const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 })
  const provider = new MeterProvider({ readers: [reader] })
  const dispatcher = new HookDispatcher()
  dispatcher.use(traceHooks({ meter: provider.getMeter('test'), semconv }))
  dispatcher.use({
    name: 'mock',
    hooks: [
      {
        id: 'm',
        type: 'beforeToolCall',
        match: 'mocked',
        handler: (event) => event.mock({ content: '' }),
      },
    ],
  })
  const op = dispatcher.startOperation({ agentName: 'support' })
  await op.step(async (step) => {
    const reply = { model: 'm-1', choices: [], usage: { prompt_tokens: 11, completion_tokens: 5 } }
    await step.llmCall({ model: 'm', provider: 'openai', request: {} }, () => reply)
    const server = { serverAddress: 'api.test', serverPort: 443 }
    async function* chunks() {
      for (const content of ['a', 'b', 'c'])
        yield { model: 'm-1', choices: [{ index: 0, delta: { content } }] }
      yield { choices: [], usage: { prompt_tokens: 3, completion_tokens: 3 } }
    }
    const stream = await step.llmCall({ model: 's', ...server, request: { stream: true } }, () => chunks())
    for await (const _ of stream);
    await step.llmCall({ model: 'e', operationName: 'embeddings', request: {} }, () => ({}))
    await step
      .llmCall({ model: 'm', request: {} }, () =>
        Promise.reject(Object.assign(new Error('x'), { status: 429 })),
      )
      .catch(() => {})
    await step.toolCall({ apiName: 'search', args: {} }, () => 1)
    await step.toolCall({ apiName: 'mocked', args: {} }, () => 1)
  })
  await op.complete()
  await provider.forceFlush()
  const points = exporter
    .getMetrics()
    .flatMap(({ scopeMetrics }) => scopeMetrics)
    .flatMap(({ metrics }) => metrics)
    .map(({ descriptor, dataPoints }) => ({
      name: descriptor.name,
      unit: descriptor.unit,
      description: descriptor.description,
      bounds: (dataPoints[0]?.value as { buckets?: { boundaries: number[] } } | undefined)?.buckets
        ?.boundaries,
      data: dataPoints.map(({ attributes, value }) => {
        const { count, sum } = (typeof value === 'number' ? { sum: value } : value) as {
          count?: number
          sum: number
        }
        return { attributes, ...(count !== undefined && { count }), sum }
      }),
    }))
  await provider.shutdown()
  return Object.fromEntries(points.map(({ name, ...point }) => [name, point]))
}

describe('metrics', () => {
  it('have the names that backends read', async () => {
    const metrics = await metricsOf('compat')
    const labels = {
      'gen_ai.operation.name': 'chat',
      'gen_ai.request.model': 'm',
      'gen_ai.response.model': 'm-1',
      'gen_ai.provider.name': 'openai',
    }
    const tokens = metrics['gen_ai.client.token.usage']
    expect(tokens?.unit).toBe('{token}')
    expect(tokens?.data.slice(0, 2)).toEqual([
      { attributes: { 'gen_ai.token.type': 'input', ...labels }, count: 1, sum: 11 },
      { attributes: { 'gen_ai.token.type': 'output', ...labels }, count: 1, sum: 5 },
    ])
    const durations = metrics['gen_ai.client.operation.duration']
    expect(durations?.unit).toBe('s')
    expect(durations?.bounds?.slice(0, 3)).toEqual([0.01, 0.02, 0.04])
    expect(durations?.data.map(({ attributes }) => attributes['error.type'])).toEqual([
      undefined,
      undefined,
      undefined,
      '429',
    ])
    const streamed = metrics['gen_ai.client.operation.time_to_first_chunk']?.data
    const server = { 'server.address': 'api.test', 'server.port': 443 }
    const attributes = { ...labels, ...server, 'gen_ai.request.model': 's' }
    expect(streamed).toMatchObject([{ attributes, count: 1 }])
    expect(metrics['gen_ai.client.operation.time_per_output_chunk']?.data).toMatchObject([
      { attributes, count: 3 },
    ])
    const agent = { 'gen_ai.agent.name': 'support' }
    const tool = {
      attributes: { 'gen_ai.tool.name': 'search', 'gen_ai.tool.type': 'function', ...agent },
      count: 1,
    }
    expect(metrics['gen_ai.execute_tool.duration']?.data).toMatchObject([tool])
    expect(metrics['gen_ai.invoke_agent.duration']?.data).toMatchObject([{ attributes: agent, count: 1 }])
    expect(metrics['gen_ai.invoke_agent.inference_calls']?.data).toMatchObject([
      { attributes: agent, sum: 4 },
    ])
    expect(metrics['gen_ai.invoke_agent.tool_calls']?.data).toMatchObject([{ attributes: agent, sum: 2 }])
  })

  it('have the newest names on request, counters of tokens among them', async () => {
    const metrics = await metricsOf('latest')
    const [client, agent] = ['gen_ai.client.', 'gen_ai.invoke_agent.']
    expect(Object.keys(metrics).sort()).toEqual([
      `${client}inference.duration`,
      `${client}inference.operation.input_tokens`,
      `${client}inference.operation.output_tokens`,
      `${client}inference.time_per_output_chunk`,
      `${client}inference.time_to_first_chunk`,
      `${client}inference.usage.cache_read.input_tokens`,
      `${client}inference.usage.cache_write.input_tokens`,
      `${client}inference.usage.input_tokens`,
      `${client}inference.usage.output_tokens`,
      `${client}inference.usage.reasoning.output_tokens`,
      `${client}operation.duration`,
      'gen_ai.execute_tool.duration',
      `${agent}duration`,
      `${agent}inference_calls`,
      `${agent}tool_calls`,
    ])
    const input = metrics[`${client}inference.usage.input_tokens`]
    expect(input?.unit).toBe('{token}')
    // The call that failed counts with 0.
    expect(input?.data.map(({ sum }) => sum)).toEqual([11, 3, 0])
    expect(input?.data.every(({ attributes }) => attributes['gen_ai.token.modality'] === 'unknown')).toBe(
      true,
    )
    const operations = metrics[`${client}operation.duration`]?.data
    expect(operations?.map(({ attributes }) => attributes['gen_ai.operation.name'])).toEqual(['embeddings'])
  })

  it.each(['compat', 'latest'] as const)('say what they are in profile %s', async (profile) => {
    for (const { unit, description } of Object.values(await metricsOf(profile))) {
      expect(description).toMatch(/\w.*\.$/)
      expect(unit).not.toBe('')
    }
  })
})
