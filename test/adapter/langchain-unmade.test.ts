import { AIMessage, HumanMessage } from '@langchain/core/messages'
import { fakeModel } from '@langchain/core/testing'
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

  it('is in what a bare graph says of the model, too', async () => {
    const { dispatcher, events } = dispatcherWith()
    const model = fakeModel().respond(cutShort())
    await model.invoke('hi', { callbacks: [hookspanCallbacks({ dispatcher })] })
    await dispatcher.drain()
    expect(findAll(events, 'afterLlmCall')[0]?.response.toolCalls).toMatchObject([{ args: CUT.args }])
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
