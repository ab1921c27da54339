import {
  Agent,
  applyPatchTool,
  computerTool,
  hostedMcpTool,
  type Runner,
  RunState,
  shellTool,
  type Tool,
} from '@openai/agents'
import { assistantMessage, functionCall, ScriptedModel } from '@openai/agents/testing'
import { HookDispatcher } from 'hookspan'
import { toolPolicy } from 'hookspan/policies'
import { afterEach, describe, expect, it } from 'vitest'
import { eventsOf, findAll } from '../../support/told-events.ts'
import { agentOf, bareRunner, letAllGo, looking, observed } from './support.ts'

afterEach(letAllGo)

type Answer = 'approve' | 'reject' | 'none'
type Item = Record<string, unknown>
type Came = Awaited<ReturnType<Runner['run']>> & { completed?: Promise<void> }

/** An agent whose model says these in turn, with tools that note what they ran with. */
interface Scene {
  readonly tools: (ran: unknown[]) => Tool[]
  readonly turns: Item[][]
}

const action = { commands: ['rm a.txt'] }
const operation = { type: 'delete_file', path: 'a.txt' } as const
const click = { type: 'click', x: 1, y: 2, button: 'left' } as const
const done = assistantMessage('done') as unknown as Item

const shell = (ran: unknown[], more: object = {}) =>
  shellTool({
    shell: {
      run: async (asked) => {
        ran.push(asked)
        return { output: [{ stdout: 'ok', stderr: '', outcome: { type: 'exit', exitCode: 0 } }] }
      },
    },
    needsApproval: true,
    ...more,
  })
const patch = (ran: unknown[], more: object = {}) =>
  applyPatchTool({
    editor: {
      deleteFile: async (asked: unknown) => {
        ran.push(asked)
        return { status: 'completed', output: 'gone' }
      },
    } as never,
    needsApproval: true,
    ...more,
  })
const GESTURES = ['doubleClick', 'drag', 'keypress', 'move', 'scroll', 'type', 'wait']
const computer = (ran: unknown[]) =>
  computerTool({
    computer: {
      environment: 'browser',
      dimensions: [1, 1],
      ...Object.fromEntries(GESTURES.map((gesture) => [gesture, async () => {}])),
      click: async (x: number, y: number) => void ran.push({ x, y }),
      screenshot: async () => 'cG5n',
    } as never,
    needsApproval: async () => true,
  })

const shellCall = (callId = 's') => ({ type: 'shell_call', callId, status: 'completed', action })
const calls = {
  shell: { tool: shell, call: shellCall(), apiName: 'shell', args: action, id: 's' },
  patch: {
    tool: patch,
    call: { type: 'apply_patch_call', callId: 'p', status: 'completed', operation },
    ...{ apiName: 'apply_patch', args: operation, id: 'p' },
  },
  computer: {
    tool: computer,
    call: { type: 'computer_call', callId: 'c', status: 'completed', action: click },
    ...{ apiName: 'computer_use_preview', args: click, id: 'c' },
  },
}

const request = {
  type: 'mcp_approval_request',
  ...{ id: 'mcpr_1', name: 'wipe', arguments: '{"path":"a"}', server_label: 'disk' },
}
const asks = {
  type: 'hosted_tool_call',
  ...{ id: 'mcpr_1', name: 'mcp_approval_request', status: 'completed', providerData: request },
}
const called = (name: string, args: object, callId: string) =>
  functionCall(name, args as never, { callId }) as unknown as Item

/** Runs it, each answer in a process of its own, with what came of it and what was told. */
async function played(scene: Scene, answers: Answer[], { bare = false, stream = false } = {}) {
  const ran: unknown[] = []
  const told: ReturnType<typeof eventsOf> = []
  const asked: unknown[] = []
  let saved: string | undefined
  let turn = 0
  let result: Came | undefined
  for (const answer of ['none', ...answers]) {
    const dispatcher = new HookDispatcher()
    const events = eventsOf(dispatcher)
    const runner = bare ? bareRunner() : observed(bareRunner(), { dispatcher })
    const model = new ScriptedModel(scene.turns.slice(turn) as never)
    const agent = agentOf({ model, tools: scene.tools(ran) })
    const state = saved === undefined ? 'hi' : await RunState.fromString(agent, saved)
    if (typeof state !== 'string' && answer !== 'none')
      for (const item of state.getInterruptions())
        answer === 'approve' ? state.approve(item) : state.reject(item, { message: 'too dear' })
    const came = (await runner.run(agent, state as never, { stream: stream as never })) as unknown as Came
    if (stream) await came.completed
    result = came
    turn += model.calls.length
    asked.push(...model.calls.map(({ request }) => request.input))
    saved = result?.state.toString()
    told.push(...events)
    letAllGo()
  }
  return { ran, told, asked, finalOutput: result?.finalOutput, history: result?.history }
}

describe.each(Object.entries(calls))("a call of the SDK's own %s that it wants a human for", (_kind, own) => {
  const { apiName, args, id: toolCallId } = own
  const scene = { tools: (ran: unknown[]) => [own.tool(ran)] as Tool[], turns: [[own.call], [done]] }

  it.each([
    ['approve', false],
    ['approve', true],
    ['reject', false],
    ['reject', true],
  ] as const)('is told as that of a function (%s, streamed: %s)', async (answer, stream) => {
    const bare = await played(scene, [answer], { bare: true, stream })
    const seen = await played(scene, [answer], { stream })

    expect(seen).toMatchObject({ ...bare, told: seen.told })
    expect(seen.finalOutput).toBe('done')
    expect(seen.ran).toHaveLength(answer === 'approve' ? 1 : 0)
    expect(findAll(seen.told, 'beforeHumanIntervention')).toMatchObject([
      { pendingTools: [{ identifier: 'local', apiName, args, toolCallId }], stepIndex: 0 },
    ])
    expect(findAll(seen.told, 'afterHumanIntervention')).toMatchObject([
      answer === 'approve'
        ? { action: 'approve', stepIndex: 0 }
        : { action: 'rejectAndContinue', rejectionReason: 'too dear', stepIndex: 0 },
    ])
    expect(findAll(seen.told, 'beforeToolCall')).toMatchObject([{ apiName, args, toolCallId, stepIndex: 0 }])
    expect(findAll(seen.told, 'afterToolCall')).toMatchObject([
      answer === 'approve'
        ? { apiName, toolCallId, stepIndex: 0, outcome: 'completed' }
        : { apiName, toolCallId, stepIndex: 0, outcome: 'rejected', reason: 'too dear' },
    ])
    expect(findAll(seen.told, 'beforeStep').map(({ stepIndex }) => stepIndex)).toEqual([0, 1])
    expect(findAll(seen.told, 'onComplete')).toMatchObject([
      { reason: 'done', totals: { steps: 2, toolCalls: 1 } },
    ])
  })

  it('waits on where there is no answer, and is asked about once', async () => {
    const { told, ran } = await played(scene, ['none', 'none', 'approve'])
    expect(ran).toHaveLength(1)
    for (const type of [
      'beforeHumanIntervention',
      'afterHumanIntervention',
      'beforeToolCall',
      'afterToolCall',
    ] as const)
      expect(findAll(told, type), type).toHaveLength(1)
    expect(findAll(told, 'onComplete')).toMatchObject([{ totals: { steps: 2, toolCalls: 1 } }])
  })
})

it.each(Object.entries(calls))(
  "a call of the SDK's own %s, approved before anybody observed, is not run where a gate names it",
  async (_kind, { tool, call, apiName }) => {
    const ran: unknown[] = []
    const agent = agentOf({ model: new ScriptedModel([[call], [done]] as never), tools: [tool(ran)] })
    const { state } = await bareRunner().run(agent, 'hi')
    for (const item of state.getInterruptions()) state.approve(item)
    const dispatcher = new HookDispatcher()
    dispatcher.use({ name: 'guard', gates: [toolPolicy({ deny: [apiName] })] })
    const goesOn = observed(bareRunner(), { dispatcher }).run(agent, state)
    await expect(goesOn).rejects.toMatchObject({ code: 'NOT_CAPABLE' })
    expect(ran).toEqual([])
  },
)

describe('a call of a hosted MCP server that the SDK wants a human for', () => {
  const made = {
    type: 'hosted_tool_call',
    ...{ id: 'mcp_1', name: 'mcp_call', status: 'completed', output: 'wiped' },
    providerData: {
      type: 'mcp_call',
      id: 'mcp_1',
      name: 'wipe',
      arguments: '{"path":"a"}',
      server_label: 'disk',
    },
  }
  const sceneOf = (answer: Answer, more: object = {}): Scene => ({
    tools: () => [
      hostedMcpTool({
        serverLabel: 'disk',
        serverUrl: 'https://x.test',
        requireApproval: 'always',
        ...more,
      } as never),
    ],
    turns: [[asks], answer === 'approve' ? [made, done] : [done]],
  })

  it.each([
    ['approve', false],
    ['approve', true],
    ['reject', false],
    ['reject', true],
  ] as const)('is told once (%s, streamed: %s)', async (answer, stream) => {
    const bare = await played(sceneOf(answer), [answer], { bare: true, stream })
    const seen = await played(sceneOf(answer), ['none', answer], { stream })

    expect(seen).toMatchObject({ ...bare, told: seen.told })
    expect(seen.finalOutput).toBe('done')
    const call = { identifier: 'disk', apiName: 'wipe', args: { path: 'a' } }
    expect(findAll(seen.told, 'beforeHumanIntervention')).toMatchObject([
      { pendingTools: [{ ...call, toolCallId: 'mcpr_1' }], stepIndex: 0 },
    ])
    expect(findAll(seen.told, 'afterHumanIntervention')).toMatchObject([
      answer === 'approve'
        ? { action: 'approve', stepIndex: 0 }
        : { action: 'rejectAndContinue', rejectionReason: 'too dear', stepIndex: 0 },
    ])
    expect(findAll(seen.told, 'afterToolCall')).toMatchObject([
      answer === 'approve'
        ? {
            identifier: 'disk',
            apiName: 'wipe',
            toolCallId: 'mcp_1',
            source: 'provider',
            outcome: 'completed',
          }
        : {
            identifier: 'disk',
            apiName: 'wipe',
            toolCallId: 'mcpr_1',
            source: 'provider',
            outcome: 'rejected',
            reason: 'too dear',
          },
    ])
    expect(findAll(seen.told, 'beforeStep').map(({ stepIndex }) => stepIndex)).toEqual([0, 1])
    expect(findAll(seen.told, 'onComplete')).toMatchObject([{ totals: { steps: 2, toolCalls: 1 } }])
  })
})

describe('a call that the SDK is told to reject without a stop', () => {
  const onApproval = async () => ({ approve: false, reason: 'no' })
  const server = { serverLabel: 'disk', serverUrl: 'https://x.test', requireApproval: 'always', onApproval }

  it.each<[string, Scene, { readonly source: string; readonly [more: string]: string }]>([
    [
      'a shell by its `onApproval`',
      { tools: (ran) => [shell(ran, { onApproval })], turns: [[shellCall()], [done]] },
      { apiName: 'shell', toolCallId: 's', source: 'local' },
    ],
    [
      'a patch by its `onApproval`',
      { tools: (ran) => [patch(ran, { onApproval })], turns: [[calls.patch.call], [done]] },
      { apiName: 'apply_patch', toolCallId: 'p', source: 'local' },
    ],
    [
      'a hosted server by its `onApproval`',
      { tools: () => [hostedMcpTool(server as never)], turns: [[asks], [done]] },
      { apiName: 'wipe', toolCallId: 'mcpr_1', source: 'provider', identifier: 'disk' },
    ],
  ])('is told once, and as rejected: %s', async (_what, scene, call) => {
    const bare = await played(scene, [], { bare: true })
    const seen = await played(scene, [])
    expect(seen).toMatchObject({ ...bare, told: seen.told, ran: [], finalOutput: 'done' })
    expect(findAll(seen.told, 'afterToolCall')).toMatchObject([
      // The SDK keeps why for its own tools, and sends a server's refusal on without.
      { ...call, outcome: 'rejected', stepIndex: 0, ...(call.source === 'local' && { reason: 'no' }) },
    ])
    expect(findAll(seen.told, 'beforeHumanIntervention')).toEqual([])
  })

  it('is told where its agent hands over in the same turn', async () => {
    const second = new Agent({ name: 'second', model: new ScriptedModel([[done]] as never) })
    const model = new ScriptedModel([[shellCall(), called('transfer_to_second', {}, 'h')]] as never)
    const ran: unknown[] = []
    const first = new Agent({ name: 'first', model, tools: [shell(ran, { onApproval })], handoffs: [second] })
    const dispatcher = new HookDispatcher()
    const events = eventsOf(dispatcher)
    await observed(bareRunner(), { dispatcher }).run(first, 'hi')
    expect(ran).toEqual([])
    expect(findAll(events, 'afterToolCall')).toMatchObject([
      { apiName: 'transfer_to_second', outcome: 'completed' },
      { apiName: 'shell', outcome: 'rejected', stepIndex: 0 },
    ])
  })

  it('is told of each call after one that was rejected for good', async () => {
    const ran: string[] = []
    const tools = [looking(ran, { needsApproval: true }), shell(ran)]
    const turns = [1, 2].map((n) => [called('look', { q: 'a' }, `f${n}`), shellCall(`s${n}`)])
    const agent = agentOf({ model: new ScriptedModel([...turns, [done]] as never), tools })
    const dispatcher = new HookDispatcher()
    const events = eventsOf(dispatcher)
    const runner = observed(bareRunner(), { dispatcher })
    const { state } = await runner.run(agent, 'hi')
    for (const item of state.getInterruptions()) state.reject(item, { alwaysReject: true })
    expect((await runner.run(agent, state)).finalOutput).toBe('done')
    expect(ran).toEqual([])
    const ended = findAll(events, 'afterToolCall').map((event) => [
      ...[event.stepIndex, event.toolCallId, event.apiName, event.outcome],
    ])
    expect(ended).toEqual([
      [0, 'f1', 'look', 'rejected'],
      [0, 's1', 'shell', 'rejected'],
      [1, 'f2', 'look', 'rejected'],
      [1, 's2', 'shell', 'rejected'],
    ])
  })
})

describe('calls of which several wait', () => {
  it.each(['approve', 'reject'] as const)(
    'are each told once, beside that of a function (%s)',
    async (answer) => {
      const { told, finalOutput } = await played(
        {
          tools: (ran) => [looking(ran as string[], { needsApproval: true }), shell(ran), patch(ran)],
          turns: [
            [called('look', { q: 'a' }, 'f'), shellCall('s1'), shellCall('s2'), calls.patch.call],
            [done],
          ],
        },
        ['none', answer],
      )
      expect(finalOutput).toBe('done')
      const ids = ['f', 's1', 's2', 'p']
      const asked = findAll(told, 'beforeHumanIntervention').map(
        ({ pendingTools }) => pendingTools[0]?.toolCallId,
      )
      expect(asked).toEqual(ids)
      const answered = findAll(told, 'afterHumanIntervention').flatMap(({ toolCallIds }) => toolCallIds)
      expect(answered.sort()).toEqual([...ids].sort())
      const ended = findAll(told, 'afterToolCall').map(({ toolCallId, stepIndex }) => [toolCallId, stepIndex])
      expect(ended.sort()).toEqual(ids.map((id) => [id, 0]).sort())
    },
  )

  it('in an agent that is a tool, are told in its run', async () => {
    const inner = [[shellCall()], [done]]
    const expert = (ran: unknown[]) =>
      new Agent({
        name: 'expert',
        model: new ScriptedModel([inner.shift() ?? []] as never),
        tools: [shell(ran)],
      })
    const { told } = await played(
      {
        tools: (ran) => [expert(ran).asTool({ toolName: 'expert', toolDescription: '' })],
        turns: [[called('expert', { input: 'help' }, 'e')], [done]],
      },
      ['approve'],
    )
    expect(findAll(told, 'beforeHumanIntervention')).toMatchObject([{ agentName: 'expert' }])
    expect(findAll(told, 'afterHumanIntervention')).toMatchObject([
      { agentName: 'expert', action: 'approve' },
    ])
    expect(findAll(told, 'afterToolCall').map(({ apiName }) => apiName)).toEqual(['shell', 'expert'])
  })
})
