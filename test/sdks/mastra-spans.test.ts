import { observeMastra } from 'hookspan/mastra'
import { expect, it } from 'vitest'
import { z } from 'zod'
import { scripted } from '../adapter/subjects/ai-sdk.ts'
import { traced } from '../support/span-tree.ts'
import type { Untyped } from './support/sdks.ts'

const names = ['', '/agent', '/tools'].map((path) => `@mastra/core${path}`)
const { Agent, createTool, Mastra }: Untyped = Object.assign(
  {},
  ...(await Promise.all(names.map((name) => import(name)))),
)
const OBSERVABILITY = '@mastra/observability'
const { Observability, TestExporter }: Untyped = await import(OBSERVABILITY)

interface Own {
  readonly name: string
  readonly traceId: string
  readonly externalParentSpanId?: string
  readonly isRootSpan: boolean
}

const TURNS = [{ toolCalls: [{ id: 'call_1', name: 'look', args: { q: 'a' } }] }, { content: 'done' }]

const agentOf = (name: string, replies: Untyped, tools: object = {}, more: object = {}) =>
  new Agent({
    id: name,
    name,
    description: name,
    instructions: 'Help.',
    model: scripted(replies),
    tools,
    ...more,
  })

/** An agent whose tool calls another agent, with Mastra's own tracing on. */
async function run(sdkSpans: 'omit' | 'nest' | undefined, isStream = false) {
  const exporter = new TestExporter({ logger: false })
  const configs = { default: { serviceName: 'test', exporters: [exporter] } }
  const expert = agentOf('expert', [{ content: 'found' }])
  const look = createTool({
    id: 'look',
    description: 'Looks.',
    inputSchema: z.object({ q: z.string() }),
    execute: async (_input: unknown, { tracingContext }: Untyped) =>
      (await expert.generate('look', { tracingContext })).text,
  })
  const support = agentOf('support', isStream ? TURNS.slice(1) : TURNS, { look })
  const observability = new Observability({ configs })
  const mastra = new Mastra({ agents: { support, expert }, observability, logger: false })
  using tracing = traced()
  observeMastra(support, { dispatcher: tracing.dispatcher, ...(sdkSpans && { sdkSpans }) })
  observeMastra(expert, { dispatcher: tracing.dispatcher, ...(sdkSpans && { sdkSpans }) })
  const said = isStream ? await (await support.stream('Look.')).text : (await support.generate('Look.')).text
  await mastra.shutdown()
  const root = tracing.span('invoke_agent support').spanContext()
  return { said, tree: tracing.tree().split('\n'), root, own: exporter.getAllSpans() as Own[] }
}

const OURS = [
  'invoke_agent support',
  '  step 0',
  '    chat contract',
  '    execute_tool look',
  '      invoke_agent expert',
  '        step 0',
  '          chat contract',
  '  step 1',
  '    chat contract',
]

it("leaves Mastra's own spans as they are", async () => {
  const { said, tree, root, own } = await run(undefined)

  expect({ said, tree }).toEqual({ said: 'done', tree: OURS })
  expect(own.filter(({ isRootSpan }) => isRootSpan)).toHaveLength(1)
  expect(own.map(({ traceId }) => traceId)).not.toContain(root.traceId)
})

it("leaves Mastra's own spans out where it is asked for", async () => {
  expect(await run('omit')).toMatchObject({ said: 'done', tree: OURS, own: [] })
  const tree = ['invoke_agent support', '  step 0', '    chat contract']
  expect(await run('omit', true)).toMatchObject({ said: 'done', tree, own: [] })
})

it("puts Mastra's own spans below the run where it is asked for", async () => {
  const { said, tree, root, own } = await run('nest')

  expect({ said, tree }).toEqual({ said: 'done', tree: OURS })
  expect(own.length).toBeGreaterThan(3)
  expect(new Set(own.map(({ traceId }) => traceId))).toEqual(new Set([root.traceId]))
  expect(own.filter((span) => span.externalParentSpanId === root.spanId)).toHaveLength(1)
})

it('the call with which a tool of a sub-agent stops for its question is one span, and its answer another', async () => {
  const { InMemoryStore }: Untyped = await import('@mastra/core/storage' as string)
  const execute = async (_input: unknown, { agent }: Untyped) =>
    agent.resumeData === undefined ? agent.suspend({ which: 1 }) : `size ${agent.resumeData.size}`
  const schemas = { inputSchema: z.object({}), suspendSchema: z.any(), resumeSchema: z.any() }
  const ask = createTool({ id: 'ask', description: 'Asks.', ...schemas, execute })
  const asks = [{ toolCalls: [{ id: 'a', name: 'ask', args: {} }] }, { content: 'L' }]
  const calls = [
    { toolCalls: [{ id: 'b', name: 'agent-expert', args: { prompt: 'Go.' } }] },
    { content: 'Done.' },
  ]
  const expert = agentOf('expert', asks, { ask })
  const support = agentOf('support', calls, {}, { agents: { expert } })
  new Mastra({ agents: { support, expert }, storage: new InMemoryStore(), logger: false })
  using tracing = traced()
  observeMastra(support, { dispatcher: tracing.dispatcher })
  const { runId, suspendPayload } = await support.generate('Go.')
  const spans = () => tracing.spans().filter(({ name }) => name === 'execute_tool ask')
  expect(spans()).toHaveLength(1)
  expect(spans()[0]?.status.message).toContain('waits for an answer')
  const { toolCallId } = suspendPayload
  expect((await support.resumeGenerate({ size: 'L' }, { runId, toolCallId })).text).toBe('Done.')
  expect(spans()).toHaveLength(2)
})
