import { OpenTelemetry } from '@ai-sdk/otel'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto'
import { resourceFromAttributes } from '@opentelemetry/resources'
import { SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import { generateText, isStepCount, jsonSchema, registerTelemetry, tool } from 'ai'
import { MockLanguageModelV4 } from 'ai/test'
import { startViewer, type Viewer } from 'hookspan/viewer'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Conversation, ConversationItem } from '../../src/viewer/model/conversation-items.ts'
import { getJson } from './support.ts'

let viewer: Viewer
beforeAll(async () => {
  viewer = await startViewer({ db: ':memory:', port: 0 })
})
afterAll(() => viewer.close())

const usage = (input: number, output: number) => ({
  inputTokens: { total: input, noCache: input, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: output, text: output, reasoning: 0 },
})

it('shows a live run of the AI SDK: its agent, its calls, its tokens and what was said', async () => {
  const provider = new TracerProvider({
    resource: resourceFromAttributes({ 'service.name': 'ai-sdk' }),
    spanProcessors: [
      new SimpleSpanProcessor({
        exporter: new OTLPTraceExporter({ url: `${viewer.otlpEndpoint}/v1/traces` }),
      }),
    ],
  })
  registerTelemetry(new OpenTelemetry({ tracer: provider.getTracer('ai') }))
  const model = new MockLanguageModelV4({
    modelId: 'mock-model',
    doGenerate: [
      {
        content: [{ type: 'tool-call', toolCallId: 'c1', toolName: 'weather', input: '{"city":"Oslo"}' }],
        finishReason: { unified: 'tool-calls', raw: 'tool_calls' },
        usage: usage(20, 5),
        warnings: [],
      },
      {
        content: [{ type: 'text', text: 'It is 4 degrees in Oslo.' }],
        finishReason: { unified: 'stop', raw: 'stop' },
        usage: usage(40, 9),
        warnings: [],
      },
    ],
  })
  await generateText({
    model,
    prompt: 'What is the weather in Oslo?',
    tools: {
      weather: tool({
        description: 'Weather',
        inputSchema: jsonSchema<{ city: string }>({
          type: 'object',
          properties: { city: { type: 'string' } },
        }),
        execute: async ({ city }) => ({ city, tempC: 4 }),
      }),
    },
    stopWhen: isStepCount(3),
  })
  await provider.forceFlush()

  const { runs } = await getJson<{ runs: { traceId: string }[] }>(viewer, '/api/runs')
  expect(runs).toMatchObject([
    {
      service: 'ai-sdk',
      status: 'ok',
      llmCalls: 2,
      toolCalls: 1,
      inputTokens: 60,
      outputTokens: 14,
      tools: ['weather'],
      models: ['mock-model'],
      inputPreview: 'What is the weather in Oslo?',
    },
  ])
  const flat = (items: ConversationItem[]): ConversationItem[] =>
    items.flatMap((item) => (item.kind === 'agent' ? flat(item.items) : [item]))
  const items = flat(
    (await getJson<Conversation>(viewer, `/api/runs/${runs[0]!.traceId}/conversation`)).items,
  )
  expect(
    items.map((item) =>
      item.kind === 'message'
        ? `${item.role}: ${item.pieces.map((piece) => piece.text).join('')}`
        : item.kind === 'tool'
          ? `${item.name} ${item.args.text.replace(/\s/g, '')} ${item.result?.text.replace(/\s/g, '')}`
          : item.kind,
    ),
  ).toEqual([
    'step',
    'user: What is the weather in Oslo?',
    'weather {"city":"Oslo"} {"city":"Oslo","tempC":4}',
    'step',
    'assistant: It is 4 degrees in Oslo.',
  ])
})
