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
      data: dataPoints.map(({ attributes, value }) => {
        const { count, sum } = value as { count: number; sum: number }
        return { attributes, count, sum }
      }),
    }))
  await provider.shutdown()
  return Object.fromEntries(points.map(({ name, ...point }) => [name, point]))
}

describe('metrics', () => {
  it('have the names that backends read', async () => {
    const metrics = await metricsOf('compat')
    const labels = {
      'gen_ai.request.model': 'm',
      'gen_ai.response.model': 'm-1',
      'gen_ai.provider.name': 'openai',
    }
    expect(metrics['gen_ai.client.token.usage']).toMatchObject({
      unit: '{token}',
      data: [
        { attributes: { 'gen_ai.token.type': 'input', ...labels }, count: 1, sum: 11 },
        { attributes: { 'gen_ai.token.type': 'output', ...labels }, count: 1, sum: 5 },
      ],
    })
    const durations = metrics['gen_ai.client.operation.duration']
    expect(durations?.unit).toBe('s')
    expect(durations?.data.map(({ attributes }) => attributes['error.type'])).toEqual([undefined, '429'])
    const agent = { 'gen_ai.agent.name': 'support' }
    const tool = { attributes: { 'gen_ai.tool.name': 'search', ...agent }, count: 1 }
    expect(metrics['gen_ai.execute_tool.duration']?.data).toMatchObject([tool])
    expect(metrics['gen_ai.invoke_agent.duration']?.data).toMatchObject([{ attributes: agent, count: 1 }])
    expect(metrics['gen_ai.invoke_agent.inference_calls']?.data).toMatchObject([
      { attributes: agent, sum: 2 },
    ])
    expect(metrics['gen_ai.invoke_agent.tool_calls']?.data).toMatchObject([{ attributes: agent, sum: 2 }])
  })

  it('have the newest names on request', async () => {
    const metrics = await metricsOf('latest')
    expect(Object.keys(metrics).sort()).toEqual([
      'gen_ai.client.inference.duration',
      'gen_ai.client.inference.operation.input_tokens',
      'gen_ai.client.inference.operation.output_tokens',
      'gen_ai.execute_tool.duration',
      'gen_ai.invoke_agent.duration',
      'gen_ai.invoke_agent.inference_calls',
      'gen_ai.invoke_agent.tool_calls',
    ])
  })
})
