import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { InMemorySpanExporter } from '@opentelemetry/sdk-trace'
import { HookDispatcher } from 'hookspan'
import { startTracing, traceHooks } from 'hookspan/tracing'
import { expect, it } from 'vitest'
import manifest from '../../package.json' with { type: 'json' }
import { traced } from '../support/span-tree.ts'

// What the judges of the ecosystem looked for: issue 13, point 7.

const reply = {
  model: 'm-1',
  choices: [{ message: { role: 'assistant', content: 'Hi.' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 11, completion_tokens: 5 },
}

async function runOf(dispatcher: HookDispatcher) {
  const operation = dispatcher.startOperation({ agentName: 'support' })
  await operation.step((step) =>
    step.llmCall({ model: 'm', request: { messages: [{ role: 'user', content: 'Hello' }] } }, () => reply),
  )
  await operation.complete()
}

it('says who speaks: process, host, SDK and hookspan, with version and schema of the scope', async () => {
  const exporter = new InMemorySpanExporter()
  const tracing = startTracing({ exporter, flushOnExit: false, semconv: 'latest' })
  const dispatcher = new HookDispatcher()
  dispatcher.use(tracing)
  await runOf(dispatcher)
  await tracing.forceFlush()
  const [span] = exporter.getFinishedSpans()
  await tracing.shutdown()
  expect(span?.resource.attributes).toMatchObject({
    'process.pid': process.pid,
    'process.runtime.version': process.versions.node,
    'host.name': expect.stringMatching(/./),
    'telemetry.sdk.name': 'opentelemetry',
    'telemetry.distro.name': 'hookspan',
    'telemetry.distro.version': manifest.version,
  })
  expect(span?.instrumentationScope).toMatchObject({
    name: 'hookspan',
    version: manifest.version,
    schemaUrl: 'https://opentelemetry.io/schemas/gen-ai-dev/1.42.0-dev',
  })
})

it('tells where an error was thrown, and of its message only what redact lets through', async () => {
  using setup = traced({ redact: (value) => String(value).replaceAll('4111', '****') })
  const operation = setup.dispatcher.startOperation({ agentName: 'support' })
  const outcome = await operation.step((step) =>
    step.toolCall({ apiName: 'pay', args: {} }, () => {
      throw new RangeError('card 4111 refused')
    }),
  )
  expect(outcome.state).toBe('errored')
  await operation.complete()
  const [event] = setup.span('execute_tool pay').events
  expect(event).toMatchObject({
    name: 'exception',
    attributes: { 'exception.type': 'RangeError', 'exception.message': 'card **** refused' },
  })
  const stack = String(event?.attributes?.['exception.stacktrace'])
  expect(stack).toMatch(/^RangeError: card \*\*\*\* refused\n +at .*judges\.test\.ts/)
  expect(stack).not.toContain('4111')
})

it('names the provider and the server of a remote agent', async () => {
  using setup = traced()
  const operation = setup.dispatcher.startOperation({ agentName: 'support' })
  const server = { provider: 'aws.bedrock', serverAddress: 'agents.test', serverPort: 8443 }
  await operation.callAgent({ agentName: 'far', instruction: 'go', remote: true, ...server }, () => 'done')
  await operation.callAgent({ agentName: 'unnamed', instruction: 'go', remote: true }, () => 'done')
  await operation.complete()
  expect(setup.span('invoke_agent far').attributes).toMatchObject({
    'gen_ai.provider.name': 'aws.bedrock',
    'server.address': 'agents.test',
    'server.port': 8443,
  })
  expect(setup.span('invoke_agent unnamed').attributes['gen_ai.provider.name']).toBe('hookspan')
  expect(setup.span('invoke_agent support').attributes['gen_ai.response.finish_reasons']).toEqual(['stop'])
})

it('gives cost and the first chunk the names that backends read, and leaves them out of the newest text', async () => {
  async function* stream() {
    yield { model: 'm-1', choices: [{ index: 0, delta: { content: 'Hi' } }] }
    yield { choices: [], usage: { prompt_tokens: 1, completion_tokens: 1 } }
  }
  const attributesIn = async (semconv: 'compat' | 'latest') => {
    using setup = traced({ semconv }, { priceOf: () => 0.25 })
    const operation = setup.dispatcher.startOperation({ agentName: 'support' })
    for await (const _ of await operation.llmCall({ model: 'm', request: { stream: true } }, () => stream()));
    await operation.complete()
    return setup.span('chat m').attributes
  }
  const compat = await attributesIn('compat')
  expect(compat).toMatchObject({ 'gen_ai.usage.cost': 0.25, 'hookspan.cost_usd': 0.25 })
  expect(compat['gen_ai.server.ttft']).toBe(compat['gen_ai.response.time_to_first_chunk'])
  expect(compat['langfuse.observation.completion_start_time']).toMatch(/^\d{4}-\d\d-\d\dT.*Z$/)
  const latest = Object.keys(await attributesIn('latest'))
  expect(latest).toContain('hookspan.cost_usd')
  expect(latest.filter((name) => /cost$|ttft|^langfuse/.test(name))).toEqual([])
})

it('tells content as events of logs, as values, and then not on the spans', async () => {
  const records: { eventName: string; attributes: Record<string, unknown> }[] = []
  using setup = traced({
    captureContent: true,
    contentOn: 'events',
    logger: { emit: (record) => void records.push(record) },
  })
  await runOf(setup.dispatcher)
  expect(records).toMatchObject([
    {
      eventName: 'gen_ai.client.inference.operation.details',
      attributes: {
        'gen_ai.request.model': 'm',
        'gen_ai.response.model': 'm-1',
        'gen_ai.input.messages': [{ role: 'user', parts: [{ type: 'text', content: 'Hello' }] }],
        'gen_ai.output.messages': [{ role: 'assistant', parts: [{ type: 'text', content: 'Hi.' }] }],
      },
    },
  ])
  expect(setup.span('chat m').attributes).not.toHaveProperty('gen_ai.input.messages')
  expect(() => traceHooks({ contentOn: 'both' })).toThrow("Expected a `logger` beside `contentOn: 'both'`")
})

it('sends content as events to the logs route', async () => {
  const bodies: string[] = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk) => chunks.push(chunk))
    request.on('end', () => {
      if (request.url === '/v1/logs') bodies.push(Buffer.concat(chunks).toString())
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
    })
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  const endpoint = `http://127.0.0.1:${port}`
  const tracing = startTracing({ endpoint, captureContent: true, contentOn: 'both', flushOnExit: false })
  const dispatcher = new HookDispatcher()
  dispatcher.use(tracing)
  await runOf(dispatcher)
  await tracing.shutdown()
  server.closeAllConnections()
  server.close()
  expect(bodies.join()).toContain('gen_ai.client.inference.operation.details')
  expect(bodies.join()).toContain('"Hello"')
})
