import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { HookDispatcher } from 'hookspan'
import { adapterContract } from 'hookspan/adapter/contract'
import { createApprovals } from 'hookspan/approval'
import { deny, type Gate, mutate, proceed, requireApproval } from 'hookspan/gates'
import { hookspanPlugin, runWith } from 'hookspan/google-adk'
import { mock, mockTools, recordEvents } from 'hookspan/mock'
import { redact } from 'hookspan/policies'
import { describe, expect, it } from 'vitest'
import { googleAdkSubject, ScriptedLlm, textOf } from './subjects/google-adk.ts'
import type { Untyped } from './support/sdks.ts'

const sdk = '@google/adk'
const { AgentTool, BaseLlm, FunctionTool, GOOGLE_SEARCH, InMemoryRunner, LlmAgent, StreamingMode }: Untyped =
  await import(sdk)

const call = (name: string, args: object = { q: 'a' }) => ({ id: `call-${name}`, name, args })
const LOOK_THEN_DONE = [{ toolCalls: [call('look')] }, { content: 'done' }]
const PARAMETERS = { type: 'object', properties: { q: { type: 'string' } } }

const look = (execute: (args: { q: string }) => unknown) =>
  new FunctionTool({ name: 'look', description: 'Looks it up.', parameters: PARAMETERS, execute })

function agentOn(replies: readonly object[], tools: readonly Untyped[], name = 'support'): Untyped {
  return new LlmAgent({ name, model: new ScriptedLlm(replies), tools })
}

async function run(agent: Untyped, plugins: readonly object[]): Promise<string> {
  const runner = new InMemoryRunner({ agent, appName: 'app', plugins })
  let said = ''
  const newMessage = { role: 'user', parts: [{ text: 'my secret' }] }
  for await (const event of runner.runEphemeral({ userId: 'u', newMessage })) said = textOf(event) || said
  return said
}

describe('the contract holds for google-adk', () => {
  for (const { name, run } of adapterContract(googleAdkSubject)) it(name, run)
})

it('agents that are tools are decided on, too, though their runner has no plugins', async () => {
  const dispatcher = new HookDispatcher()
  dispatcher.use({
    name: 'guard',
    gates: [{ id: 'no', point: 'beforeToolCall', match: 'look', decide: () => deny('not here') }],
  })
  const bodies: string[] = []
  const expert = agentOn(
    [...LOOK_THEN_DONE.slice(0, 1), { content: 'I may not' }],
    [look(({ q }) => void bodies.push(q))],
    'expert',
  )
  const ask = { toolCalls: [call('expert', { request: 'help' })] }
  const agent = agentOn([ask, { content: 'done' }], [new AgentTool({ agent: expert })])
  expect(await run(agent, [hookspanPlugin({ dispatcher })])).toBe('done')
  expect(bodies).toEqual([])
})

it.each(['onStart', 'beforeCallAgent'] as const)(
  'what a gate at %s makes of what an agent that is a tool is asked is what its model is asked',
  async (point) => {
    const dispatcher = new HookDispatcher()
    const decide = ({ agentName }: { agentName?: string }) =>
      agentName === 'expert' || point === 'beforeCallAgent' ? mutate('help, redacted') : undefined
    dispatcher.use({ name: 'redacts', gates: [{ id: 'redacts', point, decide }] })
    const expert = agentOn([{ content: 'helped' }], [], 'expert')
    const ask = { toolCalls: [call('expert', { request: 'my secret' })] }
    const agent = agentOn([ask, { content: 'done' }], [new AgentTool({ agent: expert })])
    const heard: unknown[] = []
    const { model } = expert
    const own = model.generateContentAsync
    model.generateContentAsync = (request: Untyped, ...more: unknown[]) => {
      heard.push(request.contents.flatMap(({ parts }: Untyped) => parts.map(({ text }: Untyped) => text)))
      return own.call(model, request, ...more)
    }
    await run(agent, [hookspanPlugin({ dispatcher })])
    expect(heard).toEqual([['help, redacted']])
  },
)

it('agents that are tools, or are handed over to, run under strict mocks, as what they call is mocked', async () => {
  const dispatcher = new HookDispatcher()
  using mocks = mockTools(dispatcher, [mock('look').times(2).returns('mocked')])
  const live = look(() => Promise.reject(new Error('live')))
  const expert = agentOn(LOOK_THEN_DONE, [live], 'expert')
  const other = agentOn(LOOK_THEN_DONE, [live], 'other')
  const boss = new LlmAgent({
    name: 'boss',
    model: new ScriptedLlm([
      { toolCalls: [call('expert', { request: 'help' })] },
      { toolCalls: [call('transfer_to_agent', { agentName: 'other' })] },
    ]),
    tools: [new AgentTool({ agent: expert })],
    subAgents: [other],
  })
  expect(await run(boss, [hookspanPlugin({ dispatcher })])).toBe('done')
  mocks.assertUsed()
  expect(mocks.coverage()).toMatchObject({ live: [], refused: [], mocked: ['look'] })
})

it('a run that ends at its limit of model calls is one of too many steps', async () => {
  const dispatcher = new HookDispatcher()
  using log = recordEvents(dispatcher)
  const agent = agentOn(LOOK_THEN_DONE, [look(() => 'found')])
  const runner = new InMemoryRunner({ agent, appName: 'app', plugins: [hookspanPlugin({ dispatcher })] })
  const asked = { userId: 'u', newMessage: { role: 'user', parts: [{ text: 'hi' }] } }
  const said: Untyped[] = []
  for await (const event of runner.runEphemeral({ ...asked, runConfig: { maxLlmCalls: 1 } })) said.push(event)
  expect(said.at(-1).errorMessage).toMatch('limit of 1 exceeded')
  expect(log.events.filter(({ hookType }) => hookType === 'onComplete')).toMatchObject([
    { reason: 'max_steps' },
  ])
})

it.each([
  ['fails in a response', { errorCode: 'overloaded', errorMessage: 'try later' }, 'error'],
  ['refuses the prompt', { errorCode: 'SAFETY', errorMessage: 'no' }, 'done'],
  ['only counts', { errorCode: 'UNKNOWN_ERROR', usageMetadata: { promptTokenCount: 3 } }, 'done'],
])('a model that %s is told as that, and its reader is given what it said', async (_how, last, reason) => {
  class Saying extends BaseLlm {
    constructor() {
      super({ model: 'm' })
    }
    async *generateContentAsync() {
      yield { content: { role: 'model', parts: [{ text: 'half' }] } }
      yield last
    }
  }
  const readBy = async (plugins: readonly object[]) => {
    const agent = new LlmAgent({ name: 'support', model: new Saying() })
    const runner = new InMemoryRunner({ agent, appName: 'app', plugins })
    const read: unknown[] = []
    const newMessage = { role: 'user', parts: [{ text: 'hi' }] }
    for await (const event of runner.runEphemeral({ userId: 'u', newMessage }))
      read.push([textOf(event), event.errorCode, event.errorMessage])
    return read
  }
  const bare = await readBy([])
  expect(bare).toHaveLength(2)
  for (const gates of [[], [{ id: 'reads', point: 'afterLlmCall', decide: () => proceed() }]] as Gate[][]) {
    const dispatcher = new HookDispatcher()
    dispatcher.use({ name: 'g', gates })
    using log = recordEvents(dispatcher)
    // What no gate has decided on is not given to anybody.
    const isHeld = gates.length > 0 && reason === 'error'
    expect(await readBy([hookspanPlugin({ dispatcher })])).toEqual(isHeld ? bare.slice(1) : bare)
    const told = log.events.filter(({ hookType }) => /^(onLlmCallError|onComplete|onError)$/.test(hookType))
    expect(told).toMatchObject(
      reason === 'done'
        ? [{ hookType: 'onComplete', reason }]
        : [
            { hookType: 'onLlmCallError', error: { message: 'try later' } },
            { hookType: 'onError', error: { message: 'try later' } },
            { hookType: 'onComplete', reason },
          ],
    )
  }
})

it('what a model said before it fails is its reader’s and its tools’, as without the plugin', async () => {
  class Breaking extends BaseLlm {
    asked = 0
    constructor() {
      super({ model: 'm' })
    }
    async *generateContentAsync(): AsyncGenerator<object, void> {
      if (this.asked++ > 0) return yield { content: { role: 'model', parts: [{ text: 'done' }] } }
      yield { content: { role: 'model', parts: [{ functionCall: call('look') }] } }
      throw new Error('the connection broke')
    }
  }
  const readBy = async (plugins: readonly object[]) => {
    const bodies: string[] = []
    const agent = new LlmAgent({
      name: 's',
      model: new Breaking(),
      tools: [look(({ q }) => void bodies.push(q))],
    })
    return { said: await run(agent, plugins), bodies }
  }
  const bare = await readBy([])
  expect(bare).toEqual({ said: 'done', bodies: ['a'] })
  expect(await readBy([hookspanPlugin({ dispatcher: new HookDispatcher() })])).toEqual(bare)
})

it('gates change the input, the request and the reply', async () => {
  const dispatcher = new HookDispatcher()
  dispatcher.use({
    name: 'g',
    gates: [
      { id: 'in', point: 'onStart', decide: () => mutate('redacted') },
      {
        id: 'ask',
        point: 'beforeLlmCall',
        decide: ({ payload }) => mutate({ config: { ...(payload as Untyped).config, temperature: 0 } }),
      },
      { id: 'out', point: 'afterLlmCall', decide: () => mutate({ content: 'changed' }) },
    ],
  })
  const agent = agentOn([{ content: 'the answer' }], [])
  expect(await run(agent, [hookspanPlugin({ dispatcher })])).toBe('changed')
  expect(JSON.stringify(agent.model.requests)).toMatch(/redacted/)
  expect(JSON.stringify(agent.model.requests)).not.toMatch(/secret/)
})

it.each<[object, string]>([
  [{ temperature: 0 }, 'Set `config: { ...config, temperature }`'],
  [{ config: { max_tokens: 5 } }, 'In `config` say `maxOutputTokens`'],
  [{ config: { labels: { team: 'a' } } }, '`labels`'],
])('asks no model where a gate sets what would not be sent: %j', async (set, mend) => {
  const dispatcher = new HookDispatcher()
  using log = recordEvents(dispatcher)
  dispatcher.use({ name: 'g', gates: [{ id: 'g', point: 'beforeLlmCall', decide: () => mutate(set) }] })
  const agent = agentOn([{ content: 'the answer' }], [])
  await run(agent, [hookspanPlugin({ dispatcher })]).catch(() => {})
  expect(agent.model.requests).toEqual([])
  const failed = log.events.find(({ hookType }) => hookType === 'onLlmCallError')
  expect(failed).toMatchObject({ errorMessage: expect.stringContaining(mend) })
})

it('tells the tool of an MCP server that says it failed as failed, and the model what the tool said', async () => {
  const broken = { content: [{ type: 'text', text: 'broken' }], isError: true }
  const asked = async (plugins: readonly object[]) => {
    const agent = agentOn(LOOK_THEN_DONE, [look(() => broken)])
    await run(agent, plugins)
    return JSON.stringify(agent.model.requests.at(-1).contents)
  }
  const dispatcher = new HookDispatcher()
  using log = recordEvents(dispatcher)

  const bare = await asked([])
  expect(bare).toContain(JSON.stringify(broken))
  expect(await asked([hookspanPlugin({ dispatcher })])).toBe(bare)
  const told = log.events.find(({ hookType }) => hookType === 'afterToolCall')
  expect(told).toMatchObject({ success: false, content: 'broken' })
})

it.each([
  [true, 'found'],
  [false, 'This tool call is rejected.'],
])(
  "tells a call that ADK's own confirmation keeps from running as failed, until it is confirmed (%s)",
  async (confirmed, last) => {
    const dispatcher = new HookDispatcher()
    using log = recordEvents(dispatcher)
    const asked = async (plugins: readonly object[]) => {
      const options = { name: 'look', description: 'Looks.', parameters: PARAMETERS, execute: () => 'found' }
      const agent = agentOn(LOOK_THEN_DONE, [new FunctionTool({ ...options, requireConfirmation: true })])
      const runner = new InMemoryRunner({ agent, appName: 'app', plugins })
      const { id: sessionId } = await runner.sessionService.createSession({ appName: 'app', userId: 'u' })
      const say = async (part: object) => {
        const parts: Untyped[] = []
        const newMessage = { role: 'user', parts: [part] }
        for await (const { content } of runner.runAsync({ userId: 'u', sessionId, newMessage }))
          parts.push(...(content?.parts ?? []))
        return parts
      }
      const question = (await say({ text: 'go' })).find(
        ({ functionCall }) => functionCall?.name === 'adk_request_confirmation',
      )
      const { id, name } = question.functionCall
      const told = await say({ functionResponse: { id, name, response: { confirmed } } })
      return told.map(({ functionResponse, text }) => functionResponse?.response ?? text)
    }
    expect(await asked([hookspanPlugin({ dispatcher })])).toEqual(await asked([]))
    const told = log.events.filter(({ hookType }) => hookType === 'afterToolCall')
    expect(told).toMatchObject([
      { success: false, content: expect.stringContaining('requires confirmation') },
      { success: confirmed, content: last },
    ])
  },
)

it.each([false, true])(
  'what a gate leaves alone in a reply goes back to Gemini as it came, streamed: %s',
  async (streams) => {
    const dispatcher = new HookDispatcher()
    dispatcher.use({ name: 'privacy', gates: [redact({ kinds: ['email'] })] })
    const signed = { functionCall: { id: 'c1', name: 'look', args: { q: 'a' } }, thoughtSignature: 'Cs0=' }
    const thought = { text: 'Whose?', thought: true, thoughtSignature: 'Eq8=' }
    const said = { text: 'Of ann@shop.test.', thoughtSignature: 'Fr7=' }
    const about = {
      usageMetadata: { promptTokenCount: 9, candidatesTokenCount: 4 },
      groundingMetadata: { groundingSupports: [{ segment: { text: said.text } }], retrievalQueries: ['q'] },
      citationMetadata: { citations: [{ title: said.text }] },
      customMetadata: { own: 1 },
    }
    const agent = agentOn([{}, { content: 'done' }], [look(() => 'found')])
    const { model } = agent
    const rest = model.generateContentAsync.bind(model)
    model.generateContentAsync = async function* (request: Untyped, stream: boolean) {
      if (model.requests.length > 0) return yield* rest(request, stream)
      for await (const _reply of rest(request, false));
      const content = (...parts: object[]) => ({ content: { role: 'model', parts } })
      if (stream) yield { ...content(thought), partial: true }
      if (stream) yield { ...content({ text: said.text }), partial: true }
      yield { ...content(thought, said, signed), ...about, finishReason: 'STOP' }
    }
    const runner = new InMemoryRunner({ agent, appName: 'app', plugins: [hookspanPlugin({ dispatcher })] })
    const events: Untyped[] = []
    const user = { appName: 'app', userId: 'u' }
    const session = await runner.sessionService.createSession(user)
    for await (const event of runner.runAsync({
      userId: 'u',
      sessionId: session.id,
      newMessage: { role: 'user', parts: [{ text: 'Whose is it?' }] },
      ...(streams && { runConfig: { streamingMode: StreamingMode.SSE } }),
    })) {
      events.push(event)
    }
    expect(model.requests[1].contents[1].parts).toEqual([thought, { ...said, text: 'Of [email].' }, signed])
    expect(events.find(({ author }) => author === 'support')).toMatchObject({
      usageMetadata: about.usageMetadata,
      customMetadata: about.customMetadata,
      groundingMetadata: { retrievalQueries: ['q'], groundingSupports: [] },
    })
    expect(JSON.stringify(events)).not.toContain('ann@')
  },
)

it.each([
  ['the whole says it again', 'Of ann and bob.'],
  ['the whole says more', 'Of ann and bob. And zed.'],
  ['the whole says something else', 'Zed.'],
])('a gate is told all of a text that comes in pieces: %s', async (_how, whole) => {
  const dispatcher = new HookDispatcher()
  const told: unknown[] = []
  dispatcher.use({
    name: 'g',
    gates: [{ id: 'out', point: 'afterLlmCall', decide: ({ payload }) => void told.push(payload) }],
  })
  const agent = agentOn([], [])
  agent.model.generateContentAsync = async function* () {
    const says = (text: string) => ({ content: { role: 'model', parts: [{ text }] } })
    yield { ...says('Of ann'), partial: true }
    yield { ...says(' and bob.'), partial: true }
    yield { ...says(whole), finishReason: 'STOP' }
  }
  expect(await run(agent, [hookspanPlugin({ dispatcher })])).toBe(whole)
  const content = whole === 'Zed.' ? 'Of ann and bob.Zed.' : whole
  expect(told).toMatchObject([{ content }])
})

it('a gate that ends the run ends the agent', async () => {
  const dispatcher = new HookDispatcher()
  const reasons: string[] = []
  dispatcher.use({
    name: 'g',
    gates: [{ id: 'g', point: 'beforeToolCall', decide: () => deny('enough', { stop: true }) }],
    hooks: [{ id: 'end', type: 'onComplete', handler: ({ reason }) => void reasons.push(reason) }],
  })
  expect(await run(agentOn(LOOK_THEN_DONE, [look(() => 'x')]), [hookspanPlugin({ dispatcher })])).toBe(
    'The run was ended.',
  )
  expect(reasons).toEqual(['denied'])
})

it.each(['google_search', 'googleSearch'])(
  'a guard for a tool that Google runs, by its name %s, is an error, and the model is not asked',
  async (match) => {
    const dispatcher = new HookDispatcher()
    dispatcher.use({
      name: 'g',
      gates: [{ id: 'g', point: 'beforeToolCall', match, decide: () => deny('no') }],
    })
    const agent = agentOn([{ content: 'searched' }], [GOOGLE_SEARCH])
    agent.model.model = 'gemini-2.5-flash'
    await expect(run(agent, [hookspanPlugin({ dispatcher })])).rejects.toThrow(`the tool "${match}"`)
    expect(agent.model.requests).toEqual([])
  },
)

it('says whose run it is, and mocks hold in it', async () => {
  const dispatcher = new HookDispatcher()
  const users: (string | undefined)[] = []
  dispatcher.use({
    name: 'h',
    hooks: [{ id: 's', type: 'onStart', handler: ({ userId }) => void users.push(userId) }],
  })
  using mocks = mockTools(dispatcher, [mock('look').returns({ price: 7 })], { onUnmocked: 'error' })
  const agent = agentOn(LOOK_THEN_DONE, [look(() => Promise.reject(new Error('live')))])
  await runWith({ userId: 'ines' }, () => run(agent, [hookspanPlugin({ dispatcher })]))
  expect(users).toEqual(['ines'])
  expect(JSON.stringify(agent.model.requests[1])).toContain('"price":7')
  mocks.assertUsed()
})

it('attached twice is refused by the SDK, and disposed of it leaves the agent as it was', async () => {
  const dispatcher = new HookDispatcher()
  const told: string[] = []
  dispatcher.use({
    name: 'h',
    hooks: [{ id: 's', type: 'onStart', handler: () => void told.push('start') }],
  })
  const agent = agentOn([{ content: 'one' }, { content: 'two' }], [])
  const own = Object.getOwnPropertyNames(agent)
  const plugin = hookspanPlugin({ dispatcher })
  await expect(run(agent, [plugin, hookspanPlugin({ dispatcher })])).rejects.toThrow(/already registered/)
  await run(agent, [plugin])
  plugin[Symbol.dispose]()
  expect(Object.getOwnPropertyNames(agent)).toEqual(own)
  expect(await run(agent, [plugin])).toBe('two')
  expect(told).toEqual(['start'])
  expect(() => hookspanPlugin({} as never)).toThrow(/dispatcher/)
})

describe('a server of many requests', () => {
  /** An agent of the program, and a runner and a plugin for each request. */
  function serverOf(agent: Untyped) {
    return (requests: number) =>
      Promise.all(
        Array.from({ length: requests }, async () => {
          const told: string[] = []
          const dispatcher = new HookDispatcher()
          const decide = ({ point }: { point: string }) => void told.push(point)
          dispatcher.use({
            name: 'g',
            gates: [{ id: 'g', point: ['beforeLlmCall', 'beforeToolCall'], decide }],
          })
          const plugin = hookspanPlugin({ dispatcher })
          const said = await run(agent, [plugin])
          return { said, told, plugin }
        }),
      )
  }

  /** It looks twice, whoever else asks it meanwhile. */
  class LooksTwice extends BaseLlm {
    constructor() {
      super({ model: 'contract' })
    }

    async *generateContentAsync(request: Untyped) {
      await new Promise((resolve) => setTimeout(resolve, 5))
      const looks = JSON.stringify(request.contents).split('functionResponse').length - 1
      const part = looks < 2 ? { functionCall: { name: 'look', args: { q: 'a' } } } : { text: 'done' }
      yield { content: { role: 'model', parts: [part] } }
    }
  }
  const agentOfAll = () =>
    new LlmAgent({
      name: 'support',
      model: new LooksTwice(),
      tools: [look(() => 'found')],
    })
  const ASKED = ['beforeLlmCall', 'beforeToolCall', 'beforeLlmCall', 'beforeToolCall', 'beforeLlmCall']

  it('has each decided on by its own gates, though all have one agent', async () => {
    const agent = agentOfAll()
    const own = Object.getOwnPropertyNames(agent)
    const serve = serverOf(agent)
    const served = await serve(4)
    for (const { said, told } of served) expect({ said, told }).toEqual({ said: 'done', told: ASKED })
    served[0]?.plugin[Symbol.dispose]()
    expect((await serve(1))[0]?.told).toEqual(ASKED)
    expect(Object.getOwnPropertyNames(agent)).not.toEqual(own)
  })

  it('lets go of each agent and runner, though all have one plugin', async () => {
    const plugin = hookspanPlugin({ dispatcher: new HookDispatcher() })
    const made: WeakRef<object>[] = []
    for (let request = 0; request < 3; request++) {
      const expert = agentOn([{ content: 'helped' }], [], 'expert')
      const ask = { toolCalls: [call('expert', { request: 'help' })] }
      const agent = agentOn([ask, { content: 'done' }], [new AgentTool({ agent: expert })])
      made.push(new WeakRef(agent), new WeakRef(expert))
      expect(await run(agent, [plugin])).toBe('done')
    }
    setFlagsFromString('--expose-gc')
    const gc: () => void = runInNewContext('gc')
    const left = () => {
      gc()
      return made.filter((one) => one.deref() !== undefined).length
    }
    // But for what the engine still has of the last one.
    await expect.poll(left, { timeout: 10_000, interval: 20 }).toBeLessThan(3)
    plugin[Symbol.dispose]()
  })
})

it('a call that would wait in another process is refused, and does not run', async () => {
  const dispatcher = new HookDispatcher()
  const approvals = createApprovals({ mode: 'park' })
  dispatcher.use(approvals)
  dispatcher.use({
    name: 'g',
    gates: [{ id: 'g', point: 'beforeToolCall', match: 'look', decide: () => requireApproval() }],
  })
  const bodies: string[] = []
  const agent = agentOn(LOOK_THEN_DONE, [look(({ q }) => void bodies.push(q))])
  expect(await run(agent, [hookspanPlugin({ dispatcher })])).toBe('done')
  expect(bodies).toEqual([])
  expect(JSON.stringify(agent.model.requests[1])).toMatch(/"code":"approval_error".*parks the run/)
})
