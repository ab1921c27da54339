import { OpenTelemetry } from '@ai-sdk/otel'
import { context, propagation } from '@opentelemetry/api'
import * as ai from 'ai'
import { MockLanguageModelV4 } from 'ai/test'
import { observeAISDK } from 'hookspan/ai-sdk'
import { expect, it } from 'vitest'
import { z } from 'zod'
import { traced } from '../support/span-tree.ts'

const USAGE = {
  inputTokens: { total: 3, noCache: 3, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 2, text: 2, reasoning: undefined },
}

function model() {
  const reply = (content: object[], unified: string) => ({
    content,
    finishReason: { unified, raw: unified },
    usage: USAGE,
    warnings: [],
  })
  const call = { type: 'tool-call', toolCallId: '1', toolName: 'search', input: '{}' }
  return new MockLanguageModelV4({
    modelId: 'gpt-x',
    provider: 'openai.chat',
    doGenerate: [reply([call], 'tool-calls'), reply([{ type: 'text', text: 'done' }], 'stop')] as never,
  })
}

it.each(['omit', 'nest'] as const)(
  'each call is one span of ours where the SDK makes its own: %s',
  async (sdkSpans) => {
    using tracing = traced()
    const { generateText } = observeAISDK(ai, { dispatcher: tracing.dispatcher, sdkSpans })
    let seen: string | undefined
    const search = ai.tool({
      inputSchema: z.object({}),
      execute: async () => {
        seen = propagation.getBaggage(context.active())?.getEntry('tenant')?.value
        tracing.tracer.startSpan('database').end()
        return 'found'
      },
    })
    const baggage = propagation.createBaggage({ tenant: { value: 'acme' } })
    await context.with(propagation.setBaggage(context.active(), baggage), () =>
      generateText({
        model: model(),
        tools: { search },
        prompt: 'go',
        stopWhen: ai.isStepCount(5),
        telemetry: { functionId: 'support', integrations: [new OpenTelemetry({ tracer: tracing.tracer })] },
      }),
    )
    const spans = tracing.spans()
    const ours = (name: string) => spans.filter((span) => span.name === name && isOurs(span.attributes))
    expect(ours('execute_tool search')).toHaveLength(1)
    expect(ours('chat gpt-x')).toHaveLength(2)
    expect(new Set(spans.map((span) => span.spanContext().traceId)).size).toBe(1)
    expect(parentOf(spans, 'database')).toBe(ours('execute_tool search')[0]?.spanContext().spanId)
    expect(seen).toBe('acme')
    const theirs = spans.filter(({ name, attributes }) => name !== 'database' && !isOurs(attributes))
    if (sdkSpans === 'omit') expect(theirs).toEqual([])
    else expect(theirs.length).toBeGreaterThan(2)
  },
)

const isOurs = (attributes: Readonly<Record<string, unknown>>) =>
  Object.keys(attributes).some((key) => key.startsWith('hookspan.'))

function parentOf(spans: ReturnType<ReturnType<typeof traced>['spans']>, name: string): string | undefined {
  return spans.find((span) => span.name === name)?.parentSpanContext?.spanId
}
