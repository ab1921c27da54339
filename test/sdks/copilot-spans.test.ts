import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { observeCopilot } from 'hookspan/copilot'
import { expect, it } from 'vitest'
import { startCollector } from '../support/collector.ts'
import { traced } from '../support/span-tree.ts'
import { configOf, scriptedCopilot } from './subjects/copilot.ts'
import type { Untyped } from './support/sdks.ts'

const NAME = '@github/copilot-sdk'
const { CopilotClient, defineTool }: Untyped = await import(NAME)

const REPLIES = [{ toolCalls: [{ id: 'c1', name: 'look', args: { q: 'a' } }] }, { content: 'done' }]
const parameters = { type: 'object', properties: { q: { type: 'string' } } }
const look = defineTool('look', { description: 'Looks.', parameters, handler: () => 'found' })

/** Two turns of a Copilot that has been told where to send its own spans. */
async function run(observe?: { sdkSpans?: 'omit' | 'nest' }, isByClient = false) {
  const collector = await startCollector()
  const home = mkdtempSync(join(tmpdir(), 'hookspan-copilot-'))
  const server = await scriptedCopilot({ contract: REPLIES })
  const telemetry = { otlpEndpoint: collector.url, otlpProtocol: 'http/json' }
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json' }
  const client = new CopilotClient({
    env: { PATH: process.env.PATH, HOME: home, ...(!isByClient && env) },
    ...(isByClient && { telemetry }),
    baseDirectory: home,
    workingDirectory: home,
    useLoggedInUser: false,
    logLevel: 'error',
  })
  using tracing = traced()
  if (observe) observeCopilot(client, { dispatcher: tracing.dispatcher, ...observe })
  const config = configOf(server.baseURL, 'contract', [look])
  const session = await client.createSession({ ...config, workingDirectory: home })
  await session.sendAndWait('go')
  await session.disconnect()
  // It sends what is left before it ends.
  await client.stop()
  await server.close()
  await collector.stop()
  rmSync(home, { recursive: true, force: true, maxRetries: 5 })
  const root = observe && tracing.span('invoke_agent copilot').spanContext()
  return { tree: tracing.tree().split('\n'), root, own: collector.spans }
}

const OURS = [
  'invoke_agent copilot',
  '  step 0',
  '    chat contract',
  '    execute_tool look',
  '  step 1',
  '    chat contract',
]

it('its own spans, which it sends without us, are left out: each call is one span', async () => {
  expect((await run()).own.map(({ name }) => name)).toContain('execute_tool look')

  const { tree, own } = await run({})
  expect({ tree, own }).toEqual({ tree: OURS, own: [] })
})

it.each<[how: string, observe: { sdkSpans?: 'nest' }, isByClient: boolean]>([
  ['the client was made with telemetry', {}, true],
  ['it is asked for', { sdkSpans: 'nest' }, false],
])('they lie below the run where %s', async (_how, observe, isByClient) => {
  const { tree, root, own } = await run(observe, isByClient)

  expect(tree).toEqual(OURS)
  const agent = own.find(({ name }) => name === 'invoke_agent')
  expect(agent).toMatchObject({ traceId: root?.traceId, parentSpanId: root?.spanId })
  expect(own.find(({ name }) => name === 'execute_tool look')).toMatchObject({ traceId: root?.traceId })
})

it('they are left out of a client with telemetry that is told to', async () => {
  expect((await run({ sdkSpans: 'omit' }, true)).own).toEqual([])
})
