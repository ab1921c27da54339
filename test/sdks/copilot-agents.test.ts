import { once } from 'node:events'
import type { HookEvent } from 'hookspan'
import { createApprovals, memoryStore } from 'hookspan/approval'
import { observeCopilot, unobserveCopilot } from 'hookspan/copilot'
import { deny, type Gate, mutate, skip } from 'hookspan/gates'
import { type ScriptedStep, startScriptedServer } from 'hookspan/mock'
import { requireHuman } from 'hookspan/policies'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { stepOf } from '../adapter/subjects/model.ts'
import { traced } from '../support/span-tree.ts'
import { eventsOf, findAll } from '../support/told-events.ts'
import { configOf, startClient } from './subjects/copilot.ts'
import type { Untyped } from './support/sdks.ts'

let copilot: Awaited<ReturnType<typeof startClient>>
beforeAll(async () => {
  copilot = await startClient()
})
afterAll(() => copilot.stop())
afterEach(() => void unobserveCopilot(copilot.client))

const ask = (id: string, name: string, args: object) => ({ id, name, args })
const task = (name: string, more: object = {}) =>
  ask(`task-${name}`, 'task', {
    description: 'Helps',
    prompt: `help ${name}`,
    agent_type: 'expert',
    name,
    mode: 'sync',
    ...more,
  })
const bash = (id: string) => ask(id, 'bash', { command: `echo ${id}`, description: 'x', mode: 'sync' })
const asks = (...toolCalls: Untyped[]) => ({ toolCalls })
const done = { content: 'done' }

/** What each says in turn: the session's own model, and the agents by what they are asked. */
type Replies = Readonly<Record<string, Untyped[]>>

/** One prompt, until the session is idle. */
async function prompt(
  replies: Replies,
  { gates = [], plugins = [], meanwhile, config = {} }: Untyped = {},
): Promise<{ tree: string; events: Untyped[]; heard: Untyped[]; said: string }> {
  using tracing = traced()
  const { dispatcher } = tracing
  dispatcher.use({ name: 'guard', gates })
  for (const plugin of plugins) dispatcher.use(plugin)
  const events = eventsOf(dispatcher)
  const left = Object.fromEntries(Object.entries(replies).map(([who, said]) => [who, [...said]]))
  let session: Untyped
  const server = await startScriptedServer({
    respond: async ({ body }: Untyped, { signal }): Promise<ScriptedStep | undefined> => {
      const [, asked] = /help (one|two)/.exec(JSON.stringify(body.messages)) ?? []
      const who = body.model === 'contract' ? 'root' : asked
      const said = left[who ?? '']?.shift()
      if (said !== 'meanwhile') return said?.error === undefined ? said && stepOf(said, 2) : said
      await Promise.all([meanwhile(session), signal.aborted || once(signal, 'abort')])
      return done
    },
  })
  observeCopilot(copilot.client, { dispatcher })
  const handler = ({ q }: { q: string }) => `found ${q}`
  const parameters = { type: 'object', properties: { q: { type: 'string' } } }
  const expert = { prompt: 'Help.', tools: ['look', 'bash', 'task'], model: 'expert' }
  session = await copilot.client.createSession({
    ...configOf(server.baseURL, 'contract', [{ name: 'look', description: 'Looks.', parameters, handler }]),
    availableTools: ['look', 'bash', 'task'],
    customAgents: [
      { ...expert, name: 'expert' },
      { ...expert, name: 'deep' },
    ],
    workingDirectory: copilot.home,
    ...config,
  })
  let isIdle = false
  const said: string[] = []
  session.on(({ type, agentId = 'session', data }: Untyped) => {
    if (/^(assistant|session|subagent|tool|abort)/.test(type))
      said.push(`${agentId} ${type} ${data?.toolCallId ?? ''}`)
    isIdle ||= type === 'session.idle'
  })
  try {
    await session.send('go on')
    // One that is left says nothing any more.
    await expect.poll(() => isIdle || hasEnded(events)).toBe(true)
  } finally {
    await session.disconnect()
    await expect.poll(() => dispatcher.stats().operations).toBe(0)
    await dispatcher.drain()
    await server.close()
  }
  const heard = server.requests.map(({ body }) => body)
  return { tree: tracing.tree(), events, heard, said: said.join('\n') }
}

const hasEnded = (events: Untyped[]) =>
  events.some(({ hookType, parentOperationId: of }) => hookType === 'onComplete' && of === undefined)

const namesOf = (events: Untyped[]) =>
  new Map(findAll(events, 'onStart').map(({ operationId, agentName }) => [operationId, agentName]))

/** Which agent ended how. */
const endings = (events: Untyped[]) =>
  findAll(events, 'onComplete').map(
    ({ operationId, reason }) => `${namesOf(events).get(operationId)} ${reason}`,
  )

it('an agent that Copilot calls lies below the run, with its turns', async () => {
  const { tree, events } = await prompt({
    root: [asks(task('one'), bash('root')), done],
    one: [asks(ask('c1', 'look', { q: 'a' }), bash('b1')), { content: 'it is 42' }],
  })

  expect(tree.split('\n')).toEqual([
    'invoke_agent copilot',
    '  step 0',
    '    chat contract',
    '    execute_tool task',
    '    execute_tool bash',
    '  invoke_agent expert',
    '    step 0',
    '      chat expert',
    ...Array(3).fill(expect.stringMatching(/^ {6}execute_tool (look|bash)$/)),
    '    step 1',
    '      chat expert',
    '  step 1',
    '    chat contract',
  ])
  expect(findAll(events, 'beforeCallAgent')).toMatchObject([{ agentName: 'expert', instruction: 'help one' }])
  expect(findAll(events, 'afterCallAgent')).toMatchObject([{ reason: 'done', content: 'it is 42' }])
})

it('two at once are kept apart, also where they ask for the same', async () => {
  const same = (q: string) => asks(ask('c1', 'look', { q }), bash('b1'))
  const { tree, events } = await prompt({
    root: [asks(task('one'), task('two')), done],
    one: [same('one'), { content: 'answer one' }],
    two: [same('two'), { content: 'answer two' }],
  })

  expect(tree.match(/^ {2}invoke_agent expert$/gm)).toHaveLength(2)
  const ended = findAll(events, 'afterCallAgent')
  expect(ended.map(({ content }) => content).toSorted()).toEqual(['answer one', 'answer two'])
  for (const { subOperationId, content, instruction } of ended) {
    const of = events.filter(({ operationId }) => operationId === subOperationId)
    const [, who] = instruction.split(' ')
    expect(content).toBe(`answer ${who}`)
    expect(findAll(of, 'beforeLlmCall')).toHaveLength(2)
    const tools = findAll(of, 'afterToolCall').map(({ apiName, args }: Untyped) => [apiName, args.q])
    expect(tools.toSorted()).toEqual([
      ['bash', undefined],
      ['look', who],
      ['look', who],
    ])
  }
})

it('one that another calls lies below that one', async () => {
  const { tree, said } = await prompt({
    root: [asks(task('one')), done],
    one: [asks(task('two', { agent_type: 'deep', prompt: 'ask: help two' })), { content: 'passed on' }],
    two: [asks(bash('b1')), { content: 'deep down' }],
  })

  // On a busy machine a turn was once not told: what Copilot has said of it tells whose doing that is.
  expect(tree, said).toContain(
    [
      '  invoke_agent expert',
      '    step 0',
      '      chat expert',
      '      execute_tool task',
      '    invoke_agent deep',
      '      step 0',
      '        chat expert',
      '        execute_tool bash',
      '      step 1',
      '        chat expert',
      '    step 1',
    ].join('\n'),
  )
})

it('one in the background goes on over the turns of whoever has called it', async () => {
  const { tree, events } = await prompt({
    root: [asks(task('one', { mode: 'background' })), { content: 'I wait' }, done],
    one: [asks(bash('b1')), { content: 'it is 42' }],
  })

  expect(tree).toContain('  invoke_agent expert\n    step 0\n      chat expert\n      execute_tool bash\n')
  expect(endings(events)).toEqual(['expert done', 'copilot done'])
})

it('one that fails has failed, and the run goes on', async () => {
  const { events, heard } = await prompt({
    root: [asks(task('one')), done],
    one: [{ error: { status: 400, message: 'unwell' } }],
  })

  expect(endings(events)).toEqual(['expert error', 'copilot done'])
  expect(findAll(events, 'onCallAgentError')).toMatchObject([{ agentName: 'expert' }])
  expect(JSON.stringify(heard.at(-1))).toContain('unwell')
})

it.each([
  ['aborted', (session: Untyped) => session.abort()],
  ['left', (session: Untyped) => session.disconnect()],
])('ends with a run that is %s while it is at work', async (_how, meanwhile) => {
  const { events, tree } = await prompt(
    { root: [asks(task('one')), done], one: [asks(bash('b1')), 'meanwhile'] },
    { meanwhile },
  )

  expect(endings(events)).toEqual(['expert interrupted', 'copilot interrupted'])
  expect(tree).toContain('  invoke_agent expert\n    step 0\n')
})

it('one that does not begin has failed', async () => {
  const unknown = await prompt({ root: [asks(task('one', { agent_type: 'nobody' })), done] })
  expect(endings(unknown.events)).toEqual(['nobody error', 'copilot done'])
  unobserveCopilot(copilot.client)

  const onPermissionRequest = ({ toolCallId }: Untyped) =>
    toolCallId === 'task-one' ? { kind: 'reject', feedback: 'no' } : { kind: 'approve-once' }
  const refused = await prompt(
    { root: [asks(task('one')), done], one: [{ content: 'it is 42' }] },
    { config: { onPermissionRequest } },
  )
  expect(endings(refused.events).at(-1)).toBe('copilot done')
})

it('gates refuse the call of one, which its model hears, and change what it is asked', async () => {
  const replies = { root: [asks(task('one')), done], one: [{ content: 'it is 42' }], two: [done] }
  const decide = () => deny('nobody is called')
  const no = await prompt(replies, { gates: [{ id: 'no', point: 'beforeCallAgent', decide } as Gate] })
  expect(no.heard.map(({ model }) => model)).toEqual(['contract', 'contract'])
  expect(JSON.stringify(no.heard.at(-1))).toContain('nobody is called')
  unobserveCopilot(copilot.client)

  const other = { id: 'other', point: 'beforeCallAgent', decide: () => mutate('help two') }
  const { heard, events } = await prompt(replies, { gates: [other as Gate] })
  expect(JSON.stringify(heard.find(({ model }) => model === 'expert'))).toContain('help two')
  expect(findAll(events, 'onStart').at(-1)).toMatchObject({ agentName: 'expert', input: 'help two' })
})

it.each([
  ['is answered for', 'beforeCallAgent', () => skip('it is 43')],
  ['is to be asked what is no text', 'onStart', () => mutate([{ role: 'user', content: 'help two' }])],
] as const)('one that %s is not called, and told as that', async (_how, point, decide) => {
  const ofExpert = (about: Untyped) =>
    about.agentName === 'expert' || point === 'beforeCallAgent' ? decide() : undefined
  const { heard, events } = await prompt(
    { root: [asks(task('one')), done], one: [done] },
    { gates: [{ id: 'no', point, decide: ofExpert } as Gate] },
  )
  expect(heard.map(({ model }) => model)).toEqual(['contract', 'contract'])
  expect(JSON.stringify(heard.at(-1))).toMatch(/which Copilot cannot be given|Answer with a text/)
  expect(findAll(events, 'onCallAgentError')).toMatchObject([{ errorType: 'NOT_CAPABLE' }])
})

it('one that is denied at its start is not called', async () => {
  const decide = ({ agentName }: Untyped) => (agentName === 'expert' ? deny('not this one') : undefined)
  const { heard } = await prompt(
    { root: [asks(task('one')), done], one: [done] },
    { gates: [{ id: 'no', point: 'onStart', decide } as Gate] },
  )

  expect(heard.map(({ model }) => model)).toEqual(['contract', 'contract'])
  expect(JSON.stringify(heard.at(-1))).toContain('not this one')
})

it('a tool of one cannot wait for a human elsewhere: it is refused', async () => {
  const approvals = createApprovals({ store: memoryStore(), mode: 'park' })
  const { heard, events } = await prompt(
    {
      root: [asks(task('one')), done],
      one: [asks(ask('c1', 'look', { q: 'a' })), { content: 'it is 42' }],
    },
    { gates: [requireHuman({ match: 'look' })], plugins: [approvals] },
  )

  expect(endings(events)).toEqual(['expert done', 'copilot done'])
  expect(JSON.stringify(heard.filter(({ model }) => model === 'expert').at(-1))).toContain('denied')
  expect(await approvals.list({ status: 'pending' })).toEqual([])
})

it.each(['look', 'bash'])(
  "a gate that ends the run of one at its %s ends the session's work: no model hears of the call",
  async (name) => {
    const decide = ({ apiName }: Untyped) => (apiName === name ? deny('enough', { stop: true }) : undefined)
    const call = name === 'bash' ? bash('c1') : ask('c1', 'look', { q: 'a' })
    const { heard, events } = await prompt(
      { root: [asks(task('one')), done], one: [asks(call), { content: 'went on' }] },
      { gates: [{ id: 'stop', point: 'beforeToolCall', decide } as Gate] },
    )

    expect(heard.map(({ model }) => model)).toEqual(['contract', 'expert'])
    expect(endings(events)[0]).toBe('expert denied')
  },
)

it.each(['task', 'bash'])(
  'a hook that mocks %s is refused as what cannot be, and nothing begins',
  async (name) => {
    const handler = (event: HookEvent<'beforeToolCall'>) => event.mock({ content: 'mocked' })
    const { events, tree } = await prompt(
      { root: [asks(name === 'task' ? task('one') : bash('root')), done], one: [{ content: 'it is 42' }] },
      {
        plugins: [{ name: 'mocks', hooks: [{ id: 'mocks', type: 'beforeToolCall', match: name, handler }] }],
      },
    )
    expect(findAll(events, 'afterToolCall')).toMatchObject([
      { apiName: name, outcome: 'denied', code: 'not_capable', mocked: false },
    ])
    expect(findAll(events, 'beforeCallAgent')).toEqual([])
    expect(tree).not.toContain('expert')
  },
)

it('a mock stands in for a tool of yours that an agent calls', async () => {
  const handler = (event: HookEvent<'beforeToolCall'>) => event.mock({ content: 'mocked', data: { q: 1 } })
  const { events, heard } = await prompt(
    { root: [asks(task('one')), done], one: [asks(ask('c1', 'look', { q: 'a' })), { content: 'it is 42' }] },
    {
      plugins: [{ name: 'mocks', hooks: [{ id: 'mocks', type: 'beforeToolCall', match: 'look', handler }] }],
    },
  )
  expect(findAll(events, 'afterToolCall')).toContainEqual(
    expect.objectContaining({ apiName: 'look', outcome: 'mocked', content: 'mocked' }),
  )
  expect(JSON.stringify(heard)).toContain('"content":"mocked"')
  expect(JSON.stringify(heard)).not.toContain('found a')
})

it.each([false, true])(
  'calls of one id and the same arguments lie each below its agent (streaming: %s)',
  async (streaming) => {
    const looks = [asks(ask('same', 'look', { q: 'a' })), { content: 'it is 42' }]
    const { events, heard } = await prompt(
      { root: [asks(task('one'), task('two')), done], one: looks, two: looks },
      { config: { streaming } },
    )

    const told = heard.flatMap(({ model, messages }) =>
      messages.filter(({ role }: Untyped) => role === 'tool' && model === 'expert'),
    )
    expect(told.map(({ content }) => content)).toEqual(['found a', 'found a'])
    const ends = findAll(events, 'onComplete').filter(
      ({ parentOperationId }) => parentOperationId !== undefined,
    )
    // Copilot runs each twice. Where it tells of all of one agent's before it asks for the other's, nothing tells them apart.
    const calls = ends.map(({ totals }: Untyped) => totals.toolCalls)
    expect([
      [2, 2],
      [1, 3],
      [3, 1],
    ]).toContainEqual(calls)
  },
)
