import { setImmediate as turn } from 'node:timers/promises'
import { context, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import { deny, requireApproval, skip } from 'hookspan/gates'
import { idsOfOperation } from 'hookspan/tracing'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { titleOf, traced } from '../support/span-tree.ts'

const CHAT = { model: 'gpt-4o', request: { messages: [{ role: 'user', content: 'hi' }] } }
const reply = (content: string) => ({
  id: 'chatcmpl-1',
  model: 'gpt-4o-2024-08-06',
  choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content } }],
  usage: { prompt_tokens: 7, completion_tokens: 3, prompt_tokens_details: { cached_tokens: 4 } },
})

describe('the span tree', () => {
  let setup: ReturnType<typeof traced>
  afterEach(() => setup[Symbol.dispose]())

  it('nests runs, steps, calls, waits, compactions and sub-agents as designed', async () => {
    setup = traced()
    const { dispatcher } = setup
    dispatcher.use({
      name: 'humans',
      gates: [
        {
          id: 'ask-delete',
          point: 'beforeToolCall',
          decide: (ctx) => (ctx.apiName === 'delete_order' ? requireApproval() : undefined),
        },
      ],
      approver: { requestApproval: async () => ({ decision: 'approve', approver: 'kim' }) },
    })
    const op = dispatcher.startOperation({ agentName: 'support', conversationId: 'conv-9' })
    await op.step(async (step) => {
      await step.llmCall(CHAT, () => reply('searching'))
      await step.toolCall({ apiName: 'search', args: { q: 'a' } }, () => ({ found: 1 }))
      await step.toolCall({ apiName: 'delete_order', args: { id: 4 } }, () => 'gone')
    })
    await op.compact({ messageCount: 9, tokenCount: 900 }, () => ({
      messagesAfter: 2,
      tokensAfter: 90,
      summary: 's',
    }))
    await op.callAgent({ agentName: 'researcher', instruction: 'look' }, async (parent) => {
      const child = dispatcher.startOperation({ agentName: 'researcher', parent })
      await child.step((step) => step.llmCall(CHAT, () => reply('done')))
      await child.complete({ content: 'found it' })
      return { operationId: child.operationId, content: 'found it' }
    })
    await op.complete()

    expect(setup.tree()).toBe(
      [
        'invoke_agent support',
        '  step 0',
        '    chat gpt-4o',
        '    execute_tool search',
        '    execute_tool delete_order',
        '      human_intervention',
        '  compact_context',
        '  invoke_agent researcher',
        '    step 0',
        '      chat gpt-4o',
      ].join('\n'),
    )
    expect(new Set(setup.spans().map((span) => span.spanContext().traceId)).size).toBe(1)
    expect(setup.span('chat gpt-4o').kind).toBe(SpanKind.CLIENT)
    expect(setup.span('invoke_agent support').kind).toBe(SpanKind.INTERNAL)
    expect(setup.span('human_intervention').attributes).toMatchObject({
      'hookspan.human.action': 'approve',
      'hookspan.human.approver': 'kim',
      'hookspan.human.waited_ms': expect.any(Number),
    })
    expect(setup.span('compact_context').attributes).toMatchObject({
      'hookspan.compaction.messages_before': 9,
      'hookspan.compaction.messages_after': 2,
      'hookspan.compaction.tokens_after': 90,
    })
    expect(setup.span('chat gpt-4o').attributes).toMatchObject({
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'openai',
      'gen_ai.request.model': 'gpt-4o',
      'gen_ai.response.model': 'gpt-4o-2024-08-06',
      'gen_ai.response.id': 'chatcmpl-1',
      'gen_ai.response.finish_reasons': ['stop'],
      'gen_ai.usage.input_tokens': 7,
      'gen_ai.usage.output_tokens': 3,
      'gen_ai.usage.cache_read.input_tokens': 4,
      'gen_ai.conversation.id': 'conv-9',
    })
    for (const span of setup.spans()) expect(span.status.code).toBe(SpanStatusCode.UNSET)
  })

  it('puts calls under the run when step spans are off', async () => {
    setup = traced({ stepSpans: false })
    const op = setup.dispatcher.startOperation({ agentName: 'a' })
    await op.step((step) => step.toolCall({ apiName: 't', args: {} }, () => 1))
    await op.complete()
    expect(setup.tree()).toBe('invoke_agent a\n  execute_tool t')
  })

  it('shows a model call whose request nobody told', async () => {
    setup = traced()
    const op = setup.dispatcher.startOperation({ agentName: 'support' })
    await op.llmCall({ model: 'gpt-4o' } as typeof CHAT, () => reply('hello'))
    await op.complete()
    expect(setup.tree()).toBe(['invoke_agent support', '  chat gpt-4o'].join('\n'))
  })

  it('runs tools inside their own span, also when they run in parallel', async () => {
    setup = traced()
    const { dispatcher, tracer } = setup
    const op = dispatcher.startOperation({ agentName: 'a' })
    await op.step((step) =>
      Promise.all(
        ['x', 'y', 'z'].map((name, index) =>
          step.toolCall({ apiName: name, args: {}, toolCallId: 'same-id' }, async () => {
            for (let turns = 0; turns < 3 - index; turns++) await turn()
            await tracer.startActiveSpan(`inner ${name}`, async (span) => {
              await turn()
              span.end()
            })
          }),
        ),
      ),
    )
    await op.complete()
    for (const name of ['x', 'y', 'z']) {
      expect(setup.span(`inner ${name}`).parentSpanContext?.spanId).toBe(
        setup.span(`execute_tool ${name}`).spanContext().spanId,
      )
    }
    expect(trace.getSpan(context.active())).toBeUndefined()
  })

  it('shows every way in which a tool call can end, and an error only where there is one', async () => {
    setup = traced()
    const { dispatcher } = setup
    dispatcher.use({
      name: 'rules',
      gates: [
        {
          id: 'rules',
          point: 'beforeToolCall',
          decide: ({ apiName }) => {
            if (apiName === 'denied') return deny('not today', { code: 'quiet_hours' })
            if (apiName === 'skipped') return skip('cached')
            return apiName === 'rejected' ? requireApproval() : undefined
          },
        },
      ],
      approver: { requestApproval: async () => ({ decision: 'reject', reason: 'too risky' }) },
      hooks: [
        {
          id: 'm',
          type: 'beforeToolCall',
          match: 'mocked',
          handler: (event) => event.mock({ content: 'm' }),
        },
      ],
    })
    const op = dispatcher.startOperation({ agentName: 'a' })
    await op.step(async (step) => {
      for (const apiName of ['completed', 'mocked', 'skipped', 'denied', 'rejected']) {
        await step.toolCall({ apiName, args: {} }, () => 'real')
      }
      await step.toolCall({ apiName: 'errored', args: {} }, () => {
        throw Object.assign(new Error('boom'), { code: 'E_BOOM' })
      })
      await step.toolCall({ apiName: 'failed', args: {} }, () => ({ isError: true }))
    })
    await op.complete()
    const outcomes = Object.fromEntries(
      setup
        .spans()
        .filter((span) => span.name.startsWith('execute_tool'))
        .map((span) => [
          span.attributes['gen_ai.tool.name'],
          [span.attributes['hookspan.tool.outcome'], span.status.code, span.attributes['error.type']],
        ]),
    )
    expect(outcomes).toEqual({
      completed: ['completed', SpanStatusCode.UNSET, undefined],
      mocked: ['mocked', SpanStatusCode.UNSET, undefined],
      skipped: ['skipped', SpanStatusCode.UNSET, undefined],
      denied: ['denied', SpanStatusCode.ERROR, 'quiet_hours'],
      rejected: ['rejected', SpanStatusCode.ERROR, 'rejected'],
      errored: ['errored', SpanStatusCode.ERROR, 'E_BOOM'],
      failed: ['completed', SpanStatusCode.ERROR, 'tool_error'],
    })
    expect(setup.span('execute_tool mocked').attributes).toMatchObject({
      'hookspan.tool.mocked': true,
      'hookspan.mock.source': 'event.mock',
    })
    expect(setup.span('execute_tool denied').attributes['hookspan.tool.code']).toBe('quiet_hours')
    expect(setup.span('execute_tool denied').events[0]).toMatchObject({
      name: 'hookspan.gate',
      attributes: {
        'hookspan.gate.id': 'rules',
        'hookspan.gate.decision': 'deny',
        'hookspan.gate.enforced': true,
      },
    })
  })

  it('marks a failed run and closes what was open', async () => {
    setup = traced()
    const op = setup.dispatcher.startOperation({ agentName: 'a' })
    const error = new RangeError('out of range')
    await expect(
      op.step(async (step) => {
        void step.toolCall({ apiName: 'slow', args: {} }, () => new Promise(() => {}))
        await turn()
        throw error
      }),
    ).rejects.toBe(error)
    await op.fail(error)
    expect(setup.tree()).toBe('invoke_agent a\n  step 0\n    execute_tool slow')
    expect(setup.span('invoke_agent a').status).toEqual({
      code: SpanStatusCode.ERROR,
      message: 'out of range',
    })
    expect(setup.span('invoke_agent a').attributes).toMatchObject({
      'error.type': 'RangeError',
      'hookspan.operation.reason': 'error',
    })
  })
})

describe('trace ids', () => {
  let setup: ReturnType<typeof traced>
  afterEach(() => setup[Symbol.dispose]())

  it('are the same for the same operation id, and a resumed run goes on in its trace', async () => {
    setup = traced()
    const first = setup.dispatcher.startOperation({ operationId: 'order-17', agentName: 'a' })
    await first.step(() => {})
    const parked = JSON.parse(JSON.stringify(first.park({ waitingFor: 'human' })))
    using other = traced()
    const second = other.dispatcher.startOperation({ resume: parked, agentName: 'a' })
    await second.step(() => {})
    await second.complete()
    // One span, with the steps of both parts below it: whoever ends the run exports it.
    const run = other.span('invoke_agent a')
    const step = setup.span('step 0')
    expect(setup.spans().map(titleOf)).toEqual(['step 0'])
    expect(run.spanContext().traceId).toBe(step.spanContext().traceId)
    expect(step.parentSpanContext?.spanId).toBe(run.spanContext().spanId)
    expect(other.span('step 1').parentSpanContext?.spanId).toBe(run.spanContext().spanId)
    expect(run.parentSpanContext).toBeUndefined()
    expect(run.startTime).toEqual(expect.arrayContaining([Math.floor(parked.startedAt / 1000)]))
    expect(other.span('step 1')).toBeDefined()
  })

  it('join a child that another process starts from the plain parent', async () => {
    setup = traced()
    using other = traced()
    const op = setup.dispatcher.startOperation({ agentName: 'a' })
    await op.callAgent({ agentName: 'b', instruction: 'go', remote: true }, async (parent) => {
      const child = other.dispatcher.startOperation({
        agentName: 'b',
        parent: JSON.parse(JSON.stringify(parent)),
      })
      await child.complete()
    })
    await op.complete()
    const call = setup.span('invoke_agent b')
    expect(call.kind).toBe(SpanKind.CLIENT)
    expect(other.span('invoke_agent b').parentSpanContext?.spanId).toBe(call.spanContext().spanId)
    expect(other.span('invoke_agent b').spanContext().traceId).toBe(call.spanContext().traceId)
  })

  it('put operations of one id into one trace, as spans of their own', async () => {
    setup = traced()
    for (const agentName of ['turn 1', 'turn 2', 'turn 3']) {
      await setup.dispatcher.startOperation({ operationId: 'conversation', agentName }).complete()
    }
    const contexts = setup.spans().map((span) => span.spanContext())
    expect(contexts[0]).toMatchObject(idsOfOperation('conversation'))
    expect(new Set(contexts.map(({ traceId }) => traceId)).size).toBe(1)
    expect(new Set(contexts.map(({ spanId }) => spanId)).size).toBe(3)
  })

  it("give way to the caller's traceparent, and to a span that is active", async () => {
    setup = traced()
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
    await setup.dispatcher.startOperation({ agentName: 'remote', traceparent }).complete()
    expect(setup.span('invoke_agent remote').parentSpanContext).toMatchObject({ spanId: 'b7ad6b7169203331' })
    await setup.tracer.startActiveSpan('request', async (span) => {
      await setup.dispatcher.startOperation({ agentName: 'local' }).complete()
      span.end()
    })
    expect(setup.span('invoke_agent local').parentSpanContext?.spanId).toBe(
      setup.span('request').spanContext().spanId,
    )
  })

  it.each([
    'garbage',
    '',
    '00-0-0-00',
    `ff-${'a'.repeat(32)}-${'b'.repeat(16)}-01`,
    `00-${'0'.repeat(32)}-${'b'.repeat(16)}-01`,
  ])('are derived when the traceparent is malformed: %j', async (traceparent) => {
    setup = traced()
    const warn = vi.spyOn(console, 'warn').mockReturnValue()
    await setup.dispatcher.startOperation({ operationId: 'same', agentName: 'a', traceparent }).complete()
    await setup.dispatcher.startOperation({ agentName: 'c', traceparent }).complete()
    expect(warn.mock.calls).toEqual([
      [expect.stringContaining(`Ignored the traceparent \`${JSON.stringify(traceparent).slice(0, 70)}`)],
    ])
    warn.mockRestore()
    await setup.dispatcher.startOperation({ operationId: 'same', agentName: 'b' }).complete()
    const [a, , b] = setup.spans()
    expect(a?.parentSpanContext).toBeUndefined()
    expect(a?.spanContext().traceId).toBe(b?.spanContext().traceId)
  })
})

describe('operations driven by dispatch alone', () => {
  it('become the same tree', async () => {
    using setup = traced()
    const { dispatcher } = setup
    const say = (type: Parameters<typeof dispatcher.dispatch>[1], event: object) =>
      dispatcher.dispatch('op-1', type, event)
    say('beforeStep', { stepIndex: 0, agentName: 'legacy' })
    const call = { identifier: 'local', apiName: 'search', args: { q: 1 }, callIndex: 0, toolCallId: 'c1' }
    await dispatcher.dispatchBeforeToolCall('op-1', call)
    await dispatcher.dispatchBeforeToolCall('op-1', { ...call, apiName: 'other', callIndex: 1 })
    say('afterToolCall', {
      ...call,
      apiName: 'other',
      callIndex: 1,
      content: 'ok',
      success: true,
      mocked: false,
      executionTimeMs: 1,
    })
    say('onToolCallError', { ...call, errorMessage: 'bad', errorType: 'E', executionTimeMs: 1 })
    say('afterStep', { stepIndex: 0 })
    say('afterCompact', { messagesBefore: 4, messagesAfter: 1, tokensBefore: 10, tokensAfter: 2 })
    say('onComplete', { reason: 'done' })
    expect(setup.tree()).toBe(
      [
        'invoke_agent legacy',
        '  step 0',
        '    execute_tool search',
        '    execute_tool other',
        '  compact_context',
      ].join('\n'),
    )
    expect(setup.span('execute_tool search').attributes['error.type']).toBe('E')
    expect(dispatcher.stats().operations).toBe(0)
  })

  it('end what is open when the operation is unregistered', () => {
    using setup = traced()
    setup.dispatcher.register('op-2', [])
    setup.dispatcher.dispatch('op-2', 'beforeStep', { stepIndex: 0 })
    setup.dispatcher.unregister('op-2')
    expect(setup.tree()).toBe('invoke_agent\n  step 0')
  })
})
