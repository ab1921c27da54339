import { AIMessage, type BaseMessage, HumanMessage, SystemMessage } from '@langchain/core/messages'
import { fakeModel } from '@langchain/core/testing'
import { MemorySaver } from '@langchain/langgraph'
import { mutate } from 'hookspan/gates'
import { hookspanMiddleware } from 'hookspan/langchain'
import { createAgent } from 'langchain'
import { describe, expect, it } from 'vitest'
import { dispatcherWith } from '../support/told-events.ts'

interface Plain {
  readonly role: string
  readonly content: string
}

const PICTURE = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }

function observed(change: (payload: unknown) => unknown) {
  const { dispatcher } = dispatcherWith({
    id: 'changes',
    point: 'onStart',
    decide: ({ payload }) => mutate(change(payload) as never),
  })
  const asked: BaseMessage[][] = []
  const model = fakeModel()
  for (let call = 0; call < 2; call++) {
    model.respond((messages: BaseMessage[]) => {
      asked.push(messages)
      return new AIMessage({ id: `answer-${call}`, content: 'done' })
    })
  }
  const middleware = [hookspanMiddleware({ dispatcher })]
  return { agent: createAgent({ model, middleware, checkpointer: new MemorySaver() }), asked }
}

const on = { configurable: { thread_id: 'one' } }

const hidden = (text: string) => text.replace('ann@shop.test', '[hidden]')

const hideIn = (payload: unknown) =>
  typeof payload === 'string'
    ? hidden(payload)
    : (payload as Plain[]).map((one) => ({ ...one, content: hidden(one.content) }))

describe('what an onStart gate makes of the input is what the model is asked, and what the state has', () => {
  const said = (messages: readonly BaseMessage[] = []) =>
    messages.map(({ id, type, content }) => [id, type, content])

  it('of a message with a picture, which stays', async () => {
    const { agent, asked } = observed(hideIn)
    const content = [{ type: 'text' as const, text: 'Is this ann@shop.test?' }, PICTURE]
    const { messages } = await agent.invoke(
      { messages: [new HumanMessage({ id: 'a', content: content as never })] },
      on,
    )
    const now = [{ type: 'text', text: 'Is this [hidden]?' }, PICTURE]
    expect(said(asked[0])).toEqual([['a', 'human', now]])
    expect(said(messages)).toEqual([
      ['a', 'human', now],
      ['answer-0', 'ai', 'done'],
    ])
  })

  it('of several messages, streamed, and of a conversation that goes on', async () => {
    const { agent, asked } = observed(hideIn)
    const given = [
      new SystemMessage({ id: 'a', content: 'Be brief.' }),
      new HumanMessage({ id: 'b', content: 'I am ann@shop.test.', name: 'ann' }),
    ]
    for await (const _ of await agent.stream({ messages: given }, on)) void _
    expect(said(asked[0])).toEqual([
      ['a', 'system', 'Be brief.'],
      ['b', 'human', 'I am [hidden].'],
    ])
    expect(asked[0]?.[1]).toMatchObject({ name: 'ann' })
    await agent.invoke({ messages: [new HumanMessage({ id: 'c', content: 'Who is ann@shop.test?' })] }, on)
    expect(said(asked[1])).toEqual([
      ['a', 'system', 'Be brief.'],
      ['b', 'human', 'I am [hidden].'],
      ['answer-0', 'ai', 'done'],
      ['c', 'human', 'Who is [hidden]?'],
    ])
  })

  it.each([
    ['took one out', (payload: unknown) => (payload as Plain[]).slice(1)],
    ['said a text instead', () => 'hi'],
  ])('and no model is asked where a gate %s', async (_, change) => {
    const { agent, asked } = observed(change)
    const run = agent.invoke({ messages: [new HumanMessage('a'), new HumanMessage('b')] }, on)
    await expect(run).rejects.toThrow(/An onStart gate added messages/)
    expect(asked).toEqual([])
  })
})
