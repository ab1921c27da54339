/** A signal of the caller's that outlives many calls: each call lets go of it when it is over. */
import { getEventListeners } from 'node:events'
import { HookDispatcher } from 'hookspan'
import { observeMcpClient } from 'hookspan/mcp'
import { describe, expect, it } from 'vitest'
import { all } from '../support/seen-by-caller.ts'
import { observed } from './google-client.ts'
import { SDKS } from './subjects/mcp.ts'

const listeners = (signal: AbortSignal) => getEventListeners(signal, 'abort').length
const model = 'gemini-3.8-flash'

type Ai = ReturnType<typeof observed>['ai']
const USES: readonly (readonly [
  name: string,
  use: (ai: Ai, abortSignal: AbortSignal) => Promise<unknown>,
])[] = [
  [
    'generateContent',
    (ai, abortSignal) => ai.models.generateContent({ model, contents: 'hi', config: { abortSignal } }),
  ],
  [
    'generateContentStream',
    async (ai, abortSignal) =>
      all(await ai.models.generateContentStream({ model, contents: 'hi', config: { abortSignal } })),
  ],
  [
    'a stream that is left',
    async (ai, abortSignal) => {
      for await (const _ of await ai.models.generateContentStream({
        model,
        contents: 'hi',
        config: { abortSignal },
      }))
        return
    },
  ],
  ['interactions.create', (ai, signal) => ai.interactions.create({ model, input: 'hi' }, { signal })],
  [
    'a stream of one',
    async (ai, signal) =>
      all((await ai.interactions.create({ model, input: 'hi', stream: true }, { signal })) as never),
  ],
]

describe('of Google', () => {
  it.each(USES)('%s', async (_name, use) => {
    const { ai, dispatcher } = observed({ content: 'hi' })
    const { signal } = new AbortController()
    const run = new AbortController()
    const op = dispatcher.startOperation({ signal: run.signal })
    const before = listeners(run.signal)

    await op.run(() => use(ai, signal))

    expect([listeners(signal), listeners(run.signal) - before]).toEqual([0, 0])
    await op.complete()
  })
})

it.each(Object.keys(SDKS) as unknown as (keyof typeof SDKS)[])('of MCP, version %s', async (version) => {
  const { Client, McpServer, InMemoryTransport } = SDKS[version]
  const server = new McpServer({ name: 'shop', version: '1' })
  server.registerTool('count', {}, async () => ({ content: [{ type: 'text', text: '3' }] }))
  const [left, right] = InMemoryTransport.createLinkedPair()
  await server.connect(left)
  const client = new Client({ name: 'agent', version: '1' })
  await client.connect(right)
  const dispatcher = new HookDispatcher()
  observeMcpClient(client, { dispatcher })
  const { signal } = new AbortController()
  const own = { timeout: 60_000, signal }
  const params = { name: 'count', arguments: {} }

  const call = client.callTool as (...args: unknown[]) => Promise<unknown>
  await (version === '1' ? call(params, undefined, own) : call(params, own))

  expect(listeners(signal)).toBe(0)
  await client.close()
})
