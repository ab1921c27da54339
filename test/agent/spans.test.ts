import { createServer } from 'node:http'
import { SpanStatusCode } from '@opentelemetry/api'
import { execAgent } from 'hookspan/agent'
import { observeOpenAI } from 'hookspan/openai'
import OpenAI from 'openai'
import { afterEach, expect, it } from 'vitest'
import { scripted, usage } from '../support/scripted-client.ts'
import { traced } from '../support/span-tree.ts'

let setup: ReturnType<typeof traced>
afterEach(() => setup[Symbol.dispose]())

it('an agent run is one trace, its sub-agent below the tool call that asked for it', async () => {
  setup = traced()
  const { promise: expertAnswered, resolve } = Promise.withResolvers<void>()
  const answered = { id: 'answered', type: 'afterCallAgent', handler: () => resolve() } as const
  setup.dispatcher.use({ name: 'order', hooks: [answered] })
  const { client } = scripted([
    { toolCalls: [{ name: 'expert', arguments: { instruction: 'x' } }, { name: 'look' }], usage },
    { content: 'I know.', usage },
    { content: 'Done.', usage },
  ])
  await execAgent({
    agent: {
      name: 'boss',
      model: 'gpt-4o',
      stream: true,
      // Waits, so that the script's answers go to whom they are for.
      tools: [{ name: 'look', execute: () => expertAnswered }],
      subAgents: [{ name: 'expert', model: 'gpt-4o-mini' }],
    },
    prompt: 'go',
    client,
    dispatcher: setup.dispatcher,
  })
  expect(setup.tree().split('\n')).toEqual([
    'invoke_agent boss',
    '  step 0',
    '    chat gpt-4o',
    '    execute_tool expert',
    '      invoke_agent expert',
    '        step 0',
    '          chat gpt-4o-mini',
    '    execute_tool look',
    '  step 1',
    '    chat gpt-4o',
  ])
  expect(setup.span('chat gpt-4o').attributes).toMatchObject({
    'gen_ai.usage.input_tokens': 100,
    'gen_ai.usage.output_tokens': 10,
    'server.address': 'api.openai.com',
  })
  const statuses = setup.spans().map((span) => span.status.code)
  expect(new Set(statuses)).toEqual(new Set([SpanStatusCode.UNSET]))
})

it('what the request of an observed client traces becomes a child of its chat span', async () => {
  setup = traced()
  const { dispatcher, tracer } = setup
  const { fetch: answer } = scripted([{ content: 'hi', usage }])
  const fetch: typeof globalThis.fetch = (...args) =>
    tracer.startActiveSpan('POST', (span) => answer(...args).finally(() => span.end()))
  const client = observeOpenAI(new OpenAI({ apiKey: 'k', fetch }), { dispatcher })
  const op = dispatcher.startOperation({ agentName: 'loop' })
  await op.step(() => client.chat.completions.create({ model: 'gpt-4o', messages: [] }))
  await op.complete()
  expect(setup.tree().split('\n')).toEqual(['invoke_agent loop', '  step 0', '    chat gpt-4o', '      POST'])
})

it('a stream that broke off is no error, a server that fails is one', async () => {
  setup = traced()
  const server = createServer((_request, response) => response.writeHead(500).end('{}'))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  const { dispatcher } = setup
  const failing = new OpenAI({ apiKey: 'k', baseURL: `http://127.0.0.1:${port}/v1`, maxRetries: 0 })
  const { client } = scripted([{ content: 'one two three four' }])
  const ask = { messages: [], stream: true as const }
  const op = dispatcher.startOperation({ agentName: 'loop' })
  await op.run(async () => {
    const broken = observeOpenAI(failing, { dispatcher }).chat.completions.create({ ...ask, model: 'broken' })
    await expect(broken).rejects.toMatchObject({ status: 500 })
    const stream = await observeOpenAI(client, { dispatcher }).chat.completions.create({
      ...ask,
      model: 'left',
    })
    for await (const _chunk of stream) break
  })
  await op.complete()
  server.close()

  expect(setup.span('chat broken')).toMatchObject({
    status: { code: SpanStatusCode.ERROR },
    attributes: { 'error.type': '500', 'server.address': '127.0.0.1', 'server.port': port },
  })
  expect(setup.span('chat left').status.code).toBe(SpanStatusCode.UNSET)
})
