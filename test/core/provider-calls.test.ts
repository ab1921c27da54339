import { HookDispatcher, type HookEvent, type HookFailure } from 'hookspan'
import { deny } from 'hookspan/gates'
import { matchTrajectory, mock, mockTools } from 'hookspan/mock'
import { toolPolicy } from 'hookspan/policies'
import { describe, expect, it } from 'vitest'
import { traced } from '../support/span-tree.ts'
import { readAll, startWatched } from './support.ts'

const SEARCH = {
  type: 'web_search_call',
  id: 'ws_1',
  status: 'completed',
  action: { type: 'search', query: 'weather' },
}
const FIND = {
  type: 'mcp_call',
  id: 'mcp_1',
  server_label: 'wiki',
  name: 'find',
  arguments: '{"q":"Berlin"}',
  output: 'a city',
}
const DOWN = { ...FIND, id: 'mcp_2', output: null, error: 'down' }
const MESSAGE = { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Dry.' }] }
const REPLY = { id: 'r', object: 'response', status: 'completed', output: [SEARCH, FIND, DOWN, MESSAGE] }
const call = { model: 'm', request: { input: 'Will it rain?' } }

const toolEvents = (events: readonly HookEvent[]) =>
  events.filter(({ hookType }) => /ToolCall$/.test(hookType))

describe('what the provider ran', () => {
  it('is told to whoever guards it by name, once: nobody knew its name before', async () => {
    const failures: HookFailure[] = []
    const dispatcher = new HookDispatcher({ onHookError: (failure) => void failures.push(failure) })
    dispatcher.use({ name: 'careful', gates: [toolPolicy({ deny: ['find', 'drop_*'] })] })
    for (let run = 0; run < 2; run++) {
      const op = dispatcher.startOperation({})
      await op.step((step) => step.llmCall(call, () => REPLY))
      await op.complete()
    }
    expect(failures).toMatchObject([
      { kind: 'unmatched', hookId: 'tool-policy', message: expect.stringContaining('nobody was asked') },
    ])
  })

  it('is told as tool calls, after the model call and in the order of the reply', async () => {
    const { op, events, types } = startWatched()
    await op.step((step) => step.llmCall(call, () => REPLY))
    await op.complete()

    expect(types()).toEqual([
      ...['onStart', 'beforeStep', 'beforeLlmCall', 'afterLlmCall'],
      ...['beforeToolCall', 'afterToolCall', 'beforeToolCall', 'afterToolCall'],
      ...['beforeToolCall', 'afterToolCall', 'afterStep', 'onComplete'],
    ])
    const shared = { source: 'provider', stepIndex: 0, mocked: false, outcome: 'completed' }
    expect(toolEvents(events).filter(({ hookType }) => hookType === 'afterToolCall')).toMatchObject([
      {
        ...shared,
        ...{ identifier: 'openai', apiName: 'web_search', toolCallId: 'ws_1', callIndex: 0 },
        ...{ args: { type: 'search', query: 'weather' }, content: '', success: true },
      },
      {
        ...shared,
        ...{ identifier: 'wiki', apiName: 'find', toolCallId: 'mcp_1', callIndex: 1 },
        ...{ args: { q: 'Berlin' }, result: 'a city', content: 'a city', success: true },
      },
      {
        ...shared,
        ...{ identifier: 'wiki', apiName: 'find', toolCallId: 'mcp_2', callIndex: 2 },
        ...{ content: 'down', success: false },
      },
    ])
    expect(op.totals.toolCalls).toBe(3)
    const keys = toolEvents(events).map((event) => (event as { callKey?: string }).callKey)
    expect(new Set(keys).size).toBe(3)
  })

  it('is told of a stream when that is read, and of Anthropic, too', async () => {
    const { op, events } = startWatched()
    const blocks = [
      { type: 'server_tool_use', id: 'srv_1', name: 'web_search', input: {} },
      { type: 'web_search_tool_result', tool_use_id: 'srv_1', content: [{ title: 'Rain' }] },
    ]
    const stream = await op.llmCall(call, async function* () {
      yield { type: 'message_start', message: { id: 'm' } }
      for (const [index, content_block] of blocks.entries())
        yield { type: 'content_block_start', index, content_block }
      yield { type: 'message_stop' }
    })
    expect(toolEvents(events)).toEqual([])
    await readAll(stream)
    expect(toolEvents(events)).toMatchObject([
      { hookType: 'beforeToolCall', apiName: 'web_search', identifier: 'anthropic' },
      { hookType: 'afterToolCall', result: [{ title: 'Rain' }] },
    ])
    await op.complete()
  })

  it('is told once, with the reply that has the result', async () => {
    const { op, events } = startWatched()
    const use = { type: 'server_tool_use', id: 'srv_1', name: 'web_fetch', input: {} }
    const result = { type: 'web_fetch_tool_result', tool_use_id: 'srv_1', content: { url: 'x' } }
    for (const block of [use, result])
      await op.llmCall(call, () => ({ type: 'message', content: [block], stop_reason: 'pause_turn' }))
    expect(op.totals.toolCalls).toBe(1)
    expect(toolEvents(events)).toHaveLength(2)
    await op.complete()
  })

  it('cannot be decided on, mocked or stood in for, and says so', async () => {
    const asked: string[] = []
    const { op, dispatcher, events } = startWatched()
    dispatcher.use({
      name: 'gates',
      gates: (['beforeToolCall', 'afterToolCall'] as const).map((point) => ({
        id: point,
        point,
        decide: () => {
          asked.push(point)
          return deny('no')
        },
      })),
    })
    const errors: unknown[] = []
    dispatcher.use({
      name: 'hook',
      hooks: [
        {
          id: 'mocks',
          type: 'beforeToolCall',
          handler: (event) => {
            try {
              event.mock({ content: 'mine' })
            } catch (error) {
              errors.push(error)
            }
          },
        },
      ],
    })
    using mocks = mockTools(dispatcher, [mock('find').optional().returns('mine')], { onUnmocked: 'error' })
    await op.llmCall(call, () => REPLY)
    await op.complete()
    expect(asked).toEqual([])
    expect(errors.map(String)).toEqual(Array(3).fill(expect.stringContaining('nothing can stand in')))
    expect(errors).toMatchObject(Array(3).fill({ code: 'MOCK_TOO_LATE' }))
    expect(toolEvents(events)).toHaveLength(6)
    expect(mocks.calls()).toEqual([])
  })

  it('has a span below the step, beside that of the model call, and is in trajectories', async () => {
    using setup = traced({ captureContent: true })
    const op = setup.dispatcher.startOperation({ agentName: 'a' })
    await op.step((step) => step.llmCall(call, () => ({ ...REPLY, output: [FIND, MESSAGE] })))
    await op.complete()
    expect(setup.tree()).toBe(
      ['invoke_agent a', '  step 0', '    chat m', '    execute_tool find'].join('\n'),
    )
    const { attributes, status } = setup.span('execute_tool find')
    expect(attributes).toMatchObject({
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': 'find',
      'gen_ai.tool.type': 'extension',
      'gen_ai.tool.call.id': 'mcp_1',
      'gen_ai.tool.call.arguments': '{"q":"Berlin"}',
      'gen_ai.tool.call.result': '{"content":"a city"}',
      'hookspan.tool.source': 'provider',
      'hookspan.tool.identifier': 'wiki',
      'hookspan.tool.outcome': 'completed',
    })
    expect(status.code).toBe(0)
    expect(setup.span('invoke_agent a').attributes['hookspan.operation.tool_calls']).toBe(1)
    expect(matchTrajectory(setup.spans(), [{ name: 'find', args: { q: 'Berlin' } }]).pass).toBe(true)
  })

  it('is an error on its span where the provider says that it failed', async () => {
    using setup = traced()
    const op = setup.dispatcher.startOperation({ agentName: 'a' })
    await op.llmCall(call, () => ({ ...REPLY, output: [DOWN] }))
    await op.complete()
    expect(setup.span('execute_tool find').attributes['error.type']).toBe('tool_error')
  })

  it('is not looked for in a reply that is read in whole only for those who look at it', async () => {
    let reads = 0
    const message = {
      role: 'assistant',
      get content() {
        reads++
        return 'Dry.'
      },
    }
    const reply = { choices: [{ index: 0, finish_reason: 'stop', message }] }
    using setup = traced({ captureContent: false })
    const op = setup.dispatcher.startOperation({ agentName: 'a' })
    await op.step((step) => step.llmCall(call, () => reply))
    await op.complete()
    expect(setup.tree()).toContain('chat m')
    expect(reads).toBe(0)
  })
})
