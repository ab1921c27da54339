import { setTimeout } from 'node:timers/promises'
import { trace } from '@opentelemetry/api'
import { HookDispatcher } from 'hookspan'
import { startTracing } from 'hookspan/tracing'
import { expect, it } from 'vitest'
import type { Conversation } from '../../src/viewer/model/conversation-items.ts'
import { start } from './start.ts'
import { getJson } from './support.ts'

it('shows results as the tool gave them, and what the user said last, from our own tracing', async () => {
  const viewer = await start()
  const tracing = startTracing({ serviceName: 'test', endpoint: viewer.otlpEndpoint, captureContent: true })
  const dispatcher = new HookDispatcher()
  dispatcher.use(tracing)
  const op = dispatcher.startOperation({ agentName: 'clerk' })
  const results = [
    'plain words',
    '{"id":4711}',
    '"4711"',
    4711,
    ['a'],
    { content: 'x' },
    { content: 'x', more: 1 },
  ]
  const called = (result: unknown, at: number) =>
    op.step((step) => step.toolCall({ apiName: `tool_${at}`, args: {}, toolCallId: `c${at}` }, () => result))
  // Events are timed in whole milliseconds: what is before and after is in another one.
  const note = async (text: string) => {
    await setTimeout(3)
    op.run(() =>
      trace.getActiveSpan()?.addEvent('hookspan.user_message', {
        'gen_ai.input.messages': JSON.stringify([{ role: 'user', parts: [{ type: 'text', content: text }] }]),
      }),
    )
    await setTimeout(3)
  }
  try {
    for (const [at, result] of results.entries()) await called(result, at)
    await note('and thank you')
    await called('afterwards', 99)
    await note('bye')
    await op.complete()
    await tracing.forceFlush()
    const { runs } = await getJson<{ runs: { traceId: string }[] }>(viewer, '/api/runs')
    const path = `/api/runs/${runs[0]!.traceId}/conversation`
    const { items, hasContent } = await getJson<Conversation>(viewer, path)
    expect(hasContent).toBe(true)
    const shown = items.map((item) =>
      item.kind === 'tool'
        ? item.result?.text
        : item.kind === 'message'
          ? `${item.role}: ${item.pieces[0]?.text}`
          : item,
    )
    expect(shown.map((text) => String(text).replace(/\s+/g, ' '))).toEqual([
      'plain words',
      '{ "id": 4711 }',
      '4711',
      '4711',
      '[ "a" ]',
      '{ "content": "x" }',
      '{ "content": "x", "more": 1 }',
      'user: and thank you',
      'afterwards',
      'user: bye',
    ])
  } finally {
    await tracing.shutdown()
  }
})
