import { HookDispatcher } from 'hookspan'
import { mutate } from 'hookspan/gates'
import { observeMastra, unobserveMastra } from 'hookspan/mastra'
import { human, mock, mockTools, scriptedApprovals } from 'hookspan/mock'
import { requireHuman, toolPolicy } from 'hookspan/policies'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { scripted } from '../adapter/subjects/ai-sdk.ts'
import { activityTree } from '../support/activity-tree.ts'
import { eventsOf, findAll, gate } from '../support/told-events.ts'
import type { Untyped } from './support/sdks.ts'

const core = '@mastra/core'
const { Agent }: Untyped = await import(`${core}/agent`)
const { createTool }: Untyped = await import(`${core}/tools`)
const { createStep, createWorkflow }: Untyped = await import(`${core}/workflows`)
const { Mastra }: Untyped = await import(core)
const { InMemoryStore }: Untyped = await import(`${core}/storage`)

const input = { what: 'all' }
const schema = z.object({ what: z.string() })

/** How the code of a tool comes to run another one of its agent, which its model knows as `wipe`. */
const WAYS: Readonly<Record<string, (tool: Untyped, context: Untyped) => Promise<unknown>>> = {
  'with its own context': (tool, context) => tool.execute(input, context),
  'without any': (tool) => tool.execute(input),
  'in a workflow of its own': async (tool) => {
    const schemas = { inputSchema: schema, outputSchema: z.any() }
    const flow = createWorkflow({ id: 'flow', ...schemas })
    const run = await flow.then(createStep(tool)).commit().createRun()
    const { status, result, error } = await run.start({ inputData: input })
    if (status !== 'success') throw error
    return result
  },
}

function agentThat(way: (tool: Untyped, context: Untyped) => Promise<unknown>) {
  const ran: string[] = []
  const wipe = createTool({
    id: 'wipe-all',
    description: 'Wipes.',
    inputSchema: schema,
    outputSchema: z.any(),
    execute: async ({ what }: Untyped) => {
      ran.push(what)
      return `wiped ${what}`
    },
  })
  const run_code = createTool({
    id: 'run_code',
    description: 'Runs code.',
    inputSchema: z.object({}),
    execute: async (_: object, context: Untyped) => {
      try {
        return await way(wipe, context)
      } catch (error) {
        return `failed: ${(error as Error).message}`
      }
    },
  })
  const replies = [{ toolCalls: [{ id: 'c', name: 'run_code', args: {} }] }, { content: 'done' }]
  const tools = { wipe, run_code }
  const agent = new Agent({ id: 's', name: 's', instructions: '', model: scripted(replies), tools })
  return { agent, ran, wipe }
}

async function asked(
  way: (tool: Untyped, context: Untyped) => Promise<unknown>,
  dispatcher?: HookDispatcher,
) {
  const { agent, ran } = agentThat(way)
  if (dispatcher !== undefined) observeMastra(agent, { dispatcher })
  const { toolResults } = await agent.generate('Clean up.')
  if (dispatcher !== undefined) unobserveMastra(agent)
  return { ran, told: toolResults[0].payload.result }
}

const with_ = (plug: (dispatcher: HookDispatcher) => unknown) => {
  const dispatcher = new HookDispatcher()
  plug(dispatcher)
  return dispatcher
}

describe.each(Object.entries(WAYS))('a tool that another one runs %s', (way, run) => {
  const name = way.includes('workflow') ? 'wipe-all' : 'wipe'

  it('is a call below it, and gives what it gives without us', async () => {
    const tree = activityTree()
    expect(
      await asked(
        run,
        with_((dispatcher) => dispatcher.use(tree.plugin)),
      ),
    ).toEqual(await asked(run))
    expect(tree.lines().filter((line) => line.includes('execute_tool'))).toEqual([
      '    execute_tool run_code',
      `      execute_tool ${name}`,
    ])
  })

  it.each<[string, (dispatcher: HookDispatcher) => unknown, string]>([
    [
      'denies',
      (dispatcher) => dispatcher.use({ name: 'careful', gates: [toolPolicy({ deny: [name] })] }),
      'tool_not_allowed',
    ],
    [
      'is mocked',
      (dispatcher) => mockTools(dispatcher, [mock(name).returns('mocked')], { onUnmocked: 'passthrough' }),
      'mocked',
    ],
    [
      'asks a human who says no',
      (dispatcher) => {
        scriptedApprovals(dispatcher, [human(name).rejects('not today')])
        dispatcher.use({ name: 'careful', gates: [requireHuman({ match: name })] })
      },
      'not today',
    ],
  ])('does not run where somebody %s', async (_how, plug, told) => {
    const seen = await asked(run, with_(plug))
    expect(seen.ran).toEqual([])
    expect(seen.told).toContain(told)
  })

  it('is given, and gives, what gates make', async () => {
    const gates = [
      { ...gate('beforeToolCall', () => mutate({ what: 'a bit' })), match: name },
      { ...gate('afterToolCall', () => mutate('cleaned')), match: name },
    ]
    const dispatcher = with_((one) => one.use({ name: 'careful', gates }))
    expect(await asked(run, dispatcher)).toEqual({ ran: ['a bit'], told: 'cleaned' })
  })
})

/** A workflow of the agent, and the tool that runs it or stands in it, stop with it. */
it.each(['a step of a workflow', 'run by another tool'])(
  'a tool that asks by suspend() is a call that failed, and one more where it goes on: %s',
  async (where) => {
    const tool = createTool({
      id: 'wipe',
      description: 'Wipes.',
      inputSchema: schema,
      outputSchema: z.any(),
      suspendSchema: z.any(),
      resumeSchema: z.object({ sure: z.boolean() }),
      execute: async ({ what }: Untyped, { agent, workflow }: Untyped) => {
        const { resumeData, suspend } = workflow ?? agent
        return resumeData === undefined ? suspend({ sure: false }) : `wiped ${what}`
      },
    })
    const outer = createTool({
      id: 'outer',
      description: 'Runs it.',
      inputSchema: schema,
      execute: (given: object, context: object) => tool.execute(given, context),
    })
    const flow = createWorkflow({ id: 'f', description: 'f', inputSchema: schema, outputSchema: z.any() })
    const isStep = where.includes('workflow')
    const name = isStep ? 'workflow-flow' : 'outer'
    const args = isStep ? { inputData: input } : input
    const model = scripted([{ toolCalls: [{ id: 'c', name, args }] }, { content: 'done' }])
    const has = isStep
      ? { workflows: { flow: flow.then(createStep(tool)).commit() } }
      : { tools: { tool, outer } }
    const dispatcher = new HookDispatcher()
    const events = eventsOf(dispatcher)
    const asked: unknown[] = []
    const gates = [
      { ...gate('afterToolCall', ({ payload }) => void asked.push(payload)), match: ['wipe', 'tool'] },
    ]
    dispatcher.use({ name: 'careful', gates })
    const agent = observeMastra<Untyped>(new Agent({ id: 's', name: 's', instructions: '', model, ...has }), {
      dispatcher,
    })
    new Mastra({ agents: { s: agent }, storage: new InMemoryStore(), logger: false })

    const { runId, finishReason } = await agent.generate('Clean up.')
    expect(finishReason).toBe('suspended')
    expect((await agent.resumeGenerate({ sure: true }, { runId })).text).toBe('done')
    await dispatcher.drain()

    expect(asked).toEqual(['wiped all'])
    expect(findAll(events, 'onToolCallError').map(({ errorMessage }) => errorMessage)).toEqual([
      expect.stringContaining('waits for an answer'),
    ])
  },
)
