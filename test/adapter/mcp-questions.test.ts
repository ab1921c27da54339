import { AsyncLocalStorage } from 'node:async_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import type { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js'
import {
  CallToolResultSchema,
  CreateMessageRequestSchema,
  ElicitRequestSchema,
} from '@modelcontextprotocol/sdk/types.js'
import { createMcpHandler, fromJsonSchema, inputRequired, McpServer } from '@modelcontextprotocol/server'
import { HookDispatcher } from 'hookspan'
import { observeMcpClient, observeMcpServer } from 'hookspan/mcp'
import { redact, toolPolicy } from 'hookspan/policies'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { traced } from '../support/span-tree.ts'
import { SDKS } from './subjects/mcp.ts'

/** Where nothing runs inside of a call, as in what reads the output of a process. */
const outside = AsyncLocalStorage.snapshot()

const text = (value: string) => ({ content: [{ type: 'text' as const, text: value }] })
const requestedSchema = { type: 'object' as const, properties: {} }

describe.each(['1', '2'] as const)('what a server asks, version %s of the MCP SDK', (version) => {
  const { Client, McpServer, InMemoryTransport } = SDKS[version]

  /** A client that gives the first who asks their answer last. */
  async function connected({ isLost = false } = {}) {
    const server = new McpServer({ name: 'shop', version: '1.0.0' })
    const inputSchema = z.object({ q: z.string() })
    const ran: string[] = []
    server.registerTool('asks', { inputSchema }, async ({ q }) => {
      ran.push(q)
      const { action } = await server.server.elicitInput({ message: q, requestedSchema })
      return text(action)
    })
    server.registerTool('thinks', { inputSchema }, async ({ q }) => {
      const said = { type: 'text' as const, text: q }
      const asked = { systemPrompt: 'Ask ann@shop.example.', maxTokens: 9 }
      const reply = await server.server.createMessage({
        ...asked,
        messages: [{ role: 'user', content: said }],
      })
      return text(JSON.stringify(reply))
    })
    const client = new Client(
      { name: 'test', version: '1.0.0' },
      { capabilities: { elicitation: { form: {} }, sampling: {} } },
    )
    let left = 0
    let during: () => Promise<unknown> = async () => {}
    const elicited = async () => {
      left += 1
      await sleep(left === 1 ? 40 : 10)
      await during()
      return { action: 'accept' as const, content: {} }
    }
    const sampled: Record<string, unknown>[] = []
    const picture = { type: 'image' as const, data: 'aGk=', mimeType: 'image/png' }
    const thought = async ({ params }: { params?: Record<string, unknown> }) => {
      sampled.push(params ?? {})
      return { role: 'assistant' as const, model: 'small-model', content: picture }
    }
    if (version === '1') {
      const first = client as unknown as Client1
      first.setRequestHandler(ElicitRequestSchema, elicited)
      first.setRequestHandler(CreateMessageRequestSchema, thought)
    } else {
      client.setRequestHandler('elicitation/create', elicited)
      client.setRequestHandler('sampling/createMessage', thought)
    }
    const [a, b] = InMemoryTransport.createLinkedPair()
    if (isLost) {
      const send = a.send.bind(a)
      a.send = (message, options) => outside(() => send(message, options))
    }
    await Promise.all([server.connect(a), client.connect(b)])
    return { client, server, ran, sampled, meanwhile: (does: typeof during) => (during = does) }
  }

  const ASKED_BY_TWO = [
    ['one', 'one'],
    ['two', 'two'],
  ]

  it.each([
    ['by the code that reads it', { isLost: false, serverToo: false }],
    ['by its trace, where that says nothing', { isLost: true, serverToo: true }],
  ])('belongs to the call it is asked during, of several at once: %s', async (_name, how) => {
    using setup = traced({ captureContent: true })
    const { dispatcher } = setup
    const { client, server } = await connected(how)
    observeMcpClient(client, { dispatcher, agentName: 'agent' })
    if (how.serverToo) observeMcpServer(server, { dispatcher })
    await Promise.all(['one', 'two'].map((q) => client.callTool({ name: 'asks', arguments: { q } })))
    const spans = setup.spans()
    const asked = spans.flatMap((span) => {
      const above = spans.find((other) => other.spanContext().spanId === span.parentSpanContext?.spanId)
      const isOurs = spans.some(
        (agent) =>
          agent.name === 'invoke_agent agent' &&
          agent.spanContext().spanId === above?.parentSpanContext?.spanId,
      )
      if (span.name !== 'human_intervention' || !isOurs) return []
      expect(span.status.code).not.toBe(2)
      const args = JSON.parse(String(above?.attributes['gen_ai.tool.call.arguments'])) as { q: string }
      return [[span.attributes['hookspan.human.instructions'], args.q]]
    })
    expect(asked.sort()).toEqual(ASKED_BY_TWO)
    await client.close()
  })

  it('may be answered by another call of the same tool, which is decided on', async () => {
    using setup = traced()
    const { dispatcher } = setup
    const { client, ran, meanwhile } = await connected()
    dispatcher.use({
      name: 'careful',
      gates: [toolPolicy({ denyArguments: { q: '^again$' } })],
    })
    observeMcpClient(client, { dispatcher })
    let answer: unknown
    meanwhile(async () => {
      const asked = { method: 'tools/call' as const, params: { name: 'asks', arguments: { q: 'again' } } }
      answer = await (client as unknown as Client1).request(asked, CallToolResultSchema)
    })
    await client.callTool({ name: 'asks', arguments: { q: 'once' } })
    expect(ran).toEqual(['once'])
    expect(answer).toMatchObject({ isError: true })
    await client.close()
  })

  it('of a model is told with all that is said, and redact() holds on all of it', async () => {
    using setup = traced({ captureContent: true })
    const { dispatcher } = setup
    dispatcher.use({ name: 'discreet', gates: [redact({ kinds: ['email'], in: ['modelInput'] })] })
    const { client, sampled } = await connected()
    observeMcpClient(client, { dispatcher })
    await client.callTool({ name: 'thinks', arguments: { q: 'Who is bob@shop.example?' } })
    expect(sampled).toMatchObject([
      {
        systemPrompt: 'Ask [email].',
        messages: [{ role: 'user', content: { type: 'text', text: 'Who is [email]?' } }],
      },
    ])
    const { attributes } = setup.span('chat unknown')
    const told = (name: string) => JSON.parse(String(attributes[name]))
    expect(told('gen_ai.system_instructions')).toEqual([{ type: 'text', content: 'Ask [email].' }])
    expect(told('gen_ai.input.messages')).toEqual([
      { role: 'user', parts: [{ type: 'text', content: 'Who is [email]?' }] },
    ])
    expect(attributes['gen_ai.request.max_tokens']).toBe(9)
    expect(told('gen_ai.output.messages')).toMatchObject([
      { parts: [{ type: 'blob', modality: 'image', mime_type: 'image/png', content: 'aGk=' }] },
    ])
    await client.close()
  })
})

it('a question that a server of 2026-07-28 gives as its result stays one where a gate changes its words', async () => {
  const dispatcher = new HookDispatcher()
  dispatcher.use({ name: 'discreet', gates: [redact({ kinds: ['email'], in: ['toolResult'] })] })
  const handler = createMcpHandler(() => {
    const server = new McpServer({ name: 'shop', version: '1.0.0' })
    server.registerTool('asks', {}, async ({ mcpReq }) => {
      const { ok } = mcpReq.inputResponses ?? {}
      if (ok !== undefined) return text(JSON.stringify(ok))
      return inputRequired({
        inputRequests: { ok: inputRequired.elicit({ message: 'Mail bob@shop.example?', requestedSchema }) },
      })
    })
    return observeMcpServer(server, { dispatcher })
  })
  const client = new Client(
    { name: 'test', version: '1.0.0' },
    { capabilities: { elicitation: { form: {} } }, versionNegotiation: { mode: 'auto' } },
  )
  const asked: unknown[] = []
  client.setRequestHandler('elicitation/create', async ({ params }) => {
    asked.push(params.message)
    return { action: 'accept', content: {} }
  })
  const fetch = async (url: string | URL, init?: RequestInit) => handler.fetch(new Request(url, init))
  await client.connect(new StreamableHTTPClientTransport(new URL('http://shop.example/mcp'), { fetch }))
  expect(await client.callTool({ name: 'asks' })).toMatchObject(text('{"action":"accept","content":{}}'))
  expect(asked).toEqual(['Mail [email]?'])
  await client.close()
})

it('a call that the client sends again, with headers that the server wants, is one call', async () => {
  const dispatcher = new HookDispatcher()
  const asked: unknown[] = []
  dispatcher.use({
    name: 'careful',
    gates: [{ id: 'asked', point: 'beforeToolCall', decide: ({ payload }) => void asked.push(payload) }],
  })
  const region = { type: 'string', 'x-mcp-header': 'Region' }
  const inputSchema = fromJsonSchema<{ region: string }>({ type: 'object', properties: { region } })
  const handler = createMcpHandler(() => {
    const server = new McpServer({ name: 'shop', version: '1.0.0' })
    server.registerTool('find', { inputSchema }, async (args) => text(args.region))
    return server
  })
  const client = new Client({ name: 'test', version: '1.0.0' }, { versionNegotiation: { mode: 'auto' } })
  const sent: (string | null)[] = []
  const fetch = async (url: string | URL, init?: RequestInit) => {
    const request = new Request(url, init)
    if (request.headers.get('mcp-method') === 'tools/call') sent.push(request.headers.get('mcp-param-region'))
    return handler.fetch(request)
  }
  await client.connect(new StreamableHTTPClientTransport(new URL('http://shop.example/mcp'), { fetch }))
  observeMcpClient(client, { dispatcher })
  expect(await client.callTool({ name: 'find', arguments: { region: 'eu' } })).toMatchObject(text('eu'))
  expect(sent).toEqual([null, 'eu'])
  expect(asked).toEqual([{ region: 'eu' }])
  await client.close()
})
