import assert from 'node:assert/strict'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { Agent, createServer, get } from 'node:http'
import type { AddressInfo } from 'node:net'
import { HookDispatcher } from 'hookspan'
import { execAgent } from 'hookspan/agent'
import {
  callTool,
  type MockRule,
  match,
  mock,
  mockTools,
  noLiveCalls,
  scriptedFetch,
  scriptedModel,
  startScriptedServer,
} from 'hookspan/mock'
import OpenAI from 'openai'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { errorOf, RealTools, runTools, thrownBy } from './support/run-tools.ts'

const weather = (city: unknown) => ({ apiName: 'get_weather', args: { city } })
const inputSchema = {
  type: 'object',
  properties: { city: { type: 'string' }, days: { type: 'integer', minimum: 1 } },
  required: ['city'],
  additionalProperties: false,
}

/** A server that counts the requests that get through, until the test's end. */
async function startCounting() {
  let reached = 0
  const server = createServer((_request, response) => {
    reached++
    response.end('{}')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return {
    port: (server.address() as AddressInfo).port,
    get reached() {
      return reached
    },
  }
}

describe('a call that no rule takes', () => {
  it('fails, leaves the real tool alone, and shows the nearest rule and how they differ', async () => {
    const dispatcher = new HookDispatcher()
    const real = new RealTools()
    const mocks = mockTools(dispatcher, [
      mock('get_weather')
        .when({ city: match.regex(/^Ber/), unit: 'C' })
        .optional()
        .returns({}),
      mock('get_weather').when({ city: /^Ham/ }).optional().returns({}),
    ])
    const [outcome] = await runTools(dispatcher, [weather('Paris')], { real })
    expect(real.ran).toEqual([])
    expect(errorOf(outcome).message).toBe(
      [
        'Tool "get_weather" was called, and no mock fits.',
        '  called   get_weather({"city":"Paris"})  in support, step 0, call call_0',
        '  nearest  mock("get_weather").when({ city: /^Ham/ }).returns({})',
        '           args.city: expected a string that matches /^Ham/, got "Paris"',
        '  and 1 more for this tool',
        'Add a mock that fits, or let the real tool run: mock("get_weather").passesThrough().',
      ].join('\n'),
    )
    expect(thrownBy(() => mocks[Symbol.dispose]())).toMatchObject({ code: 'MOCK_UNMATCHED' })
  })

  it.each([
    [
      'a misspelt rule',
      mock('get_wether').optional().returns(1),
      'is for "get_wether", not for "get_weather"',
    ],
    ['a used up rule', mock('get_weather').once().returns(1), 'is used up: 1 of 1'],
    [
      'a rule of another agent',
      mock('researcher > get_weather').optional().returns(1),
      'is for calls by researcher, this one is by support',
    ],
  ])('names %s', async (_name, rule, message) => {
    const dispatcher = new HookDispatcher()
    const mocks = mockTools(dispatcher, [rule])
    const outcomes = await runTools(dispatcher, [weather('Paris'), weather('Paris')])
    expect(errorOf(outcomes[1]).message).toContain(message)
    mocks.detach()
  })

  it.each([
    [expect.stringMatching(/^x/), 'StringMatching /^x/'],
    [expect.stringContaining('x'), 'StringContaining "x"'],
    [expect.objectContaining({ a: expect.any(Number) }), 'ObjectContaining {"a":"<Any<Number>>"}'],
    [expect.not.objectContaining({}), 'ObjectNotContaining {}'],
    [expect.any(Number), 'Any<Number>'],
  ])('shows what a matcher of vitest wants: %s', async (city, shown) => {
    const dispatcher = new HookDispatcher()
    const mocks = mockTools(dispatcher, [mock('get_weather').when({ city }).optional().returns(1)])
    const [outcome] = await runTools(dispatcher, [weather(shown === 'ObjectNotContaining {}' ? {} : 'Bonn')])
    expect(errorOf(outcome).message).toContain(`.when({ city: <${shown}> })`)
    expect(errorOf(outcome).message).toContain(`args.city: expected ${shown}, got`)
    mocks.detach()
  })

  it('names the home that the nearest rule is for', async () => {
    const dispatcher = new HookDispatcher()
    const mocks = mockTools(dispatcher, [mock('github/get_issue').optional().returns(1)])
    const [outcome] = await runTools(dispatcher, [{ apiName: 'get_issue' }])
    expect(errorOf(outcome).message).toContain('is for "github/get_issue", this one is "local/get_issue"')
    mocks.detach()
  })

  it('fails the test at the end of `using`, even when the agent swallowed the error', async () => {
    const dispatcher = new HookDispatcher()
    const test = async () => {
      using _mocks = mockTools(dispatcher)
      await runTools(dispatcher, [weather('Paris')])
    }
    await expect(test()).rejects.toThrow('Tool "get_weather" was called, and no mock fits.')
  })

  it('is told once: after assertUsed() the end of `using` is silent', async () => {
    const dispatcher = new HookDispatcher()
    using mocks = mockTools(dispatcher, [mock('other').returns(1)])
    await runTools(dispatcher, [weather('Paris')])
    const failure = thrownBy(() => mocks.assertUsed())
    expect(failure.code).toBe('MOCKS_FAILED')
    expect(failure.message).toMatch(/^2 failures of the mocks:\n\n1\) Tool "get_weather" was called/)
  })

  it('runs the real tool under passthrough, and says so under warn', async () => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
    const dispatcher = new HookDispatcher()
    const real = new RealTools()
    {
      using mocks = mockTools(dispatcher, [], { onUnmocked: 'passthrough' })
      await runTools(dispatcher, [weather('a')], { real })
      expect(mocks.coverage().live).toEqual(['get_weather'])
      expect(warn).not.toHaveBeenCalled()
    }
    using _mocks = mockTools(dispatcher, [], { onUnmocked: 'warn' })
    await runTools(dispatcher, [weather('a'), weather('b')], { real })
    expect(real.ran).toHaveLength(3)
    expect(warn).toHaveBeenCalledTimes(1)
    warn.mockRestore()
  })

  it('may run the real tool by a rule of its own', async () => {
    const dispatcher = new HookDispatcher()
    const real = new RealTools()
    using _mocks = mockTools(dispatcher, [mock('now').passesThrough()])
    const outcomes = await runTools(dispatcher, [{ apiName: 'now' }, { apiName: 'later' }], { real })
    expect(real.ran).toEqual(['now'])
    expect(outcomes.map(({ state }) => state)).toEqual(['completed', 'errored'])
    expect(() => _mocks.assertUsed()).toThrow('"later"')
  })

  it('fails when a `when` function throws', async () => {
    const dispatcher = new HookDispatcher()
    const mocks = mockTools(dispatcher, [
      mock('t')
        .when(() => {
          throw new Error('broken')
        })
        .optional()
        .returns(1),
    ])
    const [outcome] = await runTools(dispatcher, [{ apiName: 't' }])
    expect(errorOf(outcome)).toMatchObject({
      message: expect.stringContaining('threw: broken'),
      cause: new Error('broken'),
    })
    mocks.detach()
  })

  it('fails when a `when` function is asynchronous: a rule is chosen at once', async () => {
    const dispatcher = new HookDispatcher()
    const fits = (async () => Promise.reject(new Error('nobody waits'))) as unknown as () => boolean
    const mocks = mockTools(dispatcher, [mock('t').when(fits).optional().returns(1)])
    const [outcome] = await runTools(dispatcher, [{ apiName: 't' }])
    expect(errorOf(outcome).message).toContain('it gave a promise, and a rule is chosen at once')
    mocks.detach()
  })
})

describe('a rule that is not used', () => {
  it.each([
    ['never', mock('get_weather').when({ city: 'Rome' }).returns(1), 'answered 0 calls, expected at least 1'],
    ['too seldom', mock('get_weather').times(3).returns(1), 'answered 1 calls, expected 3'],
    ['in part of its sequence', mock('get_weather').sequence([1, 2]), 'answered 1 calls, expected 2'],
  ])('fails the test: %s', async (_name, rule, message) => {
    const dispatcher = new HookDispatcher()
    const mocks = mockTools(dispatcher, [rule, mock('get_weather').optional().returns(0)])
    await runTools(dispatcher, [weather('Paris')])
    const failure = thrownBy(() => mocks[Symbol.dispose]())
    expect(failure.code).toBe('MOCK_UNUSED')
    expect(failure.message).toContain(message)
    expect(failure.message).toContain('called   get_weather({"city":"Paris"})')
  })

  it('is no failure when it is optional', async () => {
    const dispatcher = new HookDispatcher()
    using _mocks = mockTools(dispatcher, [mock('t').optional().returns(1)])
    await runTools(dispatcher, [])
  })

  it('is no failure when it is optional, whatever else was called', async () => {
    const dispatcher = new HookDispatcher()
    using _mocks = mockTools(dispatcher, [mock('t').optional().returns(1), mock('other').returns(1)])
    await runTools(dispatcher, [{ apiName: 'other' }])
  })

  it('is told with the call that was probably meant, where nobody lists the tools', async () => {
    const dispatcher = new HookDispatcher()
    const mocks = mockTools(dispatcher, [mock('serch').returns(1), mock('search').returns(1)])
    await runTools(dispatcher, [{ apiName: 'search' }])
    const failure = thrownBy(() => mocks.assertUsed())
    expect(failure.code).toBe('MOCK_UNUSED')
    expect(failure.message).toContain(
      'The tool was never called, or a gate or a human refused its calls. Did you mean "search"?',
    )
  })
})

describe('a rule for a tool that no agent has', () => {
  it('fails the test, known from what the model is offered', async () => {
    const dispatcher = new HookDispatcher()
    const mocks = mockTools(dispatcher, [mock('get_wether').optional().returns(1)])
    const operation = dispatcher.startOperation({ agentName: 'support' })
    const tools = [{ type: 'function', function: { name: 'get_weather', parameters: inputSchema } }]
    await operation.step((step) => step.llmCall({ model: 'm', request: { messages: [], tools } }, () => ({})))
    await operation.complete()
    const failure = thrownBy(() => mocks.assertUsed())
    expect(failure.code).toBe('MOCK_UNKNOWN_TOOL')
    expect(failure.message).toContain('Did you mean "get_weather"?')
  })

  it('fails the test, known from the declared tools', () => {
    const mocks = mockTools(new HookDispatcher(), [mock('nothing').returns(1)], {
      tools: [{ name: 'search' }],
    })
    expect(thrownBy(() => mocks.assertUsed())).toMatchObject({ code: 'MOCK_UNKNOWN_TOOL' })
  })
})

describe('a rule that answered for a tool that no agent has', () => {
  const asked = (
    tools: readonly object[] | undefined,
    rule: MockRule,
    name = 'find',
    dispatcher = new HookDispatcher(),
  ) => {
    const mocks = mockTools(dispatcher, [rule])
    const operation = dispatcher.startOperation({ agentName: 'support' })
    const call = { id: 'call_0', type: 'function', function: { name, arguments: '{}' } }
    const message = { role: 'assistant', content: null, tool_calls: [call] }
    const reply = { choices: [{ index: 0, message, finish_reason: 'tool_calls' }] }
    return operation
      .step(async (step) => {
        await step.llmCall({ model: 'm', request: { messages: [], ...(tools && { tools }) } }, () => reply)
        await step.toolCall({ apiName: 'find', args: {}, toolCallId: 'call_0' }, () => 'real')
      })
      .then(() => operation.complete())
      .then(() => mocks)
  }
  const offers = (name: string) => ({ type: 'function', function: { name } })

  it.each([
    ['a value', mock('find').returns(1)],
    ['a function', mock('find').calls(() => 1)],
    ['of any tool', mock('*').returns(1)],
  ])('fails the test: the tool has another name since, %s', async (_name, rule) => {
    const mocks = await asked([offers('find_order')], rule)
    const failure = thrownBy(() => mocks.assertUsed())
    expect(failure.code).toBe('MOCK_UNKNOWN_TOOL')
    expect(failure.message).toContain(
      `A mock answered a call of tool "find", which its agent does not have: ${rule}.`,
    )
    expect(failure.message).toContain('called   find({})  in support')
    expect(failure.message).toContain('Tools: find_order.')
  })

  it.each([
    ['the tool is there', [offers('find')], mock('find').returns(1)],
    ['nobody lists the tools', undefined, mock('find').returns(1)],
    [
      'the model finds tools by itself',
      [offers('find_order'), { type: 'tool_search' }],
      mock('find').returns(1),
    ],
    ['the rule says that it failed', [offers('find_order')], mock('find').fails('There is no such tool.')],
    ['it runs', [offers('find_order')], mock('find').passesThrough()],
  ])('says nothing where %s', async (_name, tools, rule) => {
    ;(await asked(tools, rule)).assertUsed()
  })

  it('fails the test of an agent that has no tool any more', async () => {
    const mocks = await asked([], mock('find').returns(1))
    expect(thrownBy(() => mocks.assertUsed()).message).toContain('There are no tools.')
  })

  it('fails the test of an agent of execAgent that has none, which asks its model without a list', async () => {
    const dispatcher = new HookDispatcher()
    const mocks = mockTools(dispatcher, [mock('find').returns(1)])
    using client = scriptedModel([callTool('find'), 'done'])
    await execAgent({ agent: { name: 'support', model: 'm' }, prompt: 'go', dispatcher, client })
    expect(thrownBy(() => mocks.assertUsed()).message).toContain('There are no tools.')
    expect(client.requests.map(({ body }) => 'tools' in body)).toEqual([false, false])
  })

  it('fails the test also where another agent has such a tool', async () => {
    const dispatcher = new HookDispatcher()
    const mocks = await asked([offers('find_order')], mock('find').returns(1), 'find', dispatcher)
    await asked([offers('find')], mock('find').returns(1), 'find', dispatcher)
    expect(thrownBy(() => mocks.assertUsed()).message).toMatch(
      /which its agent does not have.*Tools: find_order\./s,
    )
  })

  it('says nothing of a tool that the program calls, and no model', async () => {
    ;(await asked([offers('find_order')], mock('find').returns(1), 'find_order')).assertUsed()
  })
})

describe("the tool's schemas", () => {
  const sources = {
    'of the call': (dispatcher: HookDispatcher) => ({
      call: { inputSchema },
      mocks: mockTools(dispatcher, [mock('get_weather').optional().returns({})]),
    }),
    declared: (dispatcher: HookDispatcher) => ({
      call: {},
      mocks: mockTools(dispatcher, [mock('get_weather').optional().returns({})], {
        tools: [{ name: 'get_weather', inputSchema }],
      }),
    }),
  }

  it.each(Object.entries(sources))('refuse arguments that break them: schema %s', async (_name, make) => {
    const dispatcher = new HookDispatcher()
    const { call, mocks } = make(dispatcher)
    const args = { days: 0.5, unit: 'C' }
    const [outcome] = await runTools(dispatcher, [{ ...weather(0), args, ...call }])
    expect(errorOf(outcome).message).toBe(
      [
        'The arguments of "get_weather" break the tool\'s input schema.',
        '  called   get_weather({"days":0.5,"unit":"C"})  in support, step 0, call call_0',
        '  args.city: is required, got `undefined`',
        '  args.days: expected integer, got `0.5` (number)',
        '  args.unit: is not a property of the schema, got `"C"` (string)',
      ].join('\n'),
    )
    expect(thrownBy(() => mocks.assertUsed())).toMatchObject({ code: 'MOCK_ARGUMENTS' })
  })

  it('refuse arguments by what the model was offered', async () => {
    const dispatcher = new HookDispatcher()
    const mocks = mockTools(dispatcher, [mock('get_weather').optional().returns({})])
    const operation = dispatcher.startOperation({ agentName: 'support' })
    const tools = [{ type: 'function', name: 'get_weather', parameters: inputSchema }]
    const outcome = await operation.step(async (step) => {
      await step.llmCall({ model: 'm', request: { input: 'hi', tools } }, () => ({}))
      return step.toolCall({ apiName: 'get_weather', args: { city: 7 } }, () => 'real')
    })
    await operation.complete()
    expect(errorOf(outcome).message).toContain('args.city: expected string, got `7` (number)')
    expect(() => mocks[Symbol.dispose]()).toThrow()
  })

  it('refuse a mocked result that breaks them', async () => {
    const dispatcher = new HookDispatcher()
    const outputSchema = { type: 'object', properties: { tempC: { type: 'number' } }, required: ['tempC'] }
    const mocks = mockTools(dispatcher, [mock('get_weather').returns({ tempC: 'warm' })])
    const [outcome] = await runTools(dispatcher, [{ ...weather('a'), outputSchema }])
    expect(errorOf(outcome).message).toContain('result.tempC: expected number, got `"warm"` (string)')
    expect(thrownBy(() => mocks.assertUsed())).toMatchObject({ code: 'MOCK_RESULT' })
  })

  it('fail the test when they cannot be checked', async () => {
    const dispatcher = new HookDispatcher()
    const mocks = mockTools(dispatcher, [mock('t').optional().returns(1)])
    const schema = { $ref: 'https://example.com/elsewhere.json' }
    const [outcome] = await runTools(dispatcher, [{ apiName: 't', inputSchema: schema }])
    expect(outcome?.state).toBe('errored')
    expect(thrownBy(() => mocks.assertUsed()).message).toMatch(
      /The input schema of "t" cannot be checked: .*elsewhere\.json.* leads nowhere\.\nMend it, or give `schemas: 'off'`/,
    )
  })

  it('test nothing when switched off', async () => {
    const dispatcher = new HookDispatcher()
    using _mocks = mockTools(dispatcher, [mock('get_weather').returns(1)], { schemas: 'off' })
    const [outcome] = await runTools(dispatcher, [
      { ...weather(7), inputSchema, outputSchema: { type: 'string' } },
    ])
    expect(outcome?.state).toBe('mocked')
  })
})

describe('noLiveCalls()', () => {
  it('refuses a tool that nothing stands in for, in every dispatcher', async () => {
    const guard = noLiveCalls({ allow: { tools: ['clock'] } })
    const real = new RealTools()
    const outcomes = await runTools(new HookDispatcher(), [{ apiName: 'delete_all' }, { apiName: 'clock' }], {
      real,
    })
    expect(errorOf(outcomes[0]).message).toContain('the real tool "delete_all" (local) was about to run')
    expect(real.ran).toEqual(['clock'])
    expect(thrownBy(() => guard[Symbol.dispose]())).toMatchObject({ code: 'LIVE_CALL' })
    await runTools(new HookDispatcher(), [{ apiName: 'delete_all' }], { real })
    expect(real.ran).toEqual(['clock', 'delete_all'])
  })

  it('refuses fetch, http and a model call, and lets mocks and scripted models through', async () => {
    const server = await startCounting()
    const url = `http://127.0.0.1:${server.port}/v1`
    const guard = noLiveCalls()
    try {
      await expect(fetch(url)).rejects.toMatchObject({ cause: { code: 'LIVE_CALL' } })
      const [error] = await once(get(url), 'error')
      expect(error).toMatchObject({ code: 'LIVE_CALL' })

      const dispatcher = new HookDispatcher()
      const operation = dispatcher.startOperation()
      const call = (client: OpenAI) =>
        operation.llmCall({ model: 'gpt-4o', request: {} }, () =>
          client.chat.completions.create({ model: 'gpt-4o', messages: [{ role: 'user', content: 'hi' }] }),
        )
      await expect(call(new OpenAI({ apiKey: 'k', baseURL: url, maxRetries: 0 }))).rejects.toThrow(
        'Connection error',
      )
      expect(guard.refused.at(-1)?.message).toContain('A call of the model "gpt-4o" to 127.0.0.1')

      const refused = guard.refused.length
      const scripted = scriptedFetch({ steps: [{ content: 'hello' }] })
      await call(new OpenAI({ apiKey: 'k', fetch: scripted }))
      await using scriptedServer = await startScriptedServer({ steps: [{ content: 'hello' }] })
      await call(new OpenAI({ apiKey: 'k', baseURL: scriptedServer.baseURL }))
      using _mocks = mockTools(dispatcher, [mock('t').returns(1)])
      await operation.toolCall({ apiName: 't', args: {} }, () => 'real')
      expect(guard.refused).toHaveLength(refused)
      expect(server.reached).toBe(0)
    } finally {
      guard.stop()
    }
    expect((await fetch(url)).status).toBe(200)
  })

  it('refuses a packet by where it goes, however that is said', async () => {
    const sink = createSocket('udp4').bind(0, '127.0.0.1')
    await once(sink, 'listening')
    const { port } = sink.address()
    const connected = createSocket('udp4')
    connected.connect(port, '127.0.0.1')
    await once(connected, 'connect')
    const sender = createSocket('udp4')
    onTestFinished(() => void [sink, connected, sender].map((socket) => socket.close()))
    const ways = [
      () => sender.send('x', port, '127.0.0.1'),
      () => sender.send(Buffer.from('x'), 0, 1, port, '127.0.0.1'),
      () => connected.send('x'),
      () => connected.send(Buffer.from('x'), 0, 1),
    ]
    const guard = noLiveCalls()
    for (const send of ways) expect(send).toThrow(`A connection to 127.0.0.1:${port} was about to be made`)
    guard.stop()
    using _allowed = noLiveCalls({ allow: { hosts: [`127.0.0.1:${port}`] } })
    for (const send of ways) {
      send()
      await once(sink, 'message')
    }
  })

  it('refuses to reuse a connection that was open before, unless its host is allowed', async () => {
    const server = await startCounting()
    const { port } = server
    const agent = new Agent({ keepAlive: true })
    const ask = () =>
      new Promise((resolve, reject) => {
        get({ host: 'localhost', port, agent }, (response) => response.resume().on('end', resolve)).on(
          'error',
          reject,
        )
      })
    const fetchText = async () => (await fetch(`http://localhost:${port}`)).text()
    // The agent puts its connection back after the reply was read; fetch does before.
    const isKept = () => expect.poll(() => Object.keys(agent.freeSockets)).toHaveLength(1)
    try {
      await Promise.all([ask(), fetchText()])
      await isKept()
      {
        using _allowed = noLiveCalls({ allow: { hosts: [`localhost:${port}`] } })
        await Promise.all([ask(), fetchText()])
        await isKept()
      }
      const guard = noLiveCalls()
      await expect(ask()).rejects.toMatchObject({ code: 'LIVE_CALL' })
      await expect(fetchText()).rejects.toThrow('fetch failed')
      guard.stop()
      expect(guard.refused.map(({ message }) => message)).toEqual(
        Array(2).fill(expect.stringContaining(`A connection to localhost:${port} was about to be made`)),
      )
      expect(server.reached).toBe(4)
      await Promise.all([ask(), fetchText()])
    } finally {
      agent.destroy()
    }
  })

  it('lets allowed hosts through', async () => {
    const server = createServer((_request, response) => response.end('ok')).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    {
      using _guard = noLiveCalls({ allow: { hosts: [`127.0.0.1:${port}`] } })
      expect(await (await fetch(`http://127.0.0.1:${port}`)).text()).toBe('ok')
    }
    server.closeAllConnections()
    server.close()
  })
})

describe('an expectation in a function of a rule', () => {
  const jests = Object.assign(new Error('expect(received).toBe(expected)'), {
    matcherResult: { pass: false },
  })
  const spent = (error: Error) => () => {
    throw error
  }

  it.each([
    ["node:assert's", () => assert.equal(1, 2), 'Expected values to be strictly equal'],
    ["vitest's", () => expect(1).toBe(2), 'expected 1 to be 2'],
    ["Jest's", spent(jests), 'expect(received).toBe(expected)'],
  ])('that fails fails the test, though the agent goes on: %s', async (_whose, fn, said) => {
    for (const rule of [mock('t').calls(fn), mock('t').simulatedBy(fn), mock('t').sequence([fn])]) {
      const dispatcher = new HookDispatcher()
      const mocks = mockTools(dispatcher, [rule])
      const [outcome] = await runTools(dispatcher, [{ apiName: 't', args: {} }])
      expect(outcome?.state).toBe('errored')
      const error = thrownBy(() => mocks.assertUsed())
      expect(error).toMatchObject({ code: 'MOCK_EXPECTATION', cause: errorOf(outcome) })
      expect(error.message).toContain(said)
      mocks.detach()
    }
  })

  it('is none where the tool throws as tools do', async () => {
    const dispatcher = new HookDispatcher()
    using mocks = mockTools(dispatcher, [
      mock('t').calls(spent(new Error('sold out'))),
      mock('u').throws(jests),
    ])
    await runTools(dispatcher, [
      { apiName: 't', args: {} },
      { apiName: 'u', args: {} },
    ])
    expect(mocks.failures).toEqual([])
  })
})
