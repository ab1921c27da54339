import { HookDispatcher } from 'hookspan'
import { hookspanPlugin } from 'hookspan/google-adk'
import { mock, mockTools } from 'hookspan/mock'
import { toolPolicy } from 'hookspan/policies'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { activityTree } from '../support/activity-tree.ts'
import { settled } from '../support/seen-by-caller.ts'
import { ScriptedLlm } from './subjects/google-adk.ts'
import type { Untyped } from './support/sdks.ts'

const sdk = '@google/adk'
const { FunctionTool, InMemoryRunner, LlmAgent, NodeTool, START, ToolNode, Workflow }: Untyped = await import(
  sdk
)

const parameters = z.object({ what: z.string() })
const CALL = (name: string) => ({ toolCalls: [{ id: 'c1', name, args: { what: 'all' } }] })

/** The tool, which notes what it did, and a workflow that runs it without asking a model. */
function wiping() {
  const ran: string[] = []
  const execute = async ({ what }: { what: string }) => {
    ran.push(what)
    return 'wiped'
  }
  const tool = new FunctionTool({ name: 'wipe', description: 'Wipes.', parameters, execute })
  const workflow = (more = {}) =>
    new Workflow({ name: 'cleaning', edges: [[START, new ToolNode(tool)]], ...more })
  return { ran, tool, workflow }
}

const WAYS: Record<string, (of: ReturnType<typeof wiping>) => Untyped> = {
  'a node of a workflow': ({ workflow }) => workflow(),
  'a node that a workflow begins by itself': ({ tool }) =>
    new Workflow({
      name: 'dynamic',
      dynamicEntry: async (context: Untyped, input: Untyped) => {
        await context.runNode(new ToolNode(tool), input)
      },
    }),
  'a node of a workflow that is a tool': ({ workflow }) =>
    new LlmAgent({
      name: 'asking',
      model: new ScriptedLlm([CALL('cleaning'), { content: 'done' }]),
      tools: [new NodeTool(workflow({ inputSchema: parameters }))],
    }),
  'a node, and a tool of an agent': ({ tool }) =>
    new Workflow({
      name: 'both',
      edges: [[START, new ToolNode(tool, { name: 'first' }), agentWith(tool)]],
    }),
}
const agentWith = (tool: Untyped) =>
  new LlmAgent({ name: 'second', model: new ScriptedLlm([CALL('wipe'), { content: 'done' }]), tools: [tool] })

async function run(agent: Untyped, dispatcher?: HookDispatcher) {
  const plugins = dispatcher ? [hookspanPlugin({ dispatcher, agentName: 'cleaner' })] : []
  const runner = new InMemoryRunner({ agent, appName: 'test', plugins })
  const session = await runner.sessionService.createSession({ appName: 'test', userId: 'u' })
  const newMessage = { role: 'user', parts: [{ text: '{"what":"all"}' }] }
  const parts: unknown[] = []
  for await (const event of runner.runAsync({ userId: 'u', sessionId: session.id, newMessage }))
    parts.push(
      ...(event.content?.parts ?? []).map(
        ({ text, functionResponse }: Untyped) => text ?? functionResponse?.response,
      ),
    )
  if (dispatcher) await settled(dispatcher)
  return parts
}

describe.each(Object.entries(WAYS))('a tool of ADK that is %s', (_name, of) => {
  it('gives what it gives without hookspan, and is told', async () => {
    const bare = wiping()
    const was = await run(of(bare))
    const ours = wiping()
    const tree = activityTree()
    const dispatcher = new HookDispatcher()
    dispatcher.use(tree.plugin)

    expect(await run(of(ours), dispatcher)).toEqual(was)
    expect(ours.ran).toEqual(bare.ran)
    expect(ours.ran.length).toBeGreaterThan(0)
    const told = tree.lines().filter((line) => line.trim() === 'execute_tool wipe')
    expect(told).toHaveLength(ours.ran.length)
  })

  it('does not run where it is denied, or mocked', async () => {
    const denied = wiping()
    const dispatcher = new HookDispatcher()
    dispatcher.use({ name: 'careful', gates: [toolPolicy({ deny: ['wipe'] })] })
    expect(JSON.stringify(await run(of(denied), dispatcher))).toContain('tool_not_allowed')
    expect(denied.ran).toEqual([])

    const mocked = wiping()
    const other = new HookDispatcher()
    using _mocks = mockTools(other, [mock('wipe').returns({ mocked: true })], { onUnmocked: 'passthrough' })
    expect(JSON.stringify(await run(of(mocked), other))).toContain('mocked')
    expect(mocked.ran).toEqual([])
  })
})

it('lies below the tool that is its workflow', async () => {
  const tree = activityTree()
  const dispatcher = new HookDispatcher()
  dispatcher.use(tree.plugin)
  await run(WAYS['a node of a workflow that is a tool']?.(wiping()), dispatcher)

  expect(tree.lines().slice(0, 5)).toEqual([
    'invoke_agent cleaner',
    '  step 0',
    '    chat contract',
    '    execute_tool cleaning',
    '      execute_tool wipe',
  ])
})

it('is left as it was once the plugin is, and is refused where it is frozen', async () => {
  const { tool, workflow, ran } = wiping()
  const dispatcher = new HookDispatcher()
  const plugin = hookspanPlugin({ dispatcher })
  const runner = new InMemoryRunner({ agent: workflow(), appName: 'test', plugins: [plugin] })
  const session = await runner.sessionService.createSession({ appName: 'test', userId: 'u' })
  const newMessage = { role: 'user', parts: [{ text: '{"what":"all"}' }] }
  for await (const _event of runner.runAsync({ userId: 'u', sessionId: session.id, newMessage })) {
  }
  expect(Object.hasOwn(tool, 'runAsync')).toBe(true)
  plugin[Symbol.dispose]()
  expect(Object.hasOwn(tool, 'runAsync')).toBe(false)
  expect(ran).toEqual(['all'])

  Object.freeze(tool)
  dispatcher.use({ name: 'careful', gates: [toolPolicy({ deny: ['wipe'] })] })
  await expect(run(workflow(), dispatcher)).rejects.toThrow(/nobody would be asked/)
  expect(ran).toEqual(['all'])
})
