import { AIMessage, HumanMessage, ToolMessage } from '@langchain/core/messages'
import { fakeModel } from '@langchain/core/testing'
import { Command, MessagesAnnotation, StateGraph } from '@langchain/langgraph'
import { ToolNode } from '@langchain/langgraph/prebuilt'
import { type Gate, mutate } from 'hookspan/gates'
import { hookspanCallbacks, hookspanMiddleware } from 'hookspan/langchain'
import { createAgent, createMiddleware, tool, toolCallLimitMiddleware } from 'langchain'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { dispatcherWith, findAll } from '../support/told-events.ts'

const hi = { messages: [new HumanMessage('hi')] }

const CUT = { id: 'cut', name: 'search', args: '{"q": "a', error: 'Malformed args.' }

/** As the packages of providers give a reply whose last call was cut short. */
const cutShort = (...tool_calls: { id: string; name: string; args: object }[]) =>
  new AIMessage({ content: '', tool_calls, invalid_tool_calls: [{ ...CUT, type: 'invalid_tool_call' }] })

async function told(
  replies: readonly AIMessage[],
  { gates = [], others = [] }: { gates?: Gate[]; others?: object[] } = {},
) {
  const { dispatcher, events } = dispatcherWith(...gates)
  const ran: string[] = []
  const find = ({ q }: { q: string }) => {
    ran.push(q)
    return `found ${q}`
  }
  const schema = z.object({ q: z.string() })
  const search = tool(find, { name: 'search', description: 'Searches.', schema })
  const model = fakeModel()
  for (const reply of replies) model.respond(reply)
  const middleware = [hookspanMiddleware({ dispatcher }), ...(others as [])]
  const { messages } = await createAgent({ model, tools: [search], middleware }).invoke(hi)
  await dispatcher.drain()
  return { events, ran, messages }
}

const search = (id: string) => ({ id, name: 'search', args: { q: id } })

const afterLlmCall = (decide: Gate['decide']): Gate => ({ id: 'after', point: 'afterLlmCall', decide })

const failed = { toolCallId: 'cut', apiName: 'search', args: CUT.args, errorMessage: 'Malformed args.' }

describe('a call whose arguments LangChain could not read', () => {
  it('is in what the model said, and a call that failed, beside one that was made', async () => {
    const { events, ran } = await told([cutShort(search('a')), new AIMessage('done')])
    expect(findAll(events, 'afterLlmCall')[0]?.response.toolCalls).toMatchObject([
      { toolCallId: 'a', args: { q: 'a' } },
      { toolCallId: 'cut', apiName: 'search', args: CUT.args },
    ])
    expect(findAll(events, 'onToolCallError')).toMatchObject([failed])
    expect(findAll(events, 'afterStep')).toHaveLength(2)
    expect(ran).toEqual(['a'])
  })

  it('is told where LangChain ends the run with it', async () => {
    const { events, messages } = await told([cutShort()])
    expect(messages.at(-1)).toMatchObject({ invalid_tool_calls: [CUT] })
    expect(findAll(events, 'onToolCallError')).toMatchObject([failed])
  })

  it('is made where a middleware mends it, and told once', async () => {
    const mends = createMiddleware({
      name: 'mends',
      afterModel: ({ messages }) => {
        const last = messages.at(-1)
        if (!AIMessage.isInstance(last) || last.invalid_tool_calls?.length !== 1) return
        return { messages: [new AIMessage({ id: last.id ?? '', content: '', tool_calls: [search('cut')] })] }
      },
    })
    const { events, ran } = await told([cutShort(), new AIMessage('done')], { others: [mends] })
    expect(ran).toEqual(['cut'])
    expect(findAll(events, 'onToolCallError')).toEqual([])
    expect(findAll(events, 'afterToolCall')).toMatchObject([{ toolCallId: 'cut', success: true }])
  })

  it('is made where a gate mends it', async () => {
    const mended = { toolCalls: [{ toolCallId: 'cut', apiName: 'search', args: { q: 'b' } }] }
    const mends = afterLlmCall(({ payload }) =>
      (payload as { content?: string }).content === 'done' ? undefined : mutate(mended),
    )
    const { events, ran } = await told([cutShort(), new AIMessage('done')], { gates: [mends] })
    expect(ran).toEqual(['b'])
    expect(findAll(events, 'onToolCallError')).toEqual([])
  })

  it('stays what it is where a gate changes the words beside it', async () => {
    const says = afterLlmCall(({ payload }) => mutate({ ...(payload as object), content: 'Let me see.' }))
    const { events, messages } = await told([cutShort()], { gates: [says] })
    expect(messages.at(-1)).toMatchObject({
      content: 'Let me see.',
      tool_calls: [],
      invalid_tool_calls: [{ id: 'cut', name: 'search', args: CUT.args }],
    })
    expect(findAll(events, 'onToolCallError')).toMatchObject([{ toolCallId: 'cut' }])
  })

  it('is in what a bare graph says of the model, too, and a call that failed', async () => {
    const { dispatcher, events } = dispatcherWith()
    const model = fakeModel().respond(cutShort())
    await model.invoke('hi', { callbacks: [hookspanCallbacks({ dispatcher })] })
    await dispatcher.drain()
    expect(findAll(events, 'afterLlmCall')[0]?.response.toolCalls).toMatchObject([{ args: CUT.args }])
    expect(findAll(events, 'onToolCallError')).toMatchObject([failed])
    expect(findAll(events, 'onComplete')).toHaveLength(1)
  })
})

it('a call that a limit of LangChain refuses is told as denied, once, with what the model is told', async () => {
  const others = [toolCallLimitMiddleware({ runLimit: 1, exitBehavior: 'continue' })]
  const asks = new AIMessage({ content: '', tool_calls: [search('a'), search('b')] })
  const { events, ran } = await told([asks, new AIMessage('done')], { others })
  expect(ran).toEqual(['a'])
  const calls = findAll(events, 'afterToolCall')
  expect(calls.map(({ toolCallId }) => toolCallId)).toEqual(['a', 'b'])
  expect(calls[1]).toMatchObject({
    code: 'policy_denied',
    reason: 'Tool call limit exceeded. Do not make additional tool calls.',
  })
})

describe('in a bare graph', () => {
  /** A tool for each way to answer. */
  const schema = z.object({ q: z.string() })
  const answers = (make: (id: string) => unknown, name: string) =>
    tool((_, { toolCall }) => make(toolCall.id) as string, { name, description: name, schema })
  const said = (content: string, tool_call_id: string, more = {}) =>
    new ToolMessage({ content, tool_call_id, ...more })
  const tools = [
    answers((id) => said('sold out', id, { status: 'error' }), 'fails'),
    answers((id) => new Command({ update: { messages: [said('other', '0'), said('moved', id)] } }), 'moves'),
    answers(() => {
      throw new Error('broken')
    }, 'throws'),
  ]

  async function ran(...calls: readonly { name: string; args: object }[]) {
    const { dispatcher, events } = dispatcherWith()
    const tool_calls = calls.map((call) => ({ ...call, id: call.name, type: 'tool_call' as const }))
    const graph = new StateGraph(MessagesAnnotation)
      .addNode('asks', () =>
        fakeModel()
          .respond(new AIMessage({ content: '', tool_calls }))
          .invoke('hi')
          .then((reply) => ({ messages: [reply] })),
      )
      .addNode('tools', new ToolNode(tools))
      .addNode('ends', () =>
        fakeModel()
          .respond(new AIMessage('done'))
          .invoke('hi')
          .then((reply) => ({ messages: [reply] })),
      )
      .addEdge('__start__', 'asks')
      .addEdge('asks', 'tools')
      .addEdge('tools', 'ends')
      .compile()
    await graph.invoke(hi, { callbacks: [hookspanCallbacks({ dispatcher })] })
    await dispatcher.drain()
    return events
  }

  const q = { q: 'a' }

  it.each([[[]], [[{ name: 'moves', args: q }]]])(
    'a call of a tool that there is not, or with arguments that it does not take, is one that failed: beside %j',
    async (beside) => {
      const wrong = [
        { name: 'nosuch', args: q },
        { name: 'fails', args: { q: 7 } },
      ]
      const events = await ran(...wrong, ...beside)
      expect(findAll(events, 'onToolCallError')).toMatchObject([
        {
          apiName: 'nosuch',
          toolCallId: 'nosuch',
          args: q,
          errorMessage: expect.stringContaining('not found'),
        },
        { apiName: 'fails', args: { q: 7 }, errorMessage: expect.stringContaining('expected schema') },
      ])
      const at = (type: string) => events.findLastIndex(({ hookType }) => hookType === type)
      expect(at('onToolCallError')).toBeLessThan(at('beforeLlmCall'))
    },
  )

  it('a call that a tool fails is told once, and what a command says to the model is its result', async () => {
    const events = await ran(
      { name: 'fails', args: q },
      { name: 'moves', args: q },
      { name: 'throws', args: q },
    )
    expect(findAll(events, 'onToolCallError')).toMatchObject([{ apiName: 'throws', errorMessage: 'broken' }])
    expect(findAll(events, 'afterToolCall')).toMatchObject([
      { apiName: 'fails', content: 'sold out', success: false },
      { apiName: 'moves', content: 'moved', success: true },
    ])
  })
})
