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

/** An agent whose tool calls another agent, with Mastra's own tracing on. */
async function run(sdkSpans: 'omit' | 'nest' | undefined, isStream = false) {
  const exporter = new TestExporter({ logger: false })
  const configs = { default: { serviceName: 'test', exporters: [exporter] } }
  const agentOf = (name: string, replies: Untyped, tools: object = {}) =>
    new Agent({ id: name, name, instructions: 'Help.', model: scripted(replies), tools })
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
