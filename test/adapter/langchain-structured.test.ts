import { AIMessage, HumanMessage } from '@langchain/core/messages'
import { fakeModel } from '@langchain/core/testing'
import { deny, type Gate, mutate, skip } from 'hookspan/gates'
import { hookspanMiddleware } from 'hookspan/langchain'
import { createAgent, providerStrategy, toolStrategy } from 'langchain'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { dispatcherWith, findAll, gate } from '../support/told-events.ts'

const Person = z.object({ name: z.string(), mail: z.string() })
const ann = { name: 'Ann', mail: 'ann@shop.test' }

const strategies = {
  'a tool': (toolMessageContent?: string) => {
    const format = toolStrategy(Person, toolMessageContent === undefined ? {} : { toolMessageContent })
    const name = (format as unknown as { name: string }[])[0]?.name ?? ''
    const calls = [{ id: 'c1', name, args: ann, type: 'tool_call' as const }]
    return { format, said: new AIMessage({ content: '', tool_calls: calls, id: 'm1' }) }
  },
  'the provider': () => ({
    format: providerStrategy(Person),
    said: new AIMessage({ content: JSON.stringify(ann), id: 'm1' }),
  }),
}

async function answered(
  { format, said }: ReturnType<(typeof strategies)['a tool' | 'the provider']>,
  ...gates: Gate[]
) {
  const { dispatcher, events } = dispatcherWith(...gates)
  const middleware = [hookspanMiddleware({ dispatcher })]
  const model = fakeModel().respond(said)
  const agent = createAgent({ model, tools: [], middleware, responseFormat: format as never })
  const { messages, structuredResponse } = (await agent.invoke({
    messages: [new HumanMessage('Who?')],
  })) as unknown as { messages: AIMessage[]; structuredResponse: unknown }
  await dispatcher.drain()
  const [ended] = findAll(events, 'onComplete')
  return { structuredResponse, messages: messages.slice(1), ended }
}

/** Of a reply, wherever in it they are. */
const cleaned = gate('afterLlmCall', ({ payload }) =>
  mutate(JSON.parse(JSON.stringify(payload).replaceAll('ann@shop.test', '[mail]'))),
)

const names = Object.keys(strategies) as (keyof typeof strategies)[]

describe.each(names)('a structured answer by %s', (name) => {
  const made = () => strategies[name]()

  it('is there where a gate changes nothing of it, though it gives the reply anew', async () => {
    const bare = await answered(made())
    expect(bare.structuredResponse).toEqual(ann)
    const same = await answered(
      made(),
      gate('afterLlmCall', ({ payload }) => mutate({ ...(payload as object), reasoning: 'Ann it is.' })),
    )
    expect(same.structuredResponse).toEqual(ann)
    expect(same.messages.map(({ type }) => type)).toEqual(bare.messages.map(({ type }) => type))
  })

  it('is what a gate makes of it, and the messages that repeat it are so, too', async () => {
    const { structuredResponse, messages, ended } = await answered(made(), cleaned)
    expect(structuredResponse).toEqual({ name: 'Ann', mail: '[mail]' })
    expect(JSON.stringify([messages, ended])).not.toContain('ann@shop.test')
    expect(ended).toMatchObject({ reason: 'done' })
  })

  it('is none where a gate refuses the reply, or says something else in its place', async () => {
    for (const decide of [
      () => deny('not now'),
      () => skip('not now'),
      () => mutate({ content: 'not now' }),
    ]) {
      const { structuredResponse, messages } = await answered(made(), gate('afterLlmCall', decide))
      expect(structuredResponse).toBeUndefined()
      expect(messages.map(({ text }) => text)).toEqual(['not now'])
    }
  })
})

it('what the user has a structured answer be told by stays where a gate changes that', async () => {
  const { messages } = await answered(strategies['a tool']('Noted.'), cleaned)
  expect(messages.at(-1)?.text).toBe('Noted.')
  expect(JSON.stringify(messages)).not.toContain('ann@shop.test')
})
