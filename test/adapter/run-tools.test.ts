import { createRequire } from 'node:module'
import { HookDispatcher } from 'hookspan'
import { wrapTools } from 'hookspan/adapter'
import { deny, mutate } from 'hookspan/gates'
import { human, mock, mockTools, type ScriptedStep, scriptedApprovals, scriptedFetch } from 'hookspan/mock'
import { observeOpenAI, unobserveOpenAI } from 'hookspan/openai'
import { requireHuman, toolPolicy } from 'hookspan/policies'
import OpenAI from 'openai'
import { ResponsesToolRunner } from 'openai/helpers/responses-tool-runner'
import { zodFunction } from 'openai/helpers/zod'
import type { ChatCompletionRunner } from 'openai/lib/ChatCompletionRunner'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { activityTree } from '../support/activity-tree.ts'
import { seen, settled } from '../support/seen-by-caller.ts'

const CLIENTS = {
  'version 7': OpenAI,
  'version 7, CommonJS': createRequire(import.meta.url)('openai') as typeof OpenAI,
  'version 6': (await import('openai-6')).default as unknown as typeof OpenAI,
}

type Runner = ChatCompletionRunner<unknown>
type Use = (client: OpenAI) => Promise<unknown>

const ask = { model: 'gpt-4o', messages: [{ role: 'user' as const, content: 'hi' }] }
const asks = (...queries: unknown[]): ScriptedStep => ({
  toolCalls: queries.map((q, index) => ({ id: `call_${index}`, name: 'search', arguments: { q } as object })),
})
const DONE: ScriptedStep = { content: 'Three bags.' }
const PARAMETERS = { type: 'object', properties: { q: { type: 'string' } } }

type Body = (args: { q: string }, ...more: unknown[]) => unknown
const search = (body: Body = ({ q }) => `found ${q}`, more: object = {}) => ({
  type: 'function',
  function: {
    name: 'search',
    description: 'Searches.',
    parameters: PARAMETERS,
    parse: JSON.parse,
    function: body,
    ...more,
  },
})

const run = (
  client: OpenAI,
  tools: readonly unknown[] = [search()],
  more: object = {},
  options: object = {},
): Runner => client.chat.completions.runTools({ ...ask, tools, ...more } as never, options) as never

const told = async (runner: Runner) => [await runner.finalContent(), runner.messages]
const ended = async (runner: Runner) => {
  const events: unknown[] = []
  for (const name of [
    'connect',
    'functionToolCall',
    'functionToolCallResult',
    'message',
    'error',
    'abort',
    'end',
  ] as const)
    runner.on(
      name,
      (...given: unknown[]) =>
        void events.push(name, ...given.map((one) => (one instanceof Error ? one.message : one))),
    )
  const how = await runner.done().catch((error: Error) => `${error.constructor.name}: ${error.message}`)
  return [how, events, runner.messages]
}

function observed(Client: typeof OpenAI, ...steps: ScriptedStep[]) {
  const fetch = scriptedFetch({ steps })
  const tree = activityTree()
  const dispatcher = new HookDispatcher()
  dispatcher.use(tree.plugin)
  const client = observeOpenAI(new Client({ apiKey: 'k', fetch, maxRetries: 0 }), {
    dispatcher,
    agentName: 'shop',
  })
  return { client, fetch, tree, dispatcher }
}

const schema = z.object({ q: z.string().max(3), limit: z.number().default(3) })
const ofSchema = () =>
  zodFunction({
    name: 'search',
    parameters: schema as never,
    function: ({ q, limit }: never) => ({ got: `${limit} ${q}` }),
  })

const USES: readonly (readonly [name: string, steps: readonly ScriptedStep[], use: Use])[] = [
  ['calls side by side', [asks('a', 'a', 'b'), asks('c'), DONE], (client) => told(run(client))],
  ['a stream', [asks('a', 'b'), DONE], (client) => ended(run(client, undefined, { stream: true }))],
  [
    'what is no text, and nothing',
    [asks('a', 'b'), DONE],
    (client) => told(run(client, [search(({ q }) => (q === 'a' ? { n: [1] } : undefined))])),
  ],
  [
    'a function of the text',
    [{ toolCalls: [{ id: 'c', name: 'search', arguments: '{"q" : 1.50}' }] }, DONE],
    (client) => told(run(client, [search((text) => `read ${text}`, { parse: undefined })])),
  ],
  [
    'a function that has no name but its own',
    [{ toolCalls: [{ id: 'c', name: 'look', arguments: {} }] }, DONE],
    (client) =>
      told(
        run(client, [
          search(
            function look() {
              return 'found'
            } as never,
            { name: undefined },
          ),
        ]),
      ),
  ],
  ['a schema', [asks('a'), DONE], (client) => told(run(client, [ofSchema()]))],
  [
    'arguments that break the schema',
    [asks('much too long'), asks('a'), DONE],
    (client) => told(run(client, [ofSchema()])),
  ],
  [
    'arguments that are no JSON, of the one call that is wanted',
    [{ toolCalls: [{ id: 'c', name: 'search', arguments: '{"q' }] }, asks('a'), DONE],
    (client) =>
      ended(run(client, undefined, { tool_choice: { type: 'function', function: { name: 'search' } } })),
  ],
  [
    'a tool that does not exist',
    [{ toolCalls: [{ id: 'c', name: 'nope', arguments: {} }] }, DONE],
    (client) => told(run(client)),
  ],
  [
    'a tool that throws',
    [asks('a', 'b')],
    (client) =>
      ended(run(client, [search(({ q }) => (q === 'a' ? Promise.reject(new TypeError('no a')) : 'found'))])),
  ],
  [
    'a limit',
    [asks('a'), asks('b')],
    (client) => ended(run(client, undefined, {}, { maxChatCompletions: 2 })),
  ],
  ['an error of the model', [{ error: { status: 400, message: 'no' } }], (client) => ended(run(client))],
  [
    'an abort in a tool',
    [asks('a', 'b')],
    async (client) => {
      const runner: Runner = run(client, [
        search(({ q }) => {
          runner.abort()
          return q
        }),
      ])
      return ended(runner)
    },
  ],
  [
    'the signal of the caller',
    [asks('a')],
    (client) => {
      const controller = new AbortController()
      const tool = search(() => {
        controller.abort(new Error('enough'))
        throw controller.signal.reason
      })
      return ended(run(client, [tool], {}, { signal: controller.signal }))
    },
  ],
  [
    'a signal that was there before',
    [DONE],
    (client) => ended(run(client, undefined, {}, { signal: AbortSignal.abort() })),
  ],
  [
    'what a function is given beside its arguments',
    [asks('a'), DONE],
    async (client) => {
      const given: unknown[] = []
      const runner: Runner = run(
        client,
        [
          search(
            (_args, ...more) => void given.push(...more.map((one) => (one === runner ? 'the runner' : one))),
          ),
        ],
        { toolContext: { tenant: 'acme' } },
      )
      await runner.done()
      return given
    },
  ],
  [
    'a frozen tool',
    [asks('a'), DONE],
    (client) => {
      const tool = search()
      Object.freeze(tool.function)
      return told(run(client, Object.freeze([Object.freeze(tool)])))
    },
  ],
  [
    'a schema without a function',
    [],
    (client) => ended(run(client, [zodFunction({ name: 'search', parameters: schema as never })])),
  ],
]

describe.each(Object.entries(CLIENTS))('runTools() of %s', (version, Client) => {
  it.each(USES)('shows its caller the same: %s', async (name, steps, use) => {
    // That SDK begins the other tools all the same.
    const isOther = version === 'version 6' && name === 'an abort in a tool'
    const shown = (all: unknown) => (isOther ? (all as unknown[])[0] : all)
    const bare = scriptedFetch({ steps: [...steps] })
    const was = await seen(use, new Client({ apiKey: 'k', fetch: bare, maxRetries: 0 }))
    const { client, fetch, dispatcher } = observed(Client, ...steps)

    expect(shown(await seen(use, client))).toEqual(shown(was))
    expect(fetch.requests.map(({ body }) => body)).toEqual(bare.requests.map(({ body }) => body))
    await settled(dispatcher)
  })

  it('is an agent, with its turns and its tools', async () => {
    const { client, tree } = observed(Client, asks('a', 'a'), DONE)
    const messages = [{ role: 'system', content: 'Be brief.' }, ...ask.messages]
    await run(client, undefined, { messages }).done()

    expect(tree.lines()).toEqual([
      'invoke_agent shop',
      '  step 0',
      '    chat gpt-4o',
      '    execute_tool search',
      '    execute_tool search',
      '  step 1',
      '    chat gpt-4o',
    ])
    expect(tree.roots[0]?.activity).toMatchObject({
      input: messages,
      instructions: 'Be brief.',
    })
    expect(tree.roots[0]?.ends).toMatchObject([{ reason: 'done', content: 'Three bags.' }])
    const tools = tree.all.filter(({ activity }) => activity.kind === 'tool')
    expect(tools.map(({ activity }) => activity)).toMatchObject([
      { toolCallId: 'call_0', args: { q: 'a' }, description: 'Searches.' },
      { toolCallId: 'call_1', args: { q: 'a' }, description: 'Searches.' },
    ])
  })

  it('tells a call whose arguments are wrong, and a run that reached its limit', async () => {
    const { client, tree } = observed(Client, asks('much too long'))
    await run(client, [ofSchema()], {}, { maxChatCompletions: 1 }).done()

    expect(tree.lines()).toContain('    execute_tool search (error)')
    expect(tree.roots[0]?.ends).toMatchObject([{ reason: 'max_steps' }])
  })

  it('does not run a tool that is denied, and tells the model why', async () => {
    const { client, fetch, dispatcher } = observed(Client, asks('a'), DONE)
    dispatcher.use({ name: 'careful', gates: [toolPolicy({ deny: ['search'] })] })
    const ran: unknown[] = []
    await run(client, [search((args) => ran.push(args))]).done()

    expect(ran).toEqual([])
    expect(JSON.stringify(fetch.requests[1]?.body)).toContain('tool_not_allowed')
  })

  it('runs a tool with the arguments that a gate made, in the words that it reads', async () => {
    const { client, dispatcher } = observed(Client, asks('a'), asks('much too long'), DONE)
    dispatcher.use({
      name: 'careful',
      gates: [{ id: 'short', point: 'beforeToolCall', decide: () => mutate({ q: 'b' }) }],
    })
    const runner = run(client, [ofSchema()])
    await runner.done()
    const text = run(observedText(dispatcher, Client), [
      search((given) => `read ${given}`, { parse: undefined }),
    ])
    await text.done()

    const results = [...runner.messages, ...text.messages].filter(({ role }) => role === 'tool')
    expect(results.map(({ content }) => content)).toEqual([
      '{"got":"3 b"}',
      '{"got":"3 b"}',
      'read {"q":"b"}',
    ])
  })

  it('tells the model that changed arguments do not fit, as it does of its own, and goes on', async () => {
    const { client, dispatcher, tree } = observed(Client, asks('a'), asks('much too long'), DONE)
    const decide = () => mutate({ q: 'too long, too' })
    dispatcher.use({ name: 'careful', gates: [{ id: 'long', point: 'beforeToolCall', decide }] })
    const runner = run(client, [ofSchema()])

    expect(await runner.finalContent()).toBe('Three bags.')
    const results = runner.messages.filter(({ role }) => role === 'tool')
    expect(results.map(({ content }) => content)).toEqual([
      expect.stringContaining('too_big'),
      expect.stringContaining('too_big'),
    ])
    expect(tree.lines().filter((line) => line.includes('execute_tool search (error)'))).toHaveLength(2)
  })

  it('lets a mock stand in for a tool', async () => {
    const { client, fetch, dispatcher } = observed(Client, asks('a'), DONE)
    using _mocks = mockTools(dispatcher, [mock('search').returns({ n: 3 })])
    const runner = run(client, [search(() => Promise.reject(new Error('it ran')))])

    expect(await runner.finalContent()).toBe('Three bags.')
    expect(JSON.stringify(fetch.requests[1]?.body)).toContain('{\\"n\\":3}')
  })

  it('asks a human', async () => {
    const { client, dispatcher } = observed(Client, asks('a', 'b'), DONE)
    using _humans = scriptedApprovals(dispatcher, [
      human('search').approves(),
      human('search').rejects('not b'),
    ])
    dispatcher.use({ name: 'careful', gates: [requireHuman({ match: 'search' })] })
    const runner = run(client, undefined, { parallel_tool_calls: false })
    await runner.done()

    const [first, second] = runner.messages.filter(({ role }) => role === 'tool')
    expect(first?.content).toBe('found a')
    expect(second?.content).toContain('not b')
  })

  it('rejects where a gate withholds the last word, and tells what one says in place of the model', async () => {
    const { client, dispatcher } = observed(Client, DONE)
    dispatcher.use({
      name: 'careful',
      gates: [{ id: 'last', point: 'beforeComplete', decide: () => deny('not today') }],
    })
    await expect(run(client).finalContent()).rejects.toThrow('not today')
    await settled(dispatcher)

    const other = observed(Client)
    other.dispatcher.use({
      name: 'careful',
      gates: [{ id: 'no', point: 'beforeLlmCall', decide: () => deny('not today') }],
    })
    expect(await run(other.client).finalContent()).toBe('not today')
  })

  it('is a sub-agent in a tool, of whichever loop, and in a step of somebody’s run it is of that', async () => {
    const expert = (client: OpenAI) =>
      search(() => run(client, [], { messages: [{ role: 'user', content: 'Look.' }] }).finalContent())
    const { client, tree, dispatcher } = observed(
      Client,
      asks('a'),
      { content: '42' },
      DONE,
      asks('a'),
      DONE,
      DONE,
    )
    await run(client, [expert(client)]).done()
    const op = dispatcher.startOperation({ agentName: 'mine' })
    await op.step(() => run(client).done())
    await op.complete()
    const other = dispatcher.startOperation({ agentName: 'other' })
    await other.step((step) => step.toolCall({ apiName: 'ask', args: {} }, () => run(client).finalContent()))
    await other.complete()

    expect(tree.lines()).toEqual([
      'invoke_agent shop',
      '  step 0',
      '    chat gpt-4o',
      '    execute_tool search',
      '      agent',
      '        invoke_agent search',
      '          step 0',
      '            chat gpt-4o',
      '  step 1',
      '    chat gpt-4o',
      'invoke_agent mine',
      '  step 0',
      '    chat gpt-4o',
      '    execute_tool search',
      '    chat gpt-4o',
      'invoke_agent other',
      '  step 0',
      '    execute_tool ask',
      '      agent',
      '        invoke_agent ask',
      '          step 0',
      '            chat gpt-4o',
    ])
  })

  it('keeps two runs of a client apart, and is left alone once the client is', async () => {
    const { client, tree } = observed(Client, asks('a'), asks('a'), DONE, DONE, asks('a'), DONE)
    const { promise: both, resolve: met } = Promise.withResolvers<void>()
    let count = 0
    const together = [search(() => (++count === 2 ? met() : both))]
    await Promise.all([run(client, together).done(), run(client, together).done()])
    unobserveOpenAI(client)
    await run(client).done()

    const one = ['  step 0', '    chat gpt-4o', '    execute_tool search', '  step 1', '    chat gpt-4o']
    expect(tree.lines()).toEqual(['invoke_agent shop', ...one, 'invoke_agent shop', ...one])
  })

  function observedText(dispatcher: HookDispatcher, Of: typeof OpenAI) {
    const fetch = scriptedFetch({ steps: [asks('a'), DONE] })
    return observeOpenAI(new Of({ apiKey: 'k', fetch }), { dispatcher })
  }
})

it('sees the model calls of a `ResponsesToolRunner`, and its functions that are wrapped', async () => {
  const asked = (name: string): ScriptedStep => ({ toolCalls: [{ id: name, name, arguments: {} }] })
  const { client, tree, dispatcher } = observed(OpenAI, asked('search'), asked('drop'))
  dispatcher.use({ name: 'careful', gates: [toolPolicy({ deny: ['drop'] })] })
  const ran: string[] = []
  const own = { search: () => 'found', drop: () => String(ran.push('drop')) }
  const functions = Object.entries(wrapTools(own, { dispatcher })).map(([name, execute]) => ({
    tool: { type: 'function' as const, name, parameters: { type: 'object', properties: {} }, strict: false },
    execute,
  }))
  const runner = new ResponsesToolRunner({ functions })
  const op = dispatcher.startOperation({ agentName: 'mine' })
  await expect(op.run(() => runner.run(client, { model: 'gpt-4o', input: 'hi' }))).rejects.toThrow('stopped')
  await op.complete()

  const calls = ['  chat gpt-4o', '  execute_tool search', '  chat gpt-4o', '  execute_tool drop']
  expect(tree.lines()).toEqual(['invoke_agent mine', ...calls])
  expect(ran).toEqual([])
})
