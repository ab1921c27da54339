import { setImmediate as turn } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { AIMessage, HumanMessage } from '@langchain/core/messages'
import { fakeModel } from '@langchain/core/testing'
import { type LangGraphRunnableConfig, MessagesAnnotation, StateGraph } from '@langchain/langgraph'
import type { HookDispatcher, HookEvent } from 'hookspan'
import { deny, mutate } from 'hookspan/gates'
import { hookspanCallbacks, hookspanMiddleware } from 'hookspan/langchain'
import { createAgent, tool } from 'langchain'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { all, settled } from '../support/seen-by-caller.ts'
import { dispatcherWith, findAll, gate } from '../support/told-events.ts'
import { bareGraph } from './langchain-graph.ts'

setFlagsFromString('--expose-gc')
const gc = runInNewContext('gc') as () => void

const hi = { messages: [new HumanMessage('go')] }

function script() {
  const schema = z.object({ q: z.string() })
  const search = tool(({ q }) => `found ${q}`, { name: 'search', description: 'Searches.', schema })
  const model = fakeModel()
    .respondWithTools([{ name: 'search', args: { q: 'a' }, id: 'one' }])
    .respond(new AIMessage('done'))
  return { model, search }
}

function agentWith(dispatcher: HookDispatcher) {
  const { model, search } = script()
  return createAgent({ model, tools: [search], middleware: [hookspanMiddleware({ dispatcher })] })
}

type Agent = ReturnType<typeof agentWith>

const WAYS: Readonly<Record<string, (agent: Agent, signal: AbortSignal) => Promise<AsyncIterable<unknown>>>> =
  {
    values: (agent, signal) => agent.stream(hi, { streamMode: 'values', signal }),
    'several modes': (agent, signal) =>
      agent.stream(hi, { streamMode: ['values', 'updates', 'messages'], signal }),
    streamEvents: async (agent, signal) => agent.streamEvents(hi, { version: 'v2', signal }),
  }

describe.each(Object.keys(WAYS))('a run of which %s are read', (way) => {
  // LangGraph goes on for a moment with what it had begun, and with the node behind it.
  it.each([
    ['its reader leaves it', 'the model has asked for a tool', /"search"/],
    ['its reader leaves it', 'the tool has run', /found a/],
    ['it is aborted', 'the model has asked for a tool', /"search"/],
    ['it is aborted', 'the tool has run', /found a/],
  ])('is one run, and over, where %s when %s', async (how, _, when) => {
    const { dispatcher, events } = dispatcherWith()
    const controller = new AbortController()
    const agent = agentWith(dispatcher)
    const read = async () => {
      for await (const part of await (WAYS[way] as (typeof WAYS)[string])(agent, controller.signal)) {
        if (!when.test(JSON.stringify(part))) continue
        if (how === 'its reader leaves it') break
        controller.abort()
      }
    }
    await read().catch(() => {})
    for (let turns = 0; turns < 20; turns++) await turn()
    await settled(dispatcher)
    await dispatcher.drain()
    expect(findAll(events, 'onComplete').map(({ reason }) => reason)).toEqual(['interrupted'])
    expect(new Set(events.map(({ operationId }) => operationId)).size).toBe(1)
  })
})

describe('a bare graph whose run is read as a stream', () => {
  function graphWith(dispatcher: HookDispatcher) {
    const { model, search } = script()
    return bareGraph(model, search)
      .compile()
      .withConfig({ callbacks: [hookspanCallbacks({ dispatcher })] })
  }

  it('is interrupted, and has not failed, when it is aborted or left in the middle', async () => {
    const { dispatcher, events } = dispatcherWith()
    for (const left of [true, false]) {
      const controller = new AbortController()
      const read = async () => {
        const { signal } = controller
        for await (const part of await graphWith(dispatcher).stream(hi, { streamMode: 'values', signal })) {
          if (!/"search"/.test(JSON.stringify(part))) continue
          if (left) break
          controller.abort(new Error('enough'))
        }
      }
      if (left) await read()
      else await expect(read()).rejects.toThrow('enough')
      await settled(dispatcher)
    }
    await dispatcher.drain()
    expect(findAll(events, 'onComplete').map(({ reason }) => reason)).toEqual(['interrupted', 'interrupted'])
  })

  it('is over once nothing is left of it, where LangGraph tells nobody of its end', async () => {
    const { dispatcher, events } = dispatcherWith()
    const says = (_: unknown, { writer }: LangGraphRunnableConfig) => {
      for (let i = 0; i < 100; i++) writer?.(i)
      return {}
    }
    const graph = new StateGraph(MessagesAnnotation)
      .addNode('says', says)
      .addEdge('__start__', 'says')
      .compile()
    const callbacks = [hookspanCallbacks({ dispatcher })]
    const read = async () => {
      for await (const _ of await graph.stream(hi, { streamMode: 'custom', callbacks })) break
    }
    await read()
    await expect
      .poll(
        () => {
          gc()
          return dispatcher.stats().operations
        },
        { timeout: 60_000, interval: 50 },
      )
      .toBe(0)
    await dispatcher.drain()
    expect(findAll(events, 'onComplete')).toMatchObject([{ reason: 'interrupted', abandoned: true }])
  })
})

it.each([
  ['v1', true, true],
  ['v2', true, true],
  ['v3', false, true],
])(
  'streamEvents %s shows a reply before a gate decides: %s, and what a tool gave: %s',
  async (version, reply, result) => {
    const { dispatcher } = dispatcherWith(
      gate('afterLlmCall', ({ payload }) => mutate({ ...(payload as object), content: 'reworded' })),
      gate('afterToolCall', () => deny('withheld')),
    )
    const toolCalls = [{ name: 'search', args: { q: 'a' }, id: 'one', type: 'tool_call' as const }]
    const model = fakeModel()
      .respond(new AIMessage({ content: 'the secret', tool_calls: toolCalls }))
      .respond(new AIMessage('the secret'))
    const { search } = script()
    const agent = createAgent({ model, tools: [search], middleware: [hookspanMiddleware({ dispatcher })] })
    const seen = JSON.stringify(await all(await agent.streamEvents(hi, { version: version as 'v2' })))
    expect(seen).toContain('reworded')
    expect([seen.includes('the secret'), seen.includes('found a')]).toEqual([reply, result])
  },
)

it('a tool that is mocked is in the streams by its message, and does not begin', async () => {
  const { dispatcher } = dispatcherWith()
  const handler = (event: HookEvent<'beforeToolCall'>) => event.mock({ content: 'mocked' })
  dispatcher.use({ name: 'mocks', hooks: [{ id: 'mocks', type: 'beforeToolCall', handler }] })
  const parts = async (streamMode: 'messages' | 'tools') => {
    const read = []
    for await (const part of await agentWith(dispatcher).stream(hi, { streamMode })) read.push(part)
    return JSON.stringify(read)
  }
  expect(await parts('messages')).toContain('"content":"mocked"')
  expect(await parts('tools')).toBe('[]')
  const begun = []
  for await (const { event } of agentWith(dispatcher).streamEvents(hi, { version: 'v2' })) begun.push(event)
  expect(begun.filter((event) => event.startsWith('on_tool'))).toEqual([])
})
