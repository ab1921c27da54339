import { AsyncLocalStorage } from 'node:async_hooks'
import { createRequire } from 'node:module'
import * as agents from '@openai/agents'
import {
  Agent,
  type HandoffInputData,
  handoff,
  MemorySession,
  Runner,
  RunState,
  run,
  tool,
} from '@openai/agents'
import { HookDispatcher, type HookEvent } from 'hookspan'
import { deny, mutate } from 'hookspan/gates'
import { mock, mockTools, recordTools, replayTools } from 'hookspan/mock'
import { observeAgents, unobserveAgents } from 'hookspan/openai-agents'
import { toolPolicy } from 'hookspan/policies'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { z } from 'zod'
import { eventsOf, findAll } from '../../support/told-events.ts'
import { agentOf, bareRunner, letAllGo, looking, observed as observeRunner, scripted } from './support.ts'

afterEach(letAllGo)

const LOOK: [string, object][] = [['look', { q: 'a' }]]

/** What was told of the first call. */
const answerOf = (items: readonly unknown[]) =>
  JSON.stringify(items.find((item) => (item as { type?: string }).type === 'function_call_result'))

describe('an observed runner', () => {
  it('makes each run an operation, and leaves its result as it is', async () => {
    const told = async (runner: Runner) => {
      const bodies: string[] = []
      const model = scripted(LOOK, 'done')
      const result = await runner.run(agentOf({ model, tools: [looking(bodies)] }), 'Look up a.')
      const { finalOutput, history, lastResponseId, state } = result
      const requests = model.calls.map(({ request }) => request.input)
      return { finalOutput, history, lastResponseId, bodies, requests, step: state.toJSON().currentStep }
    }
    const dispatcher = new HookDispatcher()
    const events = eventsOf(dispatcher)

    const observed = await told(observeRunner(bareRunner(), { dispatcher }))

    expect(observed).toEqual(await told(bareRunner()))
    expect(findAll(events, 'onComplete')).toMatchObject([
      {
        agentName: 'support',
        reason: 'done',
        content: 'done',
        totals: { steps: 2, toolCalls: 1, llmCalls: 2 },
      },
    ])
    expect(findAll(events, 'afterToolCall')).toMatchObject([
      { apiName: 'look', args: { q: 'a' }, toolCallId: 'call_1', result: 'found a' },
    ])
  })

  it('emits the same lifecycle events of the SDK', async () => {
    const told = async (runner: Runner) => {
      const names: string[] = []
      for (const name of ['agent_start', 'agent_end', 'agent_tool_start', 'agent_tool_end'] as const) {
        runner.on(name, () => void names.push(name))
      }
      await runner.run(agentOf({ model: scripted(LOOK, 'done'), tools: [looking([])] }), 'hi')
      return names
    }

    const observed = await told(observeRunner(bareRunner(), { dispatcher: new HookDispatcher() }))

    expect(observed).toEqual(await told(bareRunner()))
  })

  it('is observed once, however often it is attached', async () => {
    const dispatcher = new HookDispatcher()
    const events = eventsOf(dispatcher)
    const runner = bareRunner()
    observeRunner(observeRunner(runner, { dispatcher }), { dispatcher })
    observeAgents(agents, { dispatcher })

    await runner.run(agentOf({ model: scripted(LOOK, 'done'), tools: [looking([])] }), 'hi')

    unobserveAgents(agents)
    expect(findAll(events, 'onComplete')).toHaveLength(1)
    expect(findAll(events, 'afterToolCall')).toHaveLength(1)
  })

  it('keeps a copy of an observed tool from being two calls', async () => {
    const dispatcher = new HookDispatcher()
    const events = eventsOf(dispatcher)
    const runner = observeRunner(bareRunner(), { dispatcher })
    const look = looking([])
    await runner.run(agentOf({ model: scripted(LOOK, 'done'), tools: [look] }), 'hi')

    await runner.run(agentOf({ model: scripted(LOOK, 'done'), tools: [{ ...look }] }), 'hi')

    expect(findAll(events, 'afterToolCall')).toHaveLength(2)
  })

  it('is as it was before once it is let go, and so are tools, models and prototypes', async () => {
    const dispatcher = new HookDispatcher()
    const events = eventsOf(dispatcher)
    const look = looking([])
    const model = scripted(LOOK, 'done', LOOK, 'done')
    const runner = bareRunner()
    const own = () => [
      Object.getOwnPropertyDescriptors(look),
      Object.getOwnPropertyDescriptors(model),
      Object.getOwnPropertyDescriptors(runner.config.modelProvider),
      Object.getOwnPropertyDescriptor(Runner.prototype, 'run'),
      Object.getOwnPropertyDescriptor(Agent.prototype, 'getAllTools'),
      Object.getOwnPropertyDescriptor(Agent.prototype, 'getEnabledHandoffs'),
      Reflect.get(runner, 'eventEmitter').listenerCount('agent_tool_start'),
    ]
    const before = own()
    observeAgents(runner, { dispatcher })
    await runner.run(agentOf({ model, tools: [look] }), 'hi')
    expect(own()).not.toEqual(before)

    unobserveAgents(runner)

    expect(own()).toEqual(before)
    await runner.run(agentOf({ model, tools: [look] }), 'hi')
    expect(findAll(events, 'onComplete')).toHaveLength(1)
  })

  it('goes on to be guarded while a run is under way that began before it was let go', async () => {
    const dispatcher = new HookDispatcher()
    dispatcher.use({ name: 'guard', gates: [toolPolicy({ deny: ['wipe'] })] })
    const bodies: string[] = []
    const runner = observeRunner(bareRunner(), { dispatcher })
    const letGo = looking([], { execute: () => `gone: ${unobserveAgents(runner) === runner}` })
    const wipe = looking(bodies, { name: 'wipe' })
    const model = scripted(LOOK, [['wipe', { q: 'all' }]], 'done')

    await runner.run(agentOf({ model, tools: [letGo, wipe] }), 'hi')

    expect(bodies).toEqual([])
  })

  it('tells both copies of the SDK apart, the ES module and the CommonJS one', async () => {
    const other = createRequire(import.meta.url)('@openai/agents') as typeof agents
    expect(other.Runner).not.toBe(Runner)
    const dispatcher = new HookDispatcher()
    const events = eventsOf(dispatcher)
    observeAgents(other, { dispatcher })
    other.setTracingDisabled(true)

    await bareRunner().run(agentOf({ model: scripted('not seen') }), 'hi')
    await other.run(new other.Agent({ name: 'other', model: scripted('seen') }), 'hi')

    unobserveAgents(other)
    expect(findAll(events, 'onComplete')).toMatchObject([{ agentName: 'other', content: 'seen' }])
  })

  it.each([
    [undefined, '`undefined`'],
    [{}, 'an empty object'],
    [{ run() {} }, 'object'],
    [new Agent({ name: 'a' }), 'object'],
  ])('refuses what is neither a runner nor the module', (target, shown) => {
    const attach = () => observeAgents(target as object, { dispatcher: new HookDispatcher() })

    expect(attach).toThrow(
      /Expected the first argument of observeAgents to be a Runner of @openai\/agents, or the module itself/,
    )
    expect(attach).toThrow(shown)
  })

  it('refuses a second dispatcher, a missing one and a misspelt option', () => {
    const runner = observeRunner(bareRunner(), { dispatcher: new HookDispatcher() })

    expect(() => observeAgents(runner, { dispatcher: new HookDispatcher() })).toThrow(/another dispatcher/)
    expect(() => observeAgents(runner, {} as never)).toThrow(/needs a `dispatcher`/)
    const misspelt = { dispatcher: new HookDispatcher(), agentname: 'a' }
    expect(() => observeAgents(bareRunner(), misspelt as never)).toThrow(/agentname/)
  })
})

describe('the global run', () => {
  afterEach(() => void unobserveAgents(agents))

  it('is observed by its module', async () => {
    const dispatcher = new HookDispatcher()
    const events = eventsOf(dispatcher)
    observeAgents(agents, { dispatcher })

    const result = await run(agentOf({ model: scripted(LOOK, 'done'), tools: [looking([])] }), 'hi')

    expect(result.finalOutput).toBe('done')
    expect(findAll(events, 'afterToolCall')).toMatchObject([{ result: 'found a' }])
  })
})

describe('a tool', () => {
  const failing = (more: object = {}) =>
    looking([], { execute: () => Promise.reject(new Error('the shelf fell down')), ...more })

  it.each([
    ['the words of the SDK', {}, 'An error occurred while running the tool. Please try again.', /occurred/],
    ['words of its own', { errorFunction: () => 'sorry' }, 'sorry', /the shelf fell down/],
  ])('that throws is told as failed, and the model is told %s', async (_name, more, said, why) => {
    for (const tracingDisabled of [true, false]) {
      const dispatcher = new HookDispatcher()
      const events = eventsOf(dispatcher)
      const model = scripted(LOOK, 'done')
      const runner = observeRunner(new Runner({ tracingDisabled }), { dispatcher })

      await runner.run(agentOf({ model, tools: [failing(more)] }), 'hi')

      expect(model.lastCall?.request.input.at(-1)).toMatchObject({ output: { text: said } })
      expect(findAll(events, 'onToolCallError')).toMatchObject([{ apiName: 'look' }])
      if (!tracingDisabled || more !== undefined) {
        expect(findAll(events, 'onToolCallError')[0]?.errorMessage).toMatch(
          tracingDisabled && said !== 'sorry' ? /./ : why,
        )
      }
    }
  })

  it('that a mock throws for is told as it is, whatever `errorFunction` it has', async () => {
    const dispatcher = new HookDispatcher()
    const handler = (event: HookEvent<'beforeToolCall'>) => event.mock({ error: new Error('sold out') })
    dispatcher.use({ name: 'mocks', hooks: [{ id: 'mocks', type: 'beforeToolCall', handler }] })
    const model = scripted(LOOK, 'done')
    const agent = agentOf({ model, tools: [failing({ errorFunction: null })] })

    await observeRunner(bareRunner(), { dispatcher }).run(agent, 'hi')

    expect(model.lastCall?.request.input.at(-1)).toMatchObject({ output: { text: 'Error: sold out' } })
  })

  it('that throws through the SDK ends the run as without us', async () => {
    const told = (runner: Runner) =>
      runner
        .run(agentOf({ model: scripted(LOOK, 'done'), tools: [failing({ errorFunction: null })] }), 'hi')
        .then(String, (error: Error) => `${error.name}: ${error.message}`)
    const dispatcher = new HookDispatcher()
    const events = eventsOf(dispatcher)

    const observed = await told(observeRunner(bareRunner(), { dispatcher }))

    expect(observed).toBe(await told(bareRunner()))
    expect(findAll(events, 'onToolCallError')).toMatchObject([{ errorMessage: 'the shelf fell down' }])
    expect(findAll(events, 'onComplete')).toMatchObject([{ reason: 'error' }])
  })

  it.each([
    ['no JSON', '{"q":'],
    ['other than the schema', '{"q":1}'],
    ['no object', '[]'],
    ['empty', ''],
  ])('is told as without us that its input is %s', async (_name, input) => {
    const told = async (runner: Runner) => {
      const bodies: string[] = []
      const model = scripted([['look', input as never]], 'done')
      const result = await runner.run(agentOf({ model, tools: [looking(bodies)] }), 'hi')
      return { bodies, interruptions: result.interruptions.length, input: model.lastCall?.request.input }
    }

    const observed = await told(observeRunner(bareRunner(), { dispatcher: new HookDispatcher() }))

    expect(observed).toEqual(await told(bareRunner()))
  })

  it.each([true, false])(
    'is held to its JSON Schema where a gate changed its arguments, of which the SDK checks nothing (strict: %s)',
    async (strict) => {
      const dispatcher = new HookDispatcher()
      const events = eventsOf(dispatcher)
      const made = [{ q: 7 }, { query: 'b' }, { q: 'b' }]
      const decide = () => mutate(made.shift())
      dispatcher.use({ name: 'guard', gates: [{ id: 'other', point: 'beforeToolCall', decide }] })
      const bodies: unknown[] = []
      const parameters = { type: 'object', properties: { q: { type: 'string' } }, required: ['q'] } as const
      const look = tool({
        ...{ name: 'look', description: '', strict: strict as never },
        parameters: { ...parameters, additionalProperties: !strict } as never,
        execute: async (args) => {
          bodies.push(args)
          return 'found'
        },
      })
      const model = scripted(LOOK, LOOK, LOOK, 'done')

      await observeRunner(bareRunner(), { dispatcher }).run(agentOf({ model, tools: [look] }), 'hi')

      expect(bodies).toEqual([{ q: 'b' }])
      expect(JSON.stringify(model.lastCall?.request.input)).toContain('do not fit the schema of the tool')
      expect(findAll(events, 'onToolCallError')).toHaveLength(2)
    },
  )

  it('has the arguments that its schema makes, and so has its condition of approval', async () => {
    const told = async (runner: Runner) => {
      const seen: unknown[] = []
      const pay = tool({
        name: 'pay',
        description: '',
        parameters: z.object({ amount: z.coerce.number() }),
        needsApproval: async (_context, args) => {
          seen.push(args)
          return false
        },
        execute: async (args) => {
          seen.push(args)
          return 'paid'
        },
      })
      await runner.run(agentOf({ model: scripted([['pay', { amount: '12' }]], 'done'), tools: [pay] }), 'hi')
      return seen
    }

    const observed = await told(observeRunner(bareRunner(), { dispatcher: new HookDispatcher() }))

    expect(observed).toEqual([{ amount: 12 }, { amount: 12 }])
    expect(observed).toEqual(await told(bareRunner()))
  })

  it('runs with the storage of its user and the context of the SDK', async () => {
    const storage = new AsyncLocalStorage<string>()
    const runner = observeRunner(bareRunner(), { dispatcher: new HookDispatcher() })
    const seen: unknown[] = []
    const look = looking([], {
      execute: (_args: unknown, context: { context: unknown }) => {
        seen.push(storage.getStore(), context.context)
        return 'ok'
      },
    })

    await storage.run('mine', () =>
      runner.run(agentOf({ model: scripted(LOOK, 'done'), tools: [look] }), 'hi', {
        context: { user: 'ines' },
      }),
    )

    expect(seen).toEqual(['mine', { user: 'ines' }])
  })

  it('is mocked, denied and changed by what every SDK takes', async () => {
    const dispatcher = new HookDispatcher()
    dispatcher.use({
      name: 'guards',
      gates: [
        toolPolicy({ deny: ['wipe'] }),
        { id: 'lower', point: 'beforeToolCall', match: 'echo', decide: () => mutate({ q: 'quiet' }) },
        { id: 'cut', point: 'afterToolCall', match: 'long', decide: () => mutate('short') },
      ],
    })
    using mocks = mockTools(dispatcher, [mock('look').returns({ tempC: 7 })], { onUnmocked: 'passthrough' })
    const bodies: string[] = []
    const tools = ['look', 'wipe', 'echo', 'long'].map((name) => looking(bodies, { name }))
    const model = scripted(
      tools.map(({ name }) => [name, { q: name }]),
      'done',
    )

    await observeRunner(bareRunner(), { dispatcher }).run(agentOf({ model, tools }), 'hi')

    const told = model.lastCall?.request.input.slice(-4) as { output: { text: string } }[]
    expect(told.map(({ output }) => output.text)).toEqual([
      '{"tempC":7}',
      expect.stringContaining('tool_not_allowed'),
      'found quiet',
      'short',
    ])
    expect(bodies.toSorted()).toEqual(['long', 'quiet'])
    mocks.assertUsed()
  })

  it('that an input guardrail of its own refuses is told as not run', async () => {
    const dispatcher = new HookDispatcher()
    const events = eventsOf(dispatcher)
    const bodies: string[] = []
    const look = looking(bodies, {
      inputGuardrails: [
        { name: 'no', run: async () => ({ behavior: { type: 'rejectContent', message: 'not now' } }) },
      ],
    })
    const model = scripted(LOOK, 'done')

    await observeRunner(bareRunner(), { dispatcher }).run(agentOf({ model, tools: [look] }), 'hi')

    expect(bodies).toEqual([])
    expect(findAll(events, 'onToolCallError')).toMatchObject([
      { errorMessage: expect.stringContaining('guardrail') },
    ])
  })
})

describe('a handoff', () => {
  const team = () => {
    const billing = new Agent({ name: 'billing', model: scripted('billed') })
    const model = scripted([['transfer_to_billing', {}]], 'stayed')
    return { model, triage: agentOf({ name: 'triage', model, handoffs: [billing] }) }
  }

  it('is a call of the agent that hands over, and goes on in the same run', async () => {
    const dispatcher = new HookDispatcher()
    const events = eventsOf(dispatcher)

    const result = await observeRunner(bareRunner(), { dispatcher }).run(team().triage, 'hi')

    expect(result.finalOutput).toBe('billed')
    expect(findAll(events, 'afterToolCall')).toMatchObject([
      {
        apiName: 'transfer_to_billing',
        source: 'agent',
        result: { assistant: 'billing' },
        toolCallId: 'call_1',
      },
    ])
    expect(findAll(events, 'onComplete')).toHaveLength(1)
    expect(findAll(events, 'afterStep')).toHaveLength(2)
  })

  it('that a gate denies stays with its agent, which is told why', async () => {
    const dispatcher = new HookDispatcher()
    dispatcher.use({
      name: 'guard',
      gates: [
        { id: 'no', point: 'beforeToolCall', match: 'transfer_to_*', decide: () => deny('closed today') },
      ],
    })
    const { model, triage } = team()

    const result = await observeRunner(bareRunner(), { dispatcher }).run(triage, 'hi')

    expect(result.finalOutput).toBe('stayed')
    expect(JSON.stringify(model.lastCall?.request.input)).toContain('closed today')
  })

  it('whose result a gate withholds stays with its agent, too', async () => {
    const dispatcher = new HookDispatcher()
    const decide = () => deny('closed today')
    dispatcher.use({ name: 'guard', gates: [{ id: 'no', point: 'afterToolCall', decide }] })
    const { model, triage } = team()

    const result = await observeRunner(bareRunner(), { dispatcher }).run(triage, 'hi')

    expect(result.finalOutput).toBe('stayed')
    expect(JSON.stringify(model.lastCall?.request.input)).toContain('closed today')
  })

  it.each([
    ['parks', false],
    ['parks', true],
    ['is remembered in a session', false],
    ['is remembered in a session', true],
  ])('that a gate denies stays denied where the run %s (streamed: %s)', async (how, stream) => {
    const session = how === 'parks' ? undefined : new MemorySession()
    let saved: string | undefined
    for (const turns of [
      [[['transfer_to_billing', {}, 'h']], session === undefined ? [['look', { q: 'a' }]] : 'stayed'],
      ['done'],
    ] as Parameters<typeof scripted>[]) {
      const dispatcher = new HookDispatcher()
      dispatcher.use({ name: 'guard', gates: [toolPolicy({ deny: ['transfer_to_*'] })] })
      const model = scripted(...turns)
      const tools = [looking([], { needsApproval: true })]
      const agent = agentOf({ name: 'triage', model, tools, handoffs: [agentOf({ name: 'billing', model })] })
      const state = saved === undefined ? undefined : await RunState.fromString(agent, saved)
      for (const item of state?.getInterruptions() ?? []) state?.approve(item)
      const given = { stream: stream as never, ...(session && { session }) }
      const result = await observeRunner(bareRunner(), { dispatcher }).run(agent, state ?? 'hi', given)
      await (result as { completed?: Promise<void> }).completed
      if (session === undefined) saved = result.state.toString()
      for (const told of [
        model.lastCall?.request.input,
        result.history,
        session && (await session.getItems()),
      ])
        if (told !== undefined) expect(answerOf(told as unknown[])).toContain('tool_not_allowed')
      letAllGo()
    }
  })

  it.each(['of the handoff', 'of the runner'])(
    'that is not made leaves its agent what a filter %s takes from the next one',
    async (whose) => {
      const inputFilter = (data: HandoffInputData) => ({
        ...data,
        inputHistory: [],
        preHandoffItems: [],
        newItems: [],
      })
      const dispatcher = new HookDispatcher()
      dispatcher.use({ name: 'guard', gates: [toolPolicy({ deny: ['transfer_to_*'] })] })
      const model = scripted([['transfer_to_billing', {}]], 'stayed')
      const billing = agentOf({ name: 'billing', model })
      const isHandoffs = whose === 'of the handoff'
      const triage = agentOf({ model, handoffs: [isHandoffs ? handoff(billing, { inputFilter }) : billing] })
      const runner = bareRunner(isHandoffs ? {} : { handoffInputFilter: inputFilter })

      const result = await observeRunner(runner, { dispatcher }).run(triage, 'hi')

      expect(result.finalOutput).toBe('stayed')
      const said = JSON.stringify(model.lastCall?.request.input)
      expect(said).toContain('hi')
      expect(said).toContain('tool_not_allowed')
      letAllGo()
      expect(runner.config.handoffInputFilter).toBe(isHandoffs ? undefined : inputFilter)
    },
  )

  it.each([false, true])(
    'to an agent of a class of its own has its tools decided on (frozen: %s)',
    async (frozen) => {
      class Special extends Agent {
        override getAllTools() {
          return Promise.resolve(this.tools as never)
        }
      }
      const execute = vi.fn(() => 'wiped')
      const wipe = tool({ name: 'wipe', description: 'Wipes.', parameters: z.object({}), execute })
      const model = scripted([['wipe', {}]], 'done')
      const to = handoff(new Special({ name: 'special', model, tools: [wipe] }))
      if (frozen) Object.freeze(to)
      const dispatcher = new HookDispatcher()
      dispatcher.use({ name: 'guard', gates: [toolPolicy({ deny: ['wipe'] })] })
      const first = agentOf({ model: scripted([['transfer_to_special', {}]]), handoffs: [to] })

      const result = await observeRunner(bareRunner(), { dispatcher }).run(first, 'hi')

      expect(result.finalOutput).toBe('done')
      expect(execute).not.toHaveBeenCalled()
    },
  )

  it('keeps what its user made of it', async () => {
    const heard: unknown[] = []
    const billing = new Agent({ name: 'billing', model: scripted('billed') })
    const to = handoff(billing, {
      inputType: z.object({ why: z.string() }),
      onHandoff: (_context, input) => void heard.push(input),
    })
    const model = scripted([['transfer_to_billing', { why: 'an invoice' }]])
    const runner = observeRunner(bareRunner(), { dispatcher: new HookDispatcher() })

    await runner.run(agentOf({ model, handoffs: [to] }), 'hi')

    expect(heard).toEqual([{ why: 'an invoice' }])
  })
})

describe('a handoff is a tool that the model is offered', () => {
  const run = (dispatcher: HookDispatcher) => {
    const billing = new Agent({ name: 'billing', model: scripted('billed') })
    const model = scripted([['transfer_to_billing', {}]], 'stayed')
    const agent = agentOf({ name: 'triage', model, tools: [looking([])], handoffs: [billing] })
    return { model, ran: observeRunner(bareRunner(), { dispatcher }).run(agent, 'hi') }
  }

  it('so that its mock and its recording stand for one that there is', async () => {
    const dispatcher = new HookDispatcher()
    const recorder = recordTools(dispatcher)
    await run(dispatcher).ran
    recorder[Symbol.dispose]()

    using replay = replayTools(dispatcher, { recording: recorder.recording() })
    expect((await run(dispatcher).ran).finalOutput).toBe('billed')
    replay.assertFollowed()
    replay[Symbol.dispose]()

    using mocks = mockTools(dispatcher, [
      mock('transfer_to_billing').returns('closed today'),
      mock('transfer_to_billing').optional().returns('closed tomorrow'),
    ])
    expect((await run(dispatcher).ran).finalOutput).toBe('stayed')
    mocks.assertUsed()
  })

  it('and that a gate may leave out', async () => {
    const dispatcher = new HookDispatcher()
    const isKept = ({ name }: { name: string }) => name !== 'transfer_to_billing'
    dispatcher.use({
      name: 'g',
      gates: [
        {
          id: 'g',
          point: 'beforeLlmCall',
          decide: ({ payload }) => {
            const { tools } = payload as { tools: { name: string }[] }
            return mutate({ ...(payload as object), tools: tools.filter(isKept) })
          },
        },
      ],
    })
    const { model, ran } = run(dispatcher)
    await ran
    expect(model.calls[0]?.request).toMatchObject({ tools: [{ name: 'look' }], handoffs: [] })
  })
})

describe('what a gate says of a request is sent, or refused', () => {
  type Asked = { tools: { name: string }[]; input: object[] }
  const sent = async (change: (payload: Asked) => object, stream = false) => {
    const dispatcher = new HookDispatcher()
    const decide = ({ payload }: { payload: unknown }) => mutate(change(payload as Asked))
    dispatcher.use({ name: 'g', gates: [{ id: 'g', point: 'beforeLlmCall', decide }] })
    const billing = new Agent({ name: 'billing', model: scripted('billed') })
    const model = scripted('stayed')
    const agent = agentOf({ name: 'triage', model, tools: [looking([])], handoffs: [billing] })
    const run = observeRunner(bareRunner(), { dispatcher })
    if (stream) await (await run.run(agent, 'hi', { stream: true })).completed
    else await run.run(agent, 'hi')
    return model.calls[0]?.request
  }
  const described = ({ tools }: Asked) => ({ tools: tools.map((tool) => ({ ...tool, description: 'new' })) })

  it.each([false, true])(
    'another description of a tool, a choice, a prompt, a developer (streamed: %s)',
    async (stream) => {
      expect(await sent(described, stream)).toMatchObject({
        tools: [{ type: 'function', name: 'look', description: 'new' }],
        handoffs: [{ toolName: 'transfer_to_billing', toolDescription: 'new' }],
      })
      const choose = () => ({ tool_choice: { type: 'function', name: 'look' } })
      expect(await sent(choose, stream)).toMatchObject({ modelSettings: { toolChoice: 'look' } })
      const prompt = { id: 'p', version: '2' }
      expect(await sent(() => ({ prompt }), stream)).toMatchObject({
        prompt: { promptId: 'p', version: '2' },
      })
      const add = ({ input }: Asked) => ({ input: [{ role: 'developer', content: 'Be kind.' }, ...input] })
      expect(await sent(add, stream)).toMatchObject({ input: [{ role: 'system', content: 'Be kind.' }, {}] })
    },
  )

  it.each<[object, string]>([
    [{ tools: [{ type: 'function', name: 'other' }] }, 'offers the model the tool "other"'],
    [{ max_tokens: 5 }, 'Say `max_output_tokens`'],
    [{ metadata: {} }, 'Set it at the agent or its `modelSettings`'],
    [{ stream: 'other' }, '`stream`'],
  ])('%j', async (set, mend) => {
    for (const stream of [false, true]) {
      const told = sent(() => set, stream)
      await expect(told).rejects.toMatchObject({
        code: 'NOT_CAPABLE',
        message: expect.stringContaining(mend),
      })
    }
  })
})

describe('a model', () => {
  it.each([false, true])('is answered for, changed and refused by gates (streamed: %s)', async (stream) => {
    const ask = async (decide: () => ReturnType<typeof deny>, point: 'beforeLlmCall' | 'afterLlmCall') => {
      const dispatcher = new HookDispatcher()
      dispatcher.use({ name: 'g', gates: [{ id: 'g', point, decide }] })
      const model = scripted('from the model')
      const runner = observeRunner(bareRunner(), { dispatcher })
      const agent = agentOf({ model, instructions: 'Be kind.' })
      if (!stream) return { said: (await runner.run(agent, 'hi')).finalOutput, model }
      const result = await runner.run(agent, 'hi', { stream: true })
      await result.completed
      return { said: result.finalOutput, model }
    }

    const skipped = await ask(() => ({ decision: 'skip', result: 'from the gate' }) as never, 'beforeLlmCall')
    expect(skipped).toMatchObject({ said: 'from the gate', model: { calls: [] } })
    const refused = await ask(() => deny('too dear'), 'beforeLlmCall')
    expect(refused).toMatchObject({ said: 'too dear', model: { calls: [] } })
    const changed = await ask(
      () => mutate({ instructions: 'Be brief.', temperature: 0 }) as never,
      'beforeLlmCall',
    )
    expect(changed.said).toBe('from the model')
    expect(changed.model.lastCall?.request).toMatchObject({
      systemInstructions: 'Be brief.',
      modelSettings: { temperature: 0 },
    })
    const rewritten = await ask(() => mutate({ content: 'rewritten' }) as never, 'afterLlmCall')
    expect(rewritten.said).toBe('rewritten')
  })
})

describe('a session', () => {
  it('names the conversation, and holds the same as without us', async () => {
    const dispatcher = new HookDispatcher()
    const events = eventsOf(dispatcher)
    const told = async (runner: Runner) => {
      const session = new MemorySession({ sessionId: 'conv-7' })
      for (const text of ['one', 'two']) {
        await runner.run(agentOf({ model: scripted(text) }), 'hi', { session })
      }
      return session.getItems()
    }

    const observed = await told(observeRunner(bareRunner(), { dispatcher }))

    expect(observed).toEqual(await told(bareRunner()))
    expect(findAll(events, 'onComplete').map(({ conversationId }) => conversationId)).toEqual([
      'conv-7',
      'conv-7',
    ])
  })
})
