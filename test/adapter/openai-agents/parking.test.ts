import { Agent, RunState, tool, toolNamespace } from '@openai/agents'
import { assistantMessage, functionCall, ScriptedModel } from '@openai/agents/testing'
import { HookDispatcher } from 'hookspan'
import { createApprovals } from 'hookspan/approval'
import { type Approver, deny, type Gate, mutate } from 'hookspan/gates'
import { mock, mockTools } from 'hookspan/mock'
import { requireHuman, toolPolicy } from 'hookspan/policies'
import { afterEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { eventsOf, find, findAll } from '../../support/told-events.ts'
import { agentOf, bareRunner, letAllGo, looking, observed, scripted } from './support.ts'

afterEach(letAllGo)

const LOOK: [string, object][] = [['look', { q: 'a' }]]

/** A process of its own: nothing goes from one to the next but what is handed over. */
function processOf(answer?: 'approve' | 'reject' | 'park', gated = true) {
  const dispatcher = new HookDispatcher()
  const approver: Approver = {
    requestApproval: async () =>
      answer === 'approve'
        ? { decision: 'approve', approver: 'ines' }
        : answer === 'reject'
          ? { decision: 'reject', approver: 'ines', reason: 'too much' }
          : { decision: 'park' },
  }
  if (gated) dispatcher.use({ name: 'careful', gates: [requireHuman({ match: 'look' })], approver })
  const bodies: string[] = []
  return { dispatcher, bodies, events: eventsOf(dispatcher), runner: observed(bareRunner(), { dispatcher }) }
}

describe('a call that a gate wants a human for', () => {
  async function parked() {
    const { runner, bodies, events } = processOf('park')
    const agent = agentOf({ model: scripted(LOOK), tools: [looking(bodies)] })
    const result = await runner.run(agent, 'hi')
    expect(result.interruptions).toHaveLength(1)
    expect(bodies).toEqual([])
    expect(findAll(events, 'onComplete')).toEqual([])
    letAllGo()
    return result.state.toString()
  }

  it.each([
    ['approve', 'found a', ['a']],
    ['reject', 'too much', []],
  ] as const)('goes on when the answer is to %s it', async (answer, told, ran) => {
    const saved = await parked()
    const { runner, bodies, events } = processOf(answer)
    const model = scripted('done')
    const agent = agentOf({ model, tools: [looking(bodies)] })

    const result = await runner.run(agent, await RunState.fromString(agent, saved))

    expect(result.finalOutput).toBe('done')
    expect(bodies).toEqual(ran)
    expect(JSON.stringify(model.lastCall?.request.input)).toContain(told)
    expect(findAll(events, 'afterHumanIntervention')).toMatchObject([{ approver: 'ines' }])
    expect(findAll(events, 'onComplete')).toMatchObject([
      { reason: 'done', totals: { steps: 2, toolCalls: 1 } },
    ])
  })

  it('waits on where there is no answer, as often as it takes', async () => {
    let saved = await parked()
    for (const _time of [1, 2]) {
      const { runner, bodies } = processOf('park')
      const agent = agentOf({ model: scripted(), tools: [looking(bodies)] })
      const result = await runner.run(agent, await RunState.fromString(agent, saved))
      expect(result.interruptions).toHaveLength(1)
      expect(bodies).toEqual([])
      saved = result.state.toString()
      letAllGo()
    }
    const { runner, bodies } = processOf('approve')
    const agent = agentOf({ model: scripted('done'), tools: [looking(bodies)] })
    await runner.run(agent, await RunState.fromString(agent, saved))
    expect(bodies).toEqual(['a'])
  })

  it('asks the human once, however often it goes on before there is an answer', async () => {
    const approvals = createApprovals({ mode: 'park' })
    const dispatcher = new HookDispatcher()
    dispatcher.use(approvals)
    dispatcher.use({ name: 'careful', gates: [requireHuman({ match: 'look' })] })
    const [bodies, events] = [[] as string[], eventsOf(dispatcher)]
    const goOn = async (saved: string | undefined, ...turns: Parameters<typeof scripted>) => {
      letAllGo()
      const agent = agentOf({ model: scripted(...turns), tools: [looking(bodies)] })
      const input = saved === undefined ? 'hi' : await RunState.fromString(agent, saved)
      return observed(bareRunner(), { dispatcher }).run(agent, input as never)
    }
    let saved = (await goOn(undefined, LOOK as never)).state.toString()
    for (const _time of [1, 2]) saved = (await goOn(saved)).state.toString()
    const [asked, ...others] = await approvals.list()
    expect(others).toEqual([])
    await approvals.respond(asked?.request.id as string, { decision: 'approve' })
    expect((await goOn(saved, 'done')).finalOutput).toBe('done')
    expect(bodies).toEqual(['a'])
    for (const type of ['beforeHumanIntervention', 'afterHumanIntervention', 'afterToolCall'] as const)
      expect(findAll(events, type), type).toHaveLength(1)
    expect(findAll(events, 'onComplete')).toMatchObject([{ totals: { toolCalls: 1 } }])
  })

  it('is not answered by the approval of the SDK', async () => {
    const saved = await parked()
    const { runner, bodies } = processOf('park')
    const agent = agentOf({ model: scripted('done'), tools: [looking(bodies)] })
    const state = await RunState.fromString(agent, saved)
    state.approve(state.getInterruptions()[0] as never)

    await expect(runner.run(agent, state)).rejects.toMatchObject({ code: 'INVALID_STATE' })

    expect(bodies).toEqual([])
  })
})

describe('a call that its own tool wants a human for', () => {
  async function parked() {
    const { runner, bodies, events } = processOf(undefined, false)
    const agent = agentOf({ model: scripted(LOOK), tools: [looking(bodies, { needsApproval: true })] })
    const result = await runner.run(agent, 'hi')
    expect(result.interruptions).toHaveLength(1)
    expect(findAll(events, 'beforeHumanIntervention')).toMatchObject([
      { pendingTools: [{ apiName: 'look' }] },
    ])
    letAllGo()
    return result.state.toString()
  }

  it.each([
    [true, ['a'], 'approve'],
    [false, [], 'rejectAndContinue'],
  ])('is answered as the SDK has it (approved: %s)', async (approved, ran, action) => {
    const saved = await parked()
    const { runner, bodies, events } = processOf(undefined, false)
    const agent = agentOf({ model: scripted('done'), tools: [looking(bodies, { needsApproval: true })] })
    const state = await RunState.fromString(agent, saved)
    const [item] = state.getInterruptions()
    if (approved) state.approve(item as never)
    else state.reject(item as never, { message: 'too dear' })
    const why = approved ? {} : { rejectionReason: 'too dear' }

    const result = await runner.run(agent, state)

    expect(result.finalOutput).toBe('done')
    expect(bodies).toEqual(ran)
    expect(findAll(events, 'beforeHumanIntervention')).toEqual([])
    expect(findAll(events, 'afterHumanIntervention')).toMatchObject([{ action, ...why }])
    expect(findAll(events, 'afterToolCall')).toHaveLength(1)
    expect(findAll(events, 'onComplete')).toMatchObject([{ totals: { steps: 2, toolCalls: 1 } }])
  })
})

describe('a call of a tool that a human has approved for good', () => {
  it.each([
    ['approve', 'found b', ['a', 'b']],
    ['park', 'not possible', ['a']],
  ] as const)('is decided on where the SDK does not stop any more: %s', async (answer, told, ran) => {
    const dispatcher = new HookDispatcher()
    const approver: Approver = {
      requestApproval: async () =>
        answer === 'approve' ? { decision: 'approve', approver: 'ines' } : { decision: 'park' },
    }
    const asks = requireHuman({ match: 'look', when: ({ payload }) => (payload as { q: string }).q === 'b' })
    dispatcher.use({ name: 'careful', gates: [asks], approver })
    const [events, bodies] = [eventsOf(dispatcher), [] as string[]]
    const model = scripted(LOOK, [['look', { q: 'b' }]], 'done')
    const agent = agentOf({ model, tools: [looking(bodies, { needsApproval: true })] })
    const runner = observed(bareRunner(), { dispatcher })
    const { state, interruptions } = await runner.run(agent, 'hi')
    state.approve(interruptions[0] as never, { alwaysApprove: true })

    const result = await runner.run(agent, state)

    expect(result.finalOutput).toBe('done')
    expect(bodies).toEqual(ran)
    expect(JSON.stringify(model.lastCall?.request.input)).toContain(told)
    expect(findAll(events, 'afterStep').map(({ stepIndex }) => stepIndex)).toEqual([0, 1, 2])
    expect(findAll(events, 'onComplete')).toMatchObject([{ totals: { steps: 3, toolCalls: 2 } }])
  })
})

describe('a call that its own tool wants a human for, where nobody has answered yet', () => {
  it('waits on, and is asked about once', async () => {
    const { runner, bodies, events } = processOf(undefined, false)
    const tools = [looking(bodies, { needsApproval: true })]
    const agent = agentOf({ model: scripted(LOOK, 'done'), tools })
    let state = (await runner.run(agent, 'hi')).state as RunState<unknown, typeof agent>
    for (const _time of [1, 2]) {
      const saved = await RunState.fromString(agent, state.toString())
      state = (await runner.run(agent, saved)).state
    }
    for (const item of state.getInterruptions()) state.approve(item)

    expect((await runner.run(agent, state)).finalOutput).toBe('done')
    for (const type of ['beforeHumanIntervention', 'afterHumanIntervention', 'afterToolCall'] as const)
      expect(findAll(events, type), type).toHaveLength(1)
  })
})

describe('a call that a condition of its own tool wants a human for', () => {
  it.each(['in this process', 'elsewhere'])('is asked about once, and told once, %s', async (where) => {
    const { runner, bodies, events } = processOf(undefined, false)
    const tools = [looking(bodies, { needsApproval: async () => true })]
    const agent = agentOf({ model: scripted(LOOK, 'done'), tools })
    const first = await runner.run(agent, 'hi')
    const elsewhere = where === 'elsewhere'
    const state = elsewhere ? await RunState.fromString(agent, first.state.toString()) : first.state
    for (const item of state.getInterruptions()) state.approve(item)

    expect((await runner.run(agent, state as typeof first.state)).finalOutput).toBe('done')

    expect(bodies).toEqual(['a'])
    expect(findAll(events, 'beforeHumanIntervention')).toHaveLength(1)
    expect(findAll(events, 'afterHumanIntervention')).toMatchObject([{ action: 'approve' }])
    expect(findAll(events, 'afterToolCall')).toMatchObject([{ outcome: 'completed' }])
    expect(findAll(events, 'onComplete')).toMatchObject([{ totals: { steps: 2, toolCalls: 1 } }])
  })
})

describe('calls that waited before anybody observed', () => {
  it('are of one step once the run goes on, and the next model call is of another', async () => {
    const bodies: string[] = []
    const calls = ['a', 'b'].map((q): [string, object] => ['look', { q }])
    const agent = agentOf({
      model: scripted(calls, 'done'),
      tools: [looking(bodies, { needsApproval: true })],
    })
    const { state } = await bareRunner().run(agent, 'hi')
    for (const item of state.getInterruptions()) state.approve(item)
    const { runner, events } = processOf(undefined, false)

    expect((await runner.run(agent, state)).finalOutput).toBe('done')

    expect(bodies).toEqual(['a', 'b'])
    expect(findAll(events, 'afterToolCall').map(({ stepIndex }) => stepIndex)).toEqual([0, 0])
    expect(findAll(events, 'beforeLlmCall')).toMatchObject([{ stepIndex: 1 }])
  })

  it.each([
    ['in this process', undefined],
    ['in this process', 'approve'],
    ['in this process', 'park'],
    ['elsewhere', undefined],
    ['elsewhere', 'park'],
  ] as const)(
    'because of a condition, and are approved, are told once, %s (a gate asks: %s)',
    async (where, answer) => {
      const bodies: string[] = []
      const model = scripted(LOOK, 'done')
      const agent = agentOf({ model, tools: [looking(bodies, { needsApproval: async () => true })] })
      const { state } = await bareRunner().run(agent, 'hi')
      const resumed = where === 'elsewhere' ? await RunState.fromString(agent, state.toString()) : state
      for (const item of resumed.getInterruptions()) resumed.approve(item as never)
      const { runner, events } = processOf(answer, answer !== undefined)

      expect((await runner.run(agent, resumed as never)).finalOutput).toBe('done')

      expect(bodies).toEqual(answer === 'park' ? [] : ['a'])
      expect(findAll(events, 'beforeHumanIntervention')).toHaveLength(answer === undefined ? 0 : 1)
      expect(findAll(events, 'beforeToolCall')).toHaveLength(1)
      expect(findAll(events, 'onComplete')).toMatchObject([{ totals: { steps: 2, toolCalls: 1 } }])
    },
  )
})

describe('a run that nobody observed, and that goes on', () => {
  const waiting = async (...turns: Parameters<typeof scripted>) => {
    const model = scripted(LOOK, ...turns)
    const agent = agentOf({ model, tools: [looking([], { needsApproval: true })] })
    const { state } = await bareRunner().run(agent, 'I am ann@shop.test.')
    const resumed = await RunState.fromString(agent, state.toString())
    for (const item of resumed.getInterruptions()) resumed.approve(item)
    return { model, agent, state: resumed as never }
  }
  const runnerWith = (gate: Gate) => {
    const dispatcher = new HookDispatcher()
    dispatcher.use({ name: 'careful', gates: [gate] })
    return { events: eventsOf(dispatcher), runner: observed(bareRunner(), { dispatcher }) }
  }

  it('asks what gates make of the input that it began with', async () => {
    const { model, agent, state } = await waiting('done')
    const decide = ({ payload }: { payload: unknown }) =>
      mutate(String(payload).replace(/\S+@\S+/, '[email].'))
    const { events, runner } = runnerWith({ id: 'clean', point: 'onStart', decide })

    const { history } = await runner.run(agent, state)

    expect(find(events, 'onStart')).toMatchObject({ input: expect.stringContaining('I am ') })
    expect(JSON.stringify([model.lastCall?.request.input, history])).not.toContain('ann@')
    expect(JSON.stringify(model.lastCall?.request.input)).toContain('I am [email].')
  })

  it('does not go on where it is refused', async () => {
    const { model, agent, state } = await waiting('done')
    const decide = ({ payload }: { payload: unknown }) =>
      String(payload).includes('ann@') ? deny('no names') : undefined
    const { runner } = runnerWith({ id: 'no', point: 'onStart', decide })

    await expect(runner.run(agent, state)).rejects.toMatchObject({ code: 'RUN_DENIED' })

    expect(model.calls).toHaveLength(1)
  })
})

describe('a call of a tool in a namespace', () => {
  async function parked(gated: boolean) {
    const { runner, bodies, events } = processOf('park', gated)
    const tools = toolNamespace({
      name: 'crm',
      description: 'Customers.',
      tools: [looking(bodies, { needsApproval: !gated })],
    })
    const call = { ...functionCall('look', { q: 'a' }, { callId: 'call_1' }), namespace: 'crm' }
    const model = new ScriptedModel([[call], [assistantMessage('done')]])
    const agent = agentOf({ model, tools })
    const { state } = await runner.run(agent, 'hi')
    const [item] = state.getInterruptions()
    return { runner, bodies, events, agent, state, item: item as never }
  }

  it.each([
    [true, ['a'], 'approve'],
    [false, [], 'rejectAndContinue'],
  ])('is answered by the human of the SDK (approved: %s)', async (approved, ran, action) => {
    const { runner, bodies, events, agent, state, item } = await parked(false)
    if (approved) state.approve(item)
    else state.reject(item, { message: 'too dear' })
    const why = approved ? {} : { reason: 'too dear' }

    expect((await runner.run(agent, state)).finalOutput).toBe('done')
    expect(bodies).toEqual(ran)
    expect(findAll(events, 'afterHumanIntervention')).toMatchObject([{ action }])
    expect(findAll(events, 'afterToolCall')).toMatchObject([{ stepIndex: 0, ...why }])
  })

  it('is not answered by the approval of the SDK where a gate asks', async () => {
    const { runner, bodies, agent, state, item } = await parked(true)
    state.approve(item)

    await expect(runner.run(agent, state)).rejects.toMatchObject({ code: 'INVALID_STATE' })
    expect(bodies).toEqual([])
  })
})

describe('a mocked call that its own tool wants a human for', () => {
  it.each([
    [true, 'mocked'],
    [false, 'rejected'],
  ])('asks first, and is mocked once it is approved (approved: %s)', async (approved, outcome) => {
    const { dispatcher, runner, bodies, events } = processOf(undefined, false)
    using mocks = mockTools(dispatcher, [mock('look').returns('canned').optional()])
    const model = scripted(LOOK, 'done')
    const agent = agentOf({ model, tools: [looking(bodies, { needsApproval: true })] })
    const { state, interruptions } = await runner.run(agent, 'hi')
    expect(interruptions).toHaveLength(1)
    expect(mocks.calls('look')).toHaveLength(0)
    if (approved) state.approve(interruptions[0] as never)
    else state.reject(interruptions[0] as never)

    const result = await runner.run(agent, state)

    expect(result.finalOutput).toBe('done')
    expect(bodies).toEqual([])
    expect(findAll(events, 'beforeToolCall')).toHaveLength(1)
    expect(findAll(events, 'afterToolCall')).toMatchObject([{ outcome }])
  })
})

describe('a handoff that waits beside a call in the state of a run', () => {
  it.each([false, true])('is decided on once the run goes on elsewhere (streamed: %s)', async (stream) => {
    let saved: string | undefined
    for (const turns of [[[...LOOK, ['transfer_to_billing', {}, 'h']]], ['stayed']]) {
      const { runner, dispatcher, events } = processOf(saved === undefined ? 'park' : 'approve')
      dispatcher.use({ name: 'guard', gates: [toolPolicy({ deny: ['transfer_to_*'] })] })
      const billing = agentOf({ name: 'billing', model: scripted('billed') })
      const model = scripted(...(turns as Parameters<typeof scripted>))
      const agent = agentOf({ model, tools: [looking([])], handoffs: [billing] })
      const input = saved === undefined ? 'hi' : await RunState.fromString(agent, saved)
      const result = await runner.run(agent, input as never, { stream: stream as never })
      await (result as { completed?: Promise<void> }).completed
      saved = result.state.toString()
      if (input === 'hi') continue
      expect(result.finalOutput).toBe('stayed')
      expect(findAll(events, 'afterToolCall')).toMatchObject([
        { apiName: 'look', outcome: 'completed' },
        { apiName: 'transfer_to_billing', outcome: 'denied', toolCallId: 'h' },
      ])
      expect(JSON.stringify(model.lastCall?.request.input)).toContain('tool_not_allowed')
    }
  })
})

describe('a handoff that a gate wants a human for', () => {
  it('is denied where the approver parks runs, as the SDK asks no handoff', async () => {
    const approvals = createApprovals({ mode: 'park' })
    const dispatcher = new HookDispatcher()
    dispatcher.use(approvals)
    dispatcher.use({ name: 'careful', gates: [requireHuman({ match: 'transfer_to_*' })] })
    const events = eventsOf(dispatcher)
    const model = scripted([['transfer_to_billing', {}]], 'stayed')
    const agent = agentOf({ model, handoffs: [agentOf({ name: 'billing', model })] })

    const result = await observed(bareRunner(), { dispatcher }).run(agent, 'hi')

    expect(result.finalOutput).toBe('stayed')
    expect(JSON.stringify(model.lastCall?.request.input)).toContain('let it wait in the process')
    expect(findAll(events, 'afterToolCall')).toMatchObject([{ outcome: 'denied', code: 'approval_error' }])
    expect(await approvals.list()).toMatchObject([{ status: 'cancelled' }])
  })
})

describe('a human who is asked in the process', () => {
  it('is waited for, and the SDK does not notice', async () => {
    const { runner, bodies, events } = processOf('approve')
    const agent = agentOf({ model: scripted(LOOK, 'done'), tools: [looking(bodies)] })

    const result = await runner.run(agent, 'hi')

    expect(result.interruptions).toEqual([])
    expect(bodies).toEqual(['a'])
    expect(findAll(events, 'afterHumanIntervention')).toMatchObject([{ action: 'approve', approver: 'ines' }])
  })
})

describe('a call in an agent that is a tool', () => {
  const team = (bodies: string[], inner: ReturnType<typeof scripted>, outer: ReturnType<typeof scripted>) => {
    const expert = new Agent({ name: 'expert', model: inner, tools: [looking(bodies)] })
    const tools = [expert.asTool({ toolName: 'expert', toolDescription: '' })]
    return agentOf({ model: outer, tools })
  }

  it('parks both runs, and both go on', async () => {
    const first = processOf('park')
    const before = await first.runner.run(
      team(first.bodies, scripted(LOOK), scripted([['expert', { input: 'help' }]])),
      'hi',
    )
    expect(before.interruptions).toHaveLength(1)
    expect(findAll(first.events, 'onComplete')).toEqual([])
    const saved = before.state.toString()
    letAllGo()
    const second = processOf('approve')
    const agent = team(second.bodies, scripted('it is 42'), scripted('done'))

    const result = await second.runner.run(agent, await RunState.fromString(agent, saved))

    expect(result.finalOutput).toBe('done')
    expect(second.bodies).toEqual(['a'])
    expect(findAll(second.events, 'onComplete').map(({ agentName }) => agentName)).toEqual([
      'expert',
      'support',
    ])
    const events = [...first.events, ...second.events]
    expect(findAll(events, 'beforeCallAgent')).toHaveLength(1)
    expect(findAll(events, 'afterCallAgent')).toMatchObject([{ agentName: 'expert', content: 'it is 42' }])
  })
})

describe('a tool with a condition of its own, whose schema changes what it is given', () => {
  const parameters = z.object({
    q: z.string().trim().default('x'),
    n: z.string().pipe(z.coerce.number()),
  })
  const said: [string, object][] = [['look', { q: ' a', n: '7' }]]
  const made = { q: 'a', n: 7 }

  function looker(ran: unknown[], needsApproval: () => Promise<boolean>) {
    const execute = (given: unknown) => {
      ran.push(given)
      return 'found'
    }
    return tool({ name: 'look', description: 'Looks.', parameters, execute, needsApproval })
  }

  it('runs as without us, where nobody decides and where a gate lets it', async () => {
    const ran: unknown[] = []
    let checked = 0
    const tools = [looker(ran, async () => ++checked < 0)]
    for (const gated of [false, true]) {
      const { runner } = processOf('approve', gated)
      await runner.run(agentOf({ model: scripted(said, 'done'), tools }), 'hi')
    }
    expect(ran).toEqual([made, made])
    expect(checked).toBe(2)
  })

  it.each(['in this process', 'elsewhere'])(
    'runs once a human has said yes to what the schema made, %s',
    async (where) => {
      const ran: unknown[] = []
      const tools = [looker(ran, async () => false)]
      const dispatcher = new HookDispatcher()
      const approvals = createApprovals({ mode: 'park' })
      dispatcher.use(approvals)
      dispatcher.use({ name: 'careful', gates: [requireHuman()] })
      const runner = observed(bareRunner(), { dispatcher })
      const agent = agentOf({ model: scripted(said, 'done'), tools })
      const { state } = await runner.run(agent, 'hi')
      const [asked] = await approvals.list()
      expect(asked?.request.args).toEqual(made)
      await approvals.respond(asked?.request.id ?? '', { decision: 'approve' })
      const elsewhere = where === 'elsewhere' && (await RunState.fromString(agent, state.toString()))
      const result = elsewhere ? await runner.run(agent, elsewhere) : await runner.run(agent, state)
      expect(result.finalOutput).toBe('done')
      expect(ran).toEqual([made])
    },
  )
})
