import { AIMessage, HumanMessage } from '@langchain/core/messages'
import { fakeModel } from '@langchain/core/testing'
import { hookspanCallbacks, hookspanMiddleware } from 'hookspan/langchain'
import { mock, mockTools } from 'hookspan/mock'
import { type AgentMiddleware, createAgent, createMiddleware, tool, toolRetryMiddleware } from 'langchain'
import { expect, it, vi } from 'vitest'
import { z } from 'zod'
import { dispatcherWith, find, findAll } from '../support/told-events.ts'

const hi = () => ({ messages: [new HumanMessage('go')] })

/** As deepagents has several: LangChain ends a run whose tool throws, where any middleware wraps tools. */
const wrapping = createMiddleware({ name: 'wrapping', wrapToolCall: (request, handler) => handler(request) })

function failing(times = Number.POSITIVE_INFINITY) {
  const body = vi.fn(({ q }: { q: string }) => {
    if (body.mock.calls.length <= times) throw new Error('broken')
    return `found ${q}`
  })
  return {
    body,
    search: tool(body, { name: 'search', description: 'Searches.', schema: z.object({ q: z.string() }) }),
  }
}

const model = (args: object = { q: 'a' }) =>
  fakeModel()
    .respondWithTools([{ name: 'search', args: args as Record<string, unknown>, id: 'call_0' }])
    .respond(new AIMessage('done'))

type Ended = { readonly said: string | undefined } | { readonly failed: string }

async function run(middleware: readonly AgentMiddleware[], args?: object): Promise<Ended> {
  const { search } = failing()
  const agent = createAgent({ model: model(args), tools: [search], middleware: [...middleware] })
  try {
    const { messages } = await agent.invoke(hi())
    return { said: messages.at(-2)?.text.replace(/\n {4}at .*/g, '') }
  } catch (error) {
    return { failed: `${(error as Error).name}: ${(error as Error).message}` }
  }
}

it.each([
  ['a tool that throws', undefined],
  ['arguments that are wrong', { q: 7 }],
])('%s: with `toolErrors: throw` a run ends as it does without hookspan', async (_what, args) => {
  const { dispatcher, events } = dispatcherWith()
  const ours = hookspanMiddleware({ dispatcher, toolErrors: 'throw' }) as AgentMiddleware
  const bare = await run([wrapping], args)
  expect(bare).toHaveProperty(args === undefined ? 'failed' : 'said')
  expect(await run([ours, wrapping], args)).toEqual(bare)
  expect(await run([wrapping, ours], args)).toEqual(bare)
  expect(findAll(events, 'onToolCallError')).toHaveLength(2)
})

it('a retry before ours tries a tool again that throws, with `toolErrors: throw`', async () => {
  const { dispatcher, events } = dispatcherWith()
  const { body, search } = failing(1)
  const ours = hookspanMiddleware({ dispatcher, toolErrors: 'throw' }) as AgentMiddleware
  const retry = toolRetryMiddleware({ maxRetries: 1, initialDelayMs: 1, jitter: false })
  const agent = createAgent({ model: model(), tools: [search], middleware: [retry, ours] })
  const { messages } = await agent.invoke(hi())
  expect(messages.at(-2)?.text).toBe('found a')
  expect(body).toHaveBeenCalledTimes(2)
  expect(events.map(({ hookType }) => hookType).filter((type) => /ToolCall/.test(type))).toEqual([
    'beforeToolCall',
    'onToolCallError',
    'beforeToolCall',
    'afterToolCall',
  ])
})

it('a mock that throws ends the run as the tool would', async () => {
  const { dispatcher, events } = dispatcherWith()
  const { search, body } = failing()
  const ours = hookspanMiddleware({ dispatcher, toolErrors: 'throw' }) as AgentMiddleware
  const agent = createAgent({ model: model(), tools: [search], middleware: [ours, wrapping] }).withConfig({
    callbacks: [hookspanCallbacks({ dispatcher })],
  })
  using _mocks = mockTools(dispatcher, [mock('search').throws(new Error('sold out'))])
  await expect(agent.invoke(hi())).rejects.toThrow('sold out')
  expect(body).not.toHaveBeenCalled()
  await dispatcher.drain()
  expect(find(events, 'onComplete')).toMatchObject({ reason: 'error' })
})
