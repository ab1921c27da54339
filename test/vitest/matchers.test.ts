import { HookDispatcher } from 'hookspan'
import { execAgent } from 'hookspan/agent'
import { deny, requireApproval } from 'hookspan/gates'
import {
  callTool,
  callTools,
  type ModelStep,
  matchTrajectory,
  readTrajectory,
  recordEvents,
  replayTools,
  scriptedModel,
} from 'hookspan/mock'
import { expect as check, repeatRuns } from 'hookspan/vitest'
import { describe, expect, it } from 'vitest'

const messageOf = (act: () => void): string => {
  try {
    act()
  } catch (error) {
    return (error as Error).message
  }
  return 'nothing was wrong'
}

const denied = { name: 'book', args: {}, outcome: 'denied', code: 'too_dear', reason: 'above 50' } as const

describe('the message of a matcher', () => {
  it('names all that was expected', () => {
    const said = [
      messageOf(() => check([denied]).toHaveBeenDenied('find', { code: 'other', reason: /cheap/ })),
      messageOf(() =>
        check([denied]).toHaveCalledTool('find', { a: 1 }, { outcome: 'errored', agent: 'helper', times: 2 }),
      ),
      messageOf(() => check([denied]).toHaveCalledTool('book', undefined, { result: expect.any(Number) })),
    ]
    expect(said.map((message) => message.split('\n')[0])).toEqual([
      'Expected a denied call of "find" with code other, reason /cheap/, found 0.',
      'Expected 2 calls of "find" with these arguments, outcome errored, agent helper, found 0.',
      'Expected a call of "book" with result Any<Number>, found 0.',
    ])
    expect(said[2]).toContain('result: expected Any<Number>, got undefined')
  })

  it('tells why a call failed whose result is not as expected', async () => {
    const dispatcher = new HookDispatcher()
    using log = recordEvents(dispatcher)
    const down = () => Promise.reject(new Error('the bank is down'))
    await dispatcher.startOperation().toolCall({ apiName: 'book', args: {} }, down)
    const expected = [{ name: 'book', result: { ok: true } }]
    const why = '~ book({}) [errored] ! the bank is down\n    result: expected {"ok":true}, got undefined'
    expect(messageOf(() => check(log).toMatchTrajectory(expected))).toContain(why)
    expect(messageOf(() => check(log).toHaveCalledTool('book', {}, { result: { ok: true } }))).toContain(why)
    expect(messageOf(() => check(log).not.toHaveCalledTool('book'))).toContain(
      'book({}) [errored: the bank is down]',
    )
  })

  it('tells how often a human was to be asked, and by whom to be answered', async () => {
    const dispatcher = new HookDispatcher()
    using log = recordEvents(dispatcher)
    dispatcher.use({
      name: 'ask',
      gates: [{ id: 'ask', point: 'beforeToolCall', decide: () => requireApproval({}) }],
      approver: { requestApproval: async () => ({ decision: 'approve', approver: 'anna' }) },
    })
    await dispatcher.startOperation().toolCall({ apiName: 'book', args: {} }, () => 1)
    const asked = messageOf(() =>
      check(log).toHaveAskedHuman('book', { action: 'edit', approver: 'ben', times: 2 }),
    )
    expect(asked).toBe(
      'Expected humans to be asked 2 times about "book" with answer edit, approver ben, found 0.\nAsked:\n  book: approve',
    )
    expect(messageOf(() => check(log).not.toHaveAskedHuman('book', { times: 1 }))).toContain(
      'Expected humans not to be asked 1 times about "book", found 1.',
    )
  })

  it('says where there was nothing of the kind at all', async () => {
    const dispatcher = new HookDispatcher()
    using log = recordEvents(dispatcher)
    await dispatcher.startOperation().complete()
    const said = [
      messageOf(() => check(log).toHaveAskedHuman('book')),
      messageOf(() => check(log).toHaveBeenDenied('book')),
      messageOf(() => check(log).toHaveCalledTool('book')),
    ]
    expect(said.map((message) => message.split('\n').at(-1))).toEqual([
      'Asked: none.',
      'Denied: none.',
      'Calls: none.',
    ])
  })

  it('is made of arguments that JSON has no place for, and of text that would act on the terminal', () => {
    const circle: Record<string, unknown> = { big: 1n }
    circle.self = circle
    const call = { name: '\u001b[31mbook\n', args: circle, outcome: 'completed' } as const
    expect(messageOf(() => check([call]).toHaveCalledTool('find'))).toBe(
      'Expected a call of "find", found 0.\nCalls:\n  \\u001b[31mbook\\n({"big":"1","self":"[Circular]"}) [completed]',
    )
  })

  it('has a length, and what is wrong in it', () => {
    const calls = Array.from({ length: 5_000 }, (_, n) => ({
      name: 'find',
      args: { n, text: 'x'.repeat(999) },
    }))
    const other = calls.with(4_000, { name: 'book', args: { n: 1, text: '' } })
    const told = messageOf(() => check(other).toMatchTrajectory(calls.slice(0, 50)))
    expect(told.length).toBeLessThan(50_000)
    const moved = messageOf(() =>
      check(other.slice(3_900, 4_100)).toMatchTrajectory(calls.slice(3_900, 4_100)),
    )
    expect(moved).toContain('+ book(')
    expect(messageOf(() => check(calls).not.toHaveCalledTool('find'))).toMatch(/\n… and 4900 more$/)
  })
})

describe('a run that is parked', () => {
  it('has called what waits for a human, from each thing that tells of it', async () => {
    const { failures } = await repeatRuns(1, async ({ dispatcher, trace }) => {
      dispatcher.use({
        name: 'ask',
        gates: [{ id: 'ask', point: 'beforeToolCall', decide: () => requireApproval({}) }],
        approver: { requestApproval: async () => ({ decision: 'park' }) },
      })
      const op = dispatcher.startOperation({ agentName: 'shop' })
      await op.toolCall({ apiName: 'book', args: { n: 1 } }, () => 1)
      for (const source of [trace.events, trace.spans, trace.toJSON()]) {
        expect(readTrajectory(source)).toMatchObject([
          { name: 'book', args: { n: 1 }, agent: 'shop', outcome: 'waiting' },
        ])
        check(source).toMatchTrajectory(readTrajectory(trace.spans))
        check(source).toHaveSpans([{ name: 'execute_tool book', parent: 'invoke_agent shop' }])
      }
      op.park({ waitingFor: 'human' })
    })
    expect(failures).toEqual([])
  })
})

it('tells questions apart whose calls have the same id', async () => {
  const dispatcher = new HookDispatcher()
  using log = recordEvents(dispatcher)
  dispatcher.use({
    name: 'ask',
    gates: [{ id: 'ask', point: 'beforeToolCall', decide: () => requireApproval({}) }],
    approver: {
      requestApproval: async ({ apiName }) =>
        apiName === 'book' ? { decision: 'park' } : { decision: 'approve', approver: 'anna' },
    },
  })
  const op = dispatcher.startOperation()
  await op.toolCall({ apiName: 'book', args: {}, toolCallId: 'same' }, () => 1)
  await op.toolCall({ apiName: 'find', args: {}, toolCallId: 'same' }, () => 1)
  check(log).toHaveAskedHuman('find', { action: 'approve', approver: 'anna' })
  check(log).not.toHaveAskedHuman('book', { action: 'approve' })
  op.park({ waitingFor: 'human' })
})

it('reads calls that were made at once in the order in which they were made, however long gates think', async () => {
  const dispatcher = new HookDispatcher()
  using log = recordEvents(dispatcher)
  const { promise, resolve } = Promise.withResolvers<void>()
  const decide = ({ apiName }: { apiName?: string }) =>
    apiName === 'book' ? promise.then(() => deny('no')) : undefined
  dispatcher.use({ name: 'slow', gates: [{ id: 'slow', point: 'beforeToolCall', decide }] })
  const op = dispatcher.startOperation()
  const book = op.toolCall({ apiName: 'book', args: {} }, () => 1)
  await op.toolCall({ apiName: 'find', args: {} }, () => 1)
  resolve()
  await book
  check(log).toMatchTrajectory([{ name: 'book', outcome: 'denied' }, 'find'])
  await op.complete()
})

it('takes no span without a name: none has it, and before `.not` every trace would do', () => {
  const spans = [{ name: 'step', attributes: {} }]
  for (const wrong of ['', { name: '' }, { parent: '' }, { under: '' }]) {
    expect(() => check(spans).not.toHaveSpans([wrong])).toThrow(/to be a non-empty string|to be an object/)
  }
})

it('does not judge by a log that was full: what it has lost would be what did not happen', async () => {
  const dispatcher = new HookDispatcher()
  using full = recordEvents(dispatcher, { maxEvents: 3 })
  const op = dispatcher.startOperation()
  const run = { operationId: op.operationId, messages: [] }
  for (const apiName of ['a', 'b', 'c']) await op.toolCall({ apiName, args: {} }, () => 1)
  await op.complete()
  expect(() => check(full).not.toHaveCalledTool('a')).toThrow('has dropped the first 5 events. Keep more')
  expect(() => check(full).not.toHaveBeenDenied('a')).toThrow('has dropped the first 5 events')
  expect(() => check(run).not.toHaveAskedHuman()).toThrow('Only events and spans tell')
  expect(() => check(run).not.toHaveSpans(['execute_tool a'])).toThrow('Expected spans')
})

it('judges a run by the log that has seen it begin, also where a full one was there before', async () => {
  const dispatcher = new HookDispatcher()
  dispatcher.use({
    name: 'no',
    gates: [{ id: 'no', point: 'beforeToolCall', match: 'a', decide: () => deny('no') }],
  })
  using _full = recordEvents(dispatcher, { maxEvents: 3 })
  using _whole = recordEvents(dispatcher)
  const op = dispatcher.startOperation()
  const run = { operationId: op.operationId, messages: [] }
  for (const apiName of ['a', 'b', 'c']) await op.toolCall({ apiName, args: {} }, () => 1)
  check(run).toHaveBeenDenied('a')
  check(run).toHaveSpans(['execute_tool a'])
  await op.complete()
})

it('tells calls of one reply from those of one after the other by their steps alone', async () => {
  const tools = ['find', 'pay'].map((name) => ({ name, execute: () => name }))
  const run = async (...steps: ModelStep[]) => {
    const dispatcher = new HookDispatcher()
    using log = recordEvents(dispatcher)
    using replay = replayTools(dispatcher, { recording: { ...EMPTY, calls: ['find', 'pay'].map(recorded) } })
    using client = scriptedModel([...steps, 'done'])
    await execAgent({ agent: { name: 'a', model: 'm', tools }, prompt: 'x', dispatcher, client })
    check(log).toMatchTrajectory([{ name: 'pay', after: 'find' }, 'find'], { mode: 'unordered' })
    replay.assertFollowed()
    return { events: [...log.events] }
  }
  const paysLater = [{ name: 'execute_tool pay', parent: 'step 1' }]
  check(await run(callTool('find'), callTool('pay'))).toHaveSpans(paysLater)
  check(await run(callTools(['find'], ['pay']))).not.toHaveSpans(paysLater)
})

const EMPTY = { format: 'hookspan-recording', version: 1, redacted: false, tools: {}, calls: [] } as const
const recorded = (tool: string, step: number) => ({ agent: 'a', step, tool, args: {}, result: tool })

it('judges by no empty trace: of an agent on another dispatcher, nothing that must not happen has', async () => {
  const { failures } = await repeatRuns(1, async ({ dispatcher, trace }) => {
    for (const judge of [
      () => check(trace).not.toHaveCalledTool('refund'),
      () => check(trace).not.toHaveBeenDenied(),
      () => check(trace).not.toHaveAskedHuman(),
      () => check(trace).not.toHaveSpans(['execute_tool refund']),
      () => check(trace).toMatchTrajectory([], { forbidden: ['refund'] }),
      () => check(trace.spans).not.toHaveCalledTool('refund'),
      () => check(trace.events).not.toHaveAskedHuman('refund'),
    ]) {
      expect(judge).toThrow('The trace is empty: nothing has run on the dispatcher of this test')
    }
    await dispatcher.startOperation().complete()
    check(trace).not.toHaveCalledTool('refund')
  })
  expect(failures).toEqual([])
})

it('takes no path of agents for the name of a tool: before `.not` it would hold for every run', () => {
  expect(() => check([denied]).not.toHaveCalledTool('shop > book')).toThrow(
    'Expected the tool of toHaveCalledTool()',
  )
  expect(() => check([denied]).toMatchTrajectory(['book'], { forbidden: ['shop > *'] })).toThrow(
    'Expected `forbidden`',
  )
})

it('takes no slip of a tool that was offered for one that was not called', async () => {
  const dispatcher = new HookDispatcher()
  using log = recordEvents(dispatcher)
  using client = scriptedModel(['nothing to do'])
  const order = { type: 'object', properties: { total: { type: 'number' } } }
  const parameters = { type: 'object', properties: { id: {}, amount: { type: 'number' }, order } }
  const others = ['get_user', 'search_v2', 'delete_order'].map((name) => ({ name, execute: () => 1 }))
  const tools = [{ name: 'refund', parameters, execute: () => 1 }, ...others]
  const agent = { name: 'support', model: 'm', tools }
  const run = await execAgent({ agent, prompt: 'hello', dispatcher, client })
  for (const source of [run, log, log.events]) {
    for (const judge of [
      () => check(source).not.toHaveCalledTool('refnd'),
      () => check(source).toHaveCalledTool('refnd', undefined, { times: 0 }),
      () => check(source).not.toHaveBeenDenied('refnd'),
      () => check(source).not.toHaveAskedHuman('bank/refnd'),
      () => check(source).toMatchTrajectory([], { forbidden: ['refnd'] }),
      () => matchTrajectory(source, [], { maxCalls: { refnd: 1 } }),
    ]) {
      expect(judge).toThrow(/No model was offered a tool "(bank\/)?refnd"[\s\S]* Did you mean "refund"\?/)
    }
    expect(() => check(source).not.toHaveCalledTool('deleteOrder')).toThrow('Did you mean "delete_order"?')
    // There, or one that the agent rightly does not have.
    for (const name of [
      'refund',
      'bank/refund',
      'ref*',
      'refnd*',
      'set_user',
      'search_v1',
      'wipe_disk',
      'get_users_of',
    ]) {
      check(source).not.toHaveCalledTool(name)
    }
    expect(() => check(source).not.toHaveCalledTool('refund', { ammount: 900 })).toThrow(
      /takes no argument "ammount"[\s\S]*Did you mean "amount"\?/,
    )
    expect(() => check(source).not.toHaveCalledTool('refund', { order: { totl: 900 } })).toThrow('"total"')
    check(source).not.toHaveCalledTool('refund', { amount: 900, note: 'of another version' })
    check(source).not.toHaveCalledTool('search_v2', { ammount: 900 })
    check(source).toMatchTrajectory([], { forbidden: ['refund', 'refunds'], maxCalls: { delete_order: 1 } })
  }
  expect(() => check(run).toHaveCalledTool('refnd')).toThrow('Expected a call of "refnd", found 0')
  check(run.messages).not.toHaveCalledTool('refnd')
})

it('takes no slip of what was seen for what was not there', async () => {
  const dispatcher = new HookDispatcher()
  using log = recordEvents(dispatcher)
  dispatcher.use({ name: 'no', gates: [{ id: 'no', point: 'beforeToolCall', decide: () => deny('no') }] })
  using client = scriptedModel([callTool('refund', { amount: 900 }), 'sorry'])
  const parameters = { type: 'object', properties: { amount: { type: 'number' } } }
  const tools = ['refund', 'refunds'].map((name) => ({ name, parameters, execute: () => 1 }))
  const run = await execAgent({
    agent: { name: 'support', model: 'm-4', tools },
    prompt: 'hello',
    dispatcher,
    client,
  })
  for (const source of [run, log, log.events]) {
    for (const [judge, meant] of [
      [() => check(source).not.toHaveCalledTool('refund', undefined, { agent: 'suport' }), 'support'],
      [() => check(source).toHaveCalledTool('refund', {}, { agent: 'suport', times: 0 }), 'support'],
      [() => check(source).not.toMatchTrajectory(['refnd'], { mode: 'superset' }), 'refund'],
      [() => check(source).not.toMatchTrajectory([{ name: 'refund', args: { ammount: 900 } }]), 'amount'],
      [() => check(source).not.toMatchTrajectory([{ name: 'refund', agent: 'suport' }]), 'support'],
      [() => check(source).not.toHaveBeenDenied('refund', { code: 'policy_deneid' }), 'policy_denied'],
      [() => check(source).not.toHaveSpans(['execute_tool refnd']), 'refund'],
      [() => check(source).not.toHaveSpans(['excute_tool refund']), 'execute_tool'],
      [() => check(source).not.toHaveSpans([{ name: 'chat m-4', under: 'invoke_agent suport' }]), 'support'],
      [
        () => check(source).not.toHaveSpans([{ attributes: { 'gen_ai.tool.nme': 'refund' } }]),
        'gen_ai.tool.name',
      ],
    ] as const) {
      expect(judge).toThrow(`Did you mean "${meant}"?`)
    }
    // What is there, and what is rightly not.
    check(source).not.toHaveCalledTool('refund', { amount: 1 }, { agent: 'support' })
    check(source).not.toHaveCalledTool('refund', undefined, { agent: 'researcher' })
    check(source).not.toMatchTrajectory(['refunds'])
    check(source).not.toHaveBeenDenied('refund', { code: 'budget_exceeded' })
    check(source).not.toHaveSpans(['execute_tool refunds'])
    check(source).not.toHaveSpans(['chat m-4o'])
    check(source).not.toHaveSpans(['invoke_agent suppor?r'])
    check(source).not.toHaveSpans([{ attributes: { 'gen_ai.tool.name': 'refunds', 'server.port': 1 } }])
  }
})
