/** A copied rule, pasted: it stands in for the call it was copied from, with what was recorded. */
import { HookDispatcher } from 'hookspan'
import { type MockRule, mock, mockTools } from 'hookspan/mock'
import { describe, expect, it } from 'vitest'
import { toolCallFacts } from '../../src/viewer/model/call-content.ts'
import { digestSpan } from '../../src/viewer/model/digest.ts'
import { mockRule } from '../../src/viewer/model/mock-rule.ts'
import type { SpanRecord } from '../../src/viewer/model/span.ts'
import { plainSpan } from '../../src/viewer/otlp/plain.ts'
import { SAMPLE_SPANS } from './sample-run.ts'
import { otlpSpan, recordedTraces } from './support.ts'

const recorded = recordedTraces().map((one) => ({
  name: `${one.framework} ${one.file}`,
  spans: one.traces.resourceSpans.flatMap(({ scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) => spans.map((span) => plainSpan(span as never))),
  ),
}))
const sample = {
  name: 'hookspan',
  spans: SAMPLE_SPANS.map((span) => plainSpan(otlpSpan(span) as never)),
}

async function useRule(span: SpanRecord, code: string) {
  const rule = new Function('mock', `return ${code}`)(mock) as MockRule
  const dispatcher = new HookDispatcher()
  using _mocks = mockTools(dispatcher, [rule])
  const operation = dispatcher.startOperation({ agentName: 'test' })
  const { args } = toolCallFacts(span)
  const apiName = digestSpan(span.name, span.attributes, [], span.status).label
  const outcome = await operation.step((step) =>
    step.toolCall({ apiName, args: (args ?? {}) as Record<string, unknown> }, () => {
      throw new Error('the real tool ran')
    }),
  )
  await operation.complete({})
  return outcome
}

describe.each([sample, ...recorded.filter((_, at) => at % 4 === 0)])('$name', ({ spans }) => {
  it('every tool call answers as it did', async () => {
    let used = 0
    for (const span of spans) {
      const code = mockRule(span)
      if (code === undefined) continue
      used++
      const { result, error } = toolCallFacts(span)
      const outcome = await useRule(span, code)
      if (error) expect(outcome, code).toMatchObject({ state: 'errored', error: { message: error } })
      else expect(outcome, code).toMatchObject({ state: 'mocked', result })
    }
    expect(used).toBeGreaterThan(0)
  })
})
