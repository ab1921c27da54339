import Anthropic from '@anthropic-ai/sdk'
import { HookDispatcher, type HookEvent } from 'hookspan'
import { observeAnthropic, unobserveAnthropic } from 'hookspan/anthropic'
import { deny, mutate } from 'hookspan/gates'
import { mock, mockTools } from 'hookspan/mock'
import { toolPolicy } from 'hookspan/policies'
import { afterEach, expect, it, vi } from 'vitest'
import { activityTree } from '../support/activity-tree.ts'

afterEach(() => void vi.restoreAllMocks())

interface Posted {
  readonly tool_use_id: string
  readonly content: readonly { readonly text: string }[]
  readonly is_error?: boolean
}

/** A session of Anthropic's that asks for tools, and ends once it has the answers. */
function sessionAsking(...calls: [name: string, input: object][]) {
  const posted: Posted[] = []
  const now = { processed_at: '2026-11-26T00:00:00Z' }
  const asked = calls.map(([name, input], at) => {
    return { type: 'agent.tool_use', id: `use_${at}`, name, input, evaluated_permission: 'allow', ...now }
  })
  const answered = Promise.withResolvers<void>()
  const fetch = async (url: unknown, init?: { method?: string; body?: unknown }) => {
    const { pathname } = new URL(String(url))
    if (pathname.endsWith('/heartbeat'))
      return Response.json({ lease_extended: true, ttl_seconds: 60, state: 'active', last_heartbeat: 't' })
    if (pathname.endsWith('/sessions/session_1'))
      return Response.json({ id: 'session_1', status: 'running', agent: { skills: [] }, resources: [] })
    if (init?.method === 'POST' && !pathname.endsWith('/events')) return Response.json({})
    if (init?.method === 'POST') {
      posted.push(...(JSON.parse(String(init.body)) as { events: Posted[] }).events)
      if (posted.length >= asked.length) answered.resolve()
      return Response.json({ data: [] })
    }
    if (!pathname.endsWith('/stream')) return Response.json({ data: [], has_more: false, next_page: null })
    const body = new ReadableStream({
      async start(controller) {
        const tell = (event: { type: string }) =>
          controller.enqueue(
            new TextEncoder().encode(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`),
          )
        for (const event of asked) tell(event)
        await answered.promise
        tell({ type: 'session.status_terminated', id: 'end', ...now } as never)
        controller.close()
      },
    })
    return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
  }
  const client = new Anthropic({ apiKey: 'k', fetch: fetch as typeof globalThis.fetch, maxRetries: 0 })
  return { client, posted }
}

const tool = (name: string, run: (args: never) => unknown, more: object = {}) => ({
  type: 'custom' as const,
  name,
  description: name,
  input_schema: { type: 'object' as const },
  run: run as () => string,
  parse: (input: unknown) => input as never,
  ...more,
})

function observing(client: Anthropic) {
  const dispatcher = new HookDispatcher()
  const tree = activityTree()
  dispatcher.use(tree.plugin)
  const told: HookEvent<'afterToolCall'>[] = []
  const handler = (event: HookEvent<'afterToolCall'>) => void told.push(event)
  dispatcher.use({ name: 'see', hooks: [{ id: 'see', type: 'afterToolCall', handler }] })
  observeAnthropic(client, { dispatcher, agentName: 'worker' })
  return { dispatcher, tree, told }
}

const textOf = ({ content, is_error }: Posted) => `${is_error ? 'error: ' : ''}${content[0]?.text}`
const CALLS: [string, object][] = [
  ['find', { q: 'bags' }],
  ['wipe', { what: 'all' }],
  ['fail', {}],
]

async function drive(client: Anthropic, closed: string[] = []): Promise<string[]> {
  const close = () => void closed.push('closed')
  const tools = [
    tool('find', ({ q }: { q: string }) => `found ${q}`, { close }),
    tool('wipe', ({ what }: { what: string }) => `${what} is wiped`),
    tool('fail', () => {
      throw new TypeError('broken')
    }),
  ]
  const names: string[] = []
  for await (const call of client.beta.sessions.events.toolRunner('session_1', { tools }))
    names.push(`${call.name} ${call.toolUseId} ${call.isError} ${call.posted}`)
  return names
}

it('makes tools that a session has run here tool calls of a run, and shows the session the same', async () => {
  const bare = sessionAsking(...CALLS)
  const session = sessionAsking(...CALLS)
  const { tree, told, dispatcher } = observing(session.client)
  const closed: string[] = []

  expect((await drive(session.client, closed)).sort()).toEqual((await drive(bare.client)).sort())

  const byId = (posted: Posted[]) => posted.toSorted((a, b) => a.tool_use_id.localeCompare(b.tool_use_id))
  expect(byId(session.posted)).toEqual(byId(bare.posted))
  expect(closed).toEqual(['closed'])
  const lines = ['find', 'wipe', 'fail (error)'].map((name) => `  execute_tool ${name}`)
  expect(tree.lines().sort()).toEqual(['invoke_agent worker', ...lines].sort())
  expect(told[0]).toMatchObject({ conversationId: 'session_1', toolCallId: 'use_0', args: { q: 'bags' } })
  await dispatcher.drain()
  expect(dispatcher.stats().operations).toBe(0)
})

it('lets gates and mocks decide on them', async () => {
  const { client, posted } = sessionAsking(...CALLS, ['find', { q: 'hats' }])
  const { dispatcher } = observing(client)
  const point = 'beforeToolCall'
  const decide = ({ payload }: { payload: unknown }) =>
    (payload as { q?: string }).q === 'hats' ? mutate({ q: 'caps' }) : undefined
  dispatcher.use({ name: 'careful', gates: [toolPolicy({ deny: ['wipe'] }), { id: 'caps', point, decide }] })
  mockTools(dispatcher, [mock('fail').returns('mocked')], { onUnmocked: 'passthrough' })

  await drive(client)

  const texts = Object.fromEntries(posted.map((one) => [one.tool_use_id, textOf(one)]))
  expect(texts).toMatchObject({ use_0: 'found bags', use_2: 'mocked', use_3: 'found caps' })
  expect(texts.use_1).toMatch(/^error: \{"denied":true/)
})

it('runs no tool where a gate is to decide on model calls, which are made elsewhere', async () => {
  const { client, posted } = sessionAsking(['wipe', { what: 'all' }])
  const { dispatcher } = observing(client)
  dispatcher.use({ name: 'p', gates: [{ id: 'words', point: 'afterLlmCall', decide: () => deny('no') }] })
  await drive(client)
  expect(posted.map(textOf)).toEqual([expect.stringMatching(/^error: .*`decideLlmCalls`/)])
})

it.each(['a list', 'a function'])('does so for the tools of a worker, given as %s', async (kind) => {
  const { client, posted } = sessionAsking(['find', { q: 'bags' }], ['wipe', { what: 'all' }])
  const { dispatcher, told, tree } = observing(client)
  dispatcher.use({ name: 'careful', gates: [toolPolicy({ deny: ['wipe'] })] })
  const ran: string[] = []
  const tools = ['find', 'wipe'].map((name) => tool(name, () => `${name} ${ran.push(name)}`))
  const worker = client.beta.environments.work.worker({
    environmentId: 'env_1',
    environmentKey: 'k',
    memorySyncIntervalMs: null,
    tools: kind === 'a list' ? tools : () => tools,
  })

  await worker.handleItem({ workId: 'work_1', environmentId: 'env_1', sessionId: 'session_1' })

  expect(ran).toEqual(['find'])
  expect(posted.map(textOf).sort()).toEqual([expect.stringMatching(/^error: .*denied/), 'find 1'])
  expect(told.map(({ conversationId }) => conversationId)).toEqual(['session_1', 'session_1'])
  expect(tree.lines()[0]).toBe('invoke_agent worker')
  await dispatcher.drain()
  expect(dispatcher.stats().operations).toBe(0)
})

it('refuses a worker that takes tools by itself where a gate is to decide, and tells of it elsewhere', () => {
  const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
  const { client } = sessionAsking()
  const { dispatcher } = observing(client)
  const make = () => client.beta.environments.work.worker({ environmentId: 'e', environmentKey: 'k' })
  expect(make().tools).toBeUndefined()
  expect(warn.mock.calls.join()).toContain('tools: betaAgentToolset20260401')
  dispatcher.use({ name: 'careful', gates: [toolPolicy({ deny: ['bash'] })] })
  expect(make).toThrow(expect.objectContaining({ code: 'NOT_CAPABLE' }))
  unobserveAnthropic(client)
  expect(make().tools).toBeUndefined()
})
