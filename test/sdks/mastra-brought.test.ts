import { HookDispatcher, ToolResult } from 'hookspan'
import { createApprovals, memoryStore } from 'hookspan/approval'
import { mutate } from 'hookspan/gates'
import { observeMastra } from 'hookspan/mastra'
import { mock, mockTools } from 'hookspan/mock'
import { requireHuman, toolPolicy } from 'hookspan/policies'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { scripted } from '../adapter/subjects/ai-sdk.ts'
import { activityTree } from '../support/activity-tree.ts'
import type { Untyped } from './support/sdks.ts'

/** By names that nobody looks up where the SDK is not installed. */
const core = '@mastra/core'
const { Mastra }: Untyped = await import(core)
const { Agent }: Untyped = await import(`${core}/agent`)
const { createTool }: Untyped = await import(`${core}/tools`)
const { InMemoryStore }: Untyped = await import(`${core}/storage`)
const { ToolSearchProcessor }: Untyped = await import(`${core}/processors`)

const wiping = (ran: unknown[], more: object = {}) =>
  createTool({
    id: 'wipe',
    description: 'Wipes.',
    inputSchema: z.object({ times: z.number() }),
    execute: async ({ times }: Untyped) => {
      ran.push(times)
      return { wiped: times }
    },
    ...more,
  })

const call = (name: string, args: object, id = 'c') => ({ toolCalls: [{ id, name, args }] })
const WIPE = call('wipe', { times: 2 })

/** Who brings the tool along, and what the model says before it calls it. */
const WAYS: Record<string, (ran: unknown[]) => { agent?: object; asked?: object; before?: Untyped[] }> = {
  'prepareStep, once more in each step': (ran) => ({
    asked: { prepareStep: () => ({ tools: { wipe: wiping(ran) } }) },
  }),
  'prepareStep, in the place of the agent’s': (ran) => ({
    agent: { tools: { wipe: wiping(ran, { execute: () => ran.push('not this one') }) } },
    asked: { prepareStep: ({ tools }: Untyped) => ({ tools: { ...tools, wipe: wiping(ran) } }) },
  }),
  'prepareStep, around the agent’s': (ran) => ({
    agent: { tools: { wipe: wiping(ran) } },
    asked: {
      prepareStep: ({ tools: { wipe } }: Untyped) => ({
        tools: { wipe: { ...wipe, execute: (...args: unknown[]) => wipe.execute(...args) } },
      }),
    },
  }),
  'an input processor': (ran) => ({
    agent: {
      inputProcessors: [
        { id: 'p', processInputStep: ({ tools }: Untyped) => ({ tools: { ...tools, wipe: wiping(ran) } }) },
      ],
    },
  }),
  'the search for tools': (ran) => ({
    agent: { inputProcessors: [new ToolSearchProcessor({ tools: { wipe: wiping(ran) } })] },
    before: [call('search_tools', { query: 'wipe' }, 'a'), call('load_tool', { toolName: 'wipe' }, 'b')],
  }),
}

describe.each(Object.entries(WAYS))('a tool that is brought along by %s', (_name, way) => {
  const run = async (prepare?: (dispatcher: HookDispatcher) => unknown, method = 'generate') => {
    const ran: unknown[] = []
    const { agent: more, asked, before = [] } = way(ran)
    const model = scripted([...before, WIPE, { content: 'done' }])
    const agent = new Agent({ id: 's', name: 's', instructions: '', model, ...more })
    new Mastra({ agents: { s: agent }, storage: new InMemoryStore(), logger: false })
    const dispatcher = new HookDispatcher()
    const tree = activityTree()
    dispatcher.use(tree.plugin)
    prepare?.(dispatcher)
    if (prepare) observeMastra(agent, { dispatcher })
    const result = await agent[method]('hi', { maxSteps: 6, ...asked })
    const text = await result.text
    const last = (await result.toolResults).at(-1)?.payload.result
    const made = tree.lines().filter((line) => line.includes('execute_tool wipe')).length
    return { text, last, ran, made, result, agent, dispatcher }
  }

  it.each(['generate', 'stream'])(
    'is a call of the run, and gives what it gives without us: %s()',
    async (method) => {
      const bare = await run(undefined, method)
      const { text, last, ran, made } = await run(() => {}, method)
      expect({ text, last, ran }).toEqual({ text: bare.text, last: bare.last, ran: bare.ran })
      expect({ last, ran, made }).toEqual({ last: { wiped: 2 }, ran: [2], made: 1 })
    },
  )

  it('is given, and gives, what gates make and mocks say', async () => {
    const using = (...gates: Untyped[]) => run((on) => on.use({ name: 'careful', gates }))
    expect(await using(toolPolicy({ deny: ['wipe'] }))).toMatchObject({
      ran: [],
      made: 1,
      last: { denied: true },
    })
    const withheld = mutate(new ToolResult({ content: 'withheld', success: true }))
    const after = { id: 'after', point: 'afterToolCall', match: 'wipe', decide: () => withheld }
    expect(await using(after)).toMatchObject({ ran: [2], made: 1, last: 'withheld' })
    const before = { id: 'before', point: 'beforeToolCall', match: 'wipe', decide: () => undefined }
    expect(await using(before)).toMatchObject({ ran: [2], made: 1, last: { wiped: 2 } })
    const mocked = await run((on) =>
      mockTools(on, [mock('wipe').once().returns({ wiped: 0 })], { onUnmocked: 'passthrough' }),
    )
    expect(mocked).toMatchObject({ ran: [], made: 1, last: { wiped: 0 } })
  })

  it('waits for a human, and runs once that has answered', async () => {
    const approvals = createApprovals({ store: memoryStore(), mode: 'park' })
    const { result, agent, ran } = await run((on) => {
      on.use(approvals)
      on.use({ name: 'careful', gates: [requireHuman({ match: 'wipe' })] })
    })
    expect(result.finishReason).toBe('suspended')
    expect(ran).toEqual([])
    const [asked]: Untyped = await approvals.list({ status: 'pending' })
    const { id, argsDigest } = asked.request
    await approvals.respond(id, { decision: 'approve', approver: 'ann', argsDigest })
    expect((await agent.resumeGenerate({}, { runId: result.runId })).text).toBe('done')
    expect(ran).toEqual([2])
  })
})
