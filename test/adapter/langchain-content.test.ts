import {
  AIMessage,
  type BaseMessage,
  HumanMessage,
  SystemMessage,
  ToolMessage,
} from '@langchain/core/messages'
import { fakeModel } from '@langchain/core/testing'
import { type Gate, mutate } from 'hookspan/gates'
import { hookspanMiddleware } from 'hookspan/langchain'
import { redact } from 'hookspan/policies'
import { createAgent, tool } from 'langchain'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { dispatcherWith } from '../support/told-events.ts'

const clean = redact({ patterns: { word: /secret/ }, in: ['modelInput'] })
const PICTURE = { type: 'image' as const, url: 'https://x.test/a.png' }

/** What the model is sent of a conversation that gates change. */
async function sent(messages: BaseMessage[], ...gates: Gate[]): Promise<BaseMessage[]> {
  const { dispatcher } = dispatcherWith(...gates)
  let asked: BaseMessage[] = []
  const model = fakeModel().respond((given: BaseMessage[]) => {
    asked = given
    return new AIMessage('done')
  })
  const middleware = [hookspanMiddleware({ dispatcher })]
  await createAgent({ model, tools: [], systemPrompt: 'Help.', middleware }).invoke({ messages })
  return asked
}

const called = (said: object) =>
  new AIMessage({
    id: 'a1',
    content: [{ type: 'thinking', thinking: 'hm', signature: 'Eq8=' }] as never,
    tool_calls: [{ id: '1', name: 't', args: { q: 'secret' } }],
    additional_kwargs: { signatures: { '1': 'CiQB' } },
    usage_metadata: { input_tokens: 1, output_tokens: 2, total_tokens: 3 },
    ...said,
  })

describe('of a message whose text a gate changes at beforeLlmCall', () => {
  it('all else stays, and so do the messages beside it', async () => {
    const [instructions, inner, human, ai, failed, other] = await sent(
      [
        new SystemMessage({ id: 's1', content: 'Be brief.' }),
        new HumanMessage({
          id: 'h1',
          name: 'ann',
          contentBlocks: [{ type: 'text' as const, text: 'secret' }, PICTURE],
        }),
        called({
          response_metadata: { model_provider: 'openai', output: [{ arguments: '{"q":"secret"}' }] },
        }),
        new ToolMessage({
          ...{ id: 't1', tool_call_id: '1', name: 't', status: 'error', artifact: { kept: 1 } },
          content: [{ type: 'text', text: 'no secret' }, PICTURE] as never,
        }),
        new HumanMessage({ id: 'h2', contentBlocks: [PICTURE] }),
      ],
      clean,
    )
    expect(instructions?.text).toBe('Help.')
    expect(inner).toMatchObject({ id: 's1', content: 'Be brief.' })
    expect(human).toMatchObject({
      ...{ id: 'h1', name: 'ann', response_metadata: { output_version: 'v1' } },
      content: [{ type: 'text', text: '[word]' }, PICTURE],
    })
    expect(human?.contentBlocks).toEqual(human?.content)
    expect(ai).toMatchObject({
      ...{
        id: 'a1',
        additional_kwargs: { signatures: { '1': 'CiQB' } },
        usage_metadata: { total_tokens: 3 },
      },
      content: [{ signature: 'Eq8=' }],
      tool_calls: [{ id: '1', name: 't', args: { q: '[word]' } }],
    })
    expect(ai?.response_metadata).toEqual({ model_provider: 'openai' })
    expect(failed).toMatchObject({ id: 't1', status: 'error', artifact: { kept: 1 }, tool_call_id: '1' })
    expect(failed?.content).toEqual([{ type: 'text', text: 'no [word]' }, PICTURE])
    expect(other).toMatchObject({ id: 'h2', content: [PICTURE], response_metadata: { output_version: 'v1' } })
    expect(JSON.stringify([human, ai, failed])).not.toContain('secret')
  })

  it('the rest is found where the gate takes messages away and puts others in', async () => {
    const shorter: Gate = {
      id: 'shorter',
      point: 'beforeLlmCall',
      decide: ({ payload }) => {
        const { messages } = payload as { messages: object[] }
        const [system, , ...later] = messages
        return mutate({ messages: [system, { role: 'user', content: 'Summary.' }, ...later.slice(1)] })
      },
    }
    const messages = await sent(
      [
        new HumanMessage('one'),
        new HumanMessage('two'),
        called({}),
        new ToolMessage({ tool_call_id: '1', status: 'error', content: 'a secret' }),
      ],
      shorter,
      clean,
    )
    expect(messages.map(({ type }) => type)).toEqual(['system', 'human', 'ai', 'tool'])
    expect(messages[1]?.text).toBe('Summary.')
    expect(messages[2]).toMatchObject({ id: 'a1', tool_calls: [{ args: { q: '[word]' } }] })
    expect(messages[3]).toMatchObject({ status: 'error', content: 'a [word]' })
  })
})

it('a result in parts stays in parts where a gate cleans one of them', async () => {
  const look = tool(async () => [{ type: 'text', text: 'no secret' }, PICTURE] as never, {
    name: 'look',
    description: 'Looks.',
    schema: z.object({}),
  })
  const { dispatcher } = dispatcherWith(redact({ patterns: { word: /secret/ }, in: ['toolResult'] }))
  const model = fakeModel()
    .respondWithTools([{ name: 'look', args: {}, id: '1' }])
    .respond(new AIMessage('done'))
  const agent = createAgent({ model, tools: [look], middleware: [hookspanMiddleware({ dispatcher })] })
  const { messages } = await agent.invoke({ messages: [new HumanMessage('Look.')] })
  expect(messages.find(({ type }) => type === 'tool')?.content).toEqual([
    { type: 'text', text: 'no [word]' },
    PICTURE,
  ])
})
