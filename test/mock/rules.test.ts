import { HookDispatcher, type HookEvent, ToolResult } from 'hookspan'
import { match, mock, mockDatabase, mockTools, recordTools } from 'hookspan/mock'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { errorOf, RealTools, resultOf, runTools } from './support/run-tools.ts'

const weather = (city: unknown, more = {}) => ({ apiName: 'get_weather', args: { city, ...more } })
const setup = () => ({ dispatcher: new HookDispatcher(), real: new RealTools() })

afterEach(() => vi.useRealTimers())

describe('a mocked tool', () => {
  it('returns what its rule says, and the real tool does not run', async () => {
    const { dispatcher, real } = setup()
    using mocks = mockTools(dispatcher, [mock('get_weather').returns({ tempC: 7 })])
    const [outcome] = await runTools(dispatcher, [weather('Berlin')], { real })
    expect(outcome).toMatchObject({ state: 'mocked', result: { tempC: 7 } })
    expect(outcome?.toToolMessage()).toEqual({ role: 'tool', tool_call_id: 'call_0', content: '{"tempC":7}' })
    expect(real.ran).toEqual([])
    expect(mocks.calls('get_weather')).toMatchObject([{ args: { city: 'Berlin' }, answeredBy: 'mock' }])
  })

  it('returns nothing where its rule returns nothing', async () => {
    const { dispatcher } = setup()
    using _mocks = mockTools(dispatcher, [mock('log').returns(), mock('find').calls(() => undefined)])
    const outcomes = await runTools(dispatcher, [{ apiName: 'log' }, { apiName: 'find' }])
    for (const outcome of outcomes) {
      expect(outcome).toMatchObject({ state: 'mocked', result: undefined })
      expect(outcome.toToolMessage().content).toBe('')
    }
  })

  it('gives every call a copy of the result', async () => {
    const { dispatcher } = setup()
    using _mocks = mockTools(dispatcher, [mock('get_weather').returns({ list: [1] })])
    const [first] = await runTools(dispatcher, [weather('a')])
    ;(resultOf(first) as { list: number[] }).list.push(2)
    const [second] = await runTools(dispatcher, [weather('a')])
    expect(resultOf(second)).toEqual({ list: [1] })
  })

  it('throws, fails, and says more than its value', async () => {
    const { dispatcher } = setup()
    using _mocks = mockTools(dispatcher, [
      mock('book').throws(new RangeError('sold out')),
      mock('pay').throws('declined'),
      mock('ship').fails('no such address'),
      mock('mail').returns(new ToolResult({ content: 'sent', data: { id: 3 } })),
    ])
    const calls = ['book', 'pay', 'ship', 'mail'].map((apiName) => ({ apiName }))
    const [book, pay, ship, mail] = await runTools(dispatcher, calls)
    expect(errorOf(book)).toEqual(new RangeError('sold out'))
    expect(errorOf(pay).message).toBe('declined')
    expect(ship).toMatchObject({ state: 'mocked', result: 'no such address' })
    expect(mail).toMatchObject({ result: { id: 3 } })
    expect(mail?.toToolMessage().content).toBe('sent')
  })

  it('is a function of its arguments, which throws as the tool would', async () => {
    const { dispatcher } = setup()
    const seen: unknown[] = []
    using _mocks = mockTools(dispatcher, [
      mock('add').calls(({ a, b }: { a: number; b: number }, call) => {
        seen.push([call.callNumber, call.agentPath, call.toolCallId])
        if (a < 0) throw new Error('negative')
        return a + b
      }),
    ])
    const outcomes = await runTools(dispatcher, [
      { apiName: 'add', args: { a: 1, b: 2 } },
      { apiName: 'add', args: { a: -1, b: 2 } },
    ])
    expect(resultOf(outcomes[0])).toBe(3)
    expect(errorOf(outcomes[1]).message).toBe('negative')
    expect(seen).toEqual([
      [0, ['support'], 'call_0'],
      [1, ['support'], 'call_1'],
    ])
  })

  it('delays, times out, and hangs until the run is aborted', async () => {
    const { dispatcher } = setup()
    using _mocks = mockTools(dispatcher, [
      mock('slow').delays(40).returns('…'),
      mock('late').timesOut(10),
      mock('stuck').hangs(),
    ])
    const startedAt = performance.now()
    const [slow, late] = await runTools(dispatcher, [{ apiName: 'slow' }, { apiName: 'late' }])
    expect(performance.now() - startedAt).toBeGreaterThan(45)
    expect(resultOf(slow)).toBe('…')
    expect(errorOf(late)).toMatchObject({ name: 'TimeoutError' })

    const abort = new AbortController()
    const operation = dispatcher.startOperation({ signal: abort.signal })
    const call = operation.toolCall({ apiName: 'stuck', args: {} }, () => 'real')
    await new Promise((resolve) => setImmediate(resolve))
    abort.abort(new Error('enough'))
    expect(errorOf(await call).message).toBe('enough')
  })

  it('ends with its run, whatever its function does', async () => {
    const { dispatcher } = setup()
    using _mocks = mockTools(dispatcher, [
      mock('stuck').calls(() => new Promise(() => {})),
      mock('endless').calls(async function* () {
        yield 1
        await new Promise(() => {})
      }),
      mock('broken').calls(function* () {
        yield 1
        throw new Error('mid-way')
      }),
      mock('thenable').calls(() => ({ then: (done: (value: string) => void) => done('then') })),
    ])
    const abort = new AbortController()
    const operation = dispatcher.startOperation({ signal: abort.signal })
    const make = (apiName: string) => operation.toolCall({ apiName, args: {} }, () => 'real')
    const hanging = Promise.all([make('stuck'), make('endless')])
    expect(errorOf(await make('broken')).message).toBe('mid-way')
    expect(resultOf(await make('thenable'))).toBe('then')
    abort.abort(new Error('enough'))
    expect((await hanging).map((outcome) => errorOf(outcome).message)).toEqual(['enough', 'enough'])
    await operation.complete()
    expect(dispatcher.stats().operations).toBe(0)
  })

  it('answers in a sequence, then once, then by its default', async () => {
    const { dispatcher } = setup()
    using _mocks = mockTools(dispatcher, [
      mock('poll').sequence(['pending', new Error('gone'), () => 'computed']),
      mock('poll').once().returns('once'),
      mock('poll').returns('default'),
    ])
    const calls = Array.from({ length: 6 }, () => ({ apiName: 'poll' }))
    const outcomes = await runTools(dispatcher, calls)
    expect(outcomes.map((outcome) => ('result' in outcome ? outcome.result : outcome.state))).toEqual([
      'pending',
      'errored',
      'computed',
      'once',
      'default',
      'default',
    ])
  })

  it('repeats its sequence for as many times as it says', async () => {
    const { dispatcher } = setup()
    using _mocks = mockTools(dispatcher, [mock('flip').sequence(['a', 'b']).times(4)])
    const outcomes = await runTools(dispatcher, Array(4).fill({ apiName: 'flip' }))
    expect(outcomes.map(resultOf)).toEqual(['a', 'b', 'a', 'b'])
  })

  it('tells calls in the order in which they were made, one that hangs among them', async () => {
    const { dispatcher } = setup()
    const mocks = mockTools(dispatcher, [
      mock('slow').calls(() => new Promise((resolve) => setTimeout(resolve, 5))),
      mock('quick').returns(1),
      mock('hangs').hangs(),
    ])
    const controller = new AbortController()
    const op = dispatcher.startOperation({ signal: controller.signal })
    const call = (apiName: string) => op.toolCall({ apiName, args: {} }, () => 'real')
    const made = ['slow', 'hangs', 'quick'].map(call)
    await made[2]
    expect(mocks.calls().map(({ apiName }) => apiName)).toEqual(['slow', 'hangs', 'quick'])
    controller.abort()
    await Promise.all(made)
    mocks.detach()
  })

  it.each([
    ['hangs', mock('t').hangs()],
    ['takes long', mock('t').delays(60_000).returns(1)],
    ['takes long before the real tool', mock('t').delays(60_000).passesThrough()],
  ])('is told as a tool that has not run where its run ends while its mock %s', async (_what, rule) => {
    const { dispatcher, real } = setup()
    const told: HookEvent[] = []
    const handler = (event: HookEvent) => void told.push(event)
    dispatcher.use({ name: 'told', hooks: [{ id: 'told', type: 'onToolCallError', handler }] })
    const mocks = mockTools(dispatcher, [rule])
    const recorder = recordTools(dispatcher)
    // Awaited by nobody: one that hangs goes on to.
    void runTools(dispatcher, [{ apiName: 't' }], { real })
    await vi.waitFor(() => expect(mocks.calls()).toHaveLength(1))
    dispatcher.interruptAll()
    await dispatcher.drain()
    expect(real.ran).toEqual([])
    expect(told).toMatchObject([
      { mocked: true, errorMessage: 'The run ended (interrupted) while its mock was at work.' },
    ])
    expect(recorder.recording().calls).toEqual([])
    mocks.detach()
  })

  it('delays the real tool, too', async () => {
    const { dispatcher, real } = setup()
    using _mocks = mockTools(dispatcher, [mock('get_weather').delays(40).passesThrough()])
    const startedAt = performance.now()
    expect(await runTools(dispatcher, [weather('a')], { real })).toMatchObject([
      { result: 'real get_weather' },
    ])
    expect(performance.now() - startedAt).toBeGreaterThan(35)
  })

  it('fits what may be absent', async () => {
    const { dispatcher } = setup()
    using mocks = mockTools(dispatcher, [
      mock('get_weather')
        .when({ unit: match.oneOf(match.absent(), 'C'), days: match.not(match.exists()) })
        .returns(1),
    ])
    await runTools(dispatcher, [weather('a'), weather('a', { unit: 'C' })])
    expect(mocks.failures).toEqual([])
    await runTools(dispatcher, [weather('a', { unit: 'F' }), weather('a', { days: 1 })])
    expect(mocks.failures).toHaveLength(2)
    mocks.detach()
  })

  it('streams partial results, and may fail after them', async () => {
    const { dispatcher } = setup()
    using _mocks = mockTools(dispatcher, [
      mock('report').once().streams(['10 %', '90 %'], { returns: 'done' }),
      mock('report')
        .once()
        .streams(['10 %'], { throws: new Error('cut') }),
      mock('report').calls(async function* () {
        yield 'a'
        yield 'b'
      }),
    ])
    const progress: unknown[] = []
    const call = { apiName: 'report', onProgress: (value: unknown) => progress.push(value) }
    const [done, cut, generated] = await runTools(dispatcher, [call, call, call])
    expect(resultOf(done)).toBe('done')
    expect(errorOf(cut).message).toBe('cut')
    expect(resultOf(generated)).toBe('b')
    expect(progress).toEqual(['10 %', '90 %', '10 %', 'a', 'b'])
  })

  it('shares a small database with other tools, which a test looks at in the end', async () => {
    const { dispatcher } = setup()
    const db = mockDatabase({ orders: [{ id: '7', state: 'open', total: 12 }] })
    const orders = db.table('orders')
    using _mocks = mockTools(dispatcher, [
      mock('get_order').calls(({ id }) => orders.get(id) ?? 'not found'),
      mock('cancel_order').calls(({ id }) => orders.update(id, { state: 'cancelled' })),
      mock('create_order').calls((row: { id: string; state: string; total: number }) => orders.insert(row)),
    ])
    const outcomes = await runTools(dispatcher, [
      { apiName: 'cancel_order', args: { id: '7' } },
      { apiName: 'get_order', args: { id: '7' } },
      { apiName: 'create_order', args: { id: '8', state: 'open', total: 1 } },
      { apiName: 'create_order', args: { id: '8', state: 'open', total: 1 } },
    ])
    expect(resultOf(outcomes[1])).toEqual({ id: '7', state: 'cancelled', total: 12 })
    expect(errorOf(outcomes[3]).message).toContain('has a row `"8"` (string) already')
    expect(db.changes()).toMatchObject([
      {
        table: 'orders',
        kind: 'updated',
        key: '7',
        before: { state: 'open' },
        after: { state: 'cancelled' },
      },
      { table: 'orders', kind: 'inserted', key: '8' },
    ])
  })
})

describe('calls()', () => {
  it('names tools as rules do: what must not be called is not missed for the way it is named', async () => {
    const { dispatcher } = setup()
    using mocks = mockTools(dispatcher, [mock('delete_order').returns(1)])
    const op = dispatcher.startOperation({ agentName: 'janitor' })
    await op.toolCall({ apiName: 'delete_order', identifier: 'shop', args: {} }, () => 1)
    for (const name of ['delete_*', 'shop/delete_order', 'janitor > delete_order', '*'])
      expect(mocks.calls(name)).toHaveLength(1)
    for (const name of ['delete', 'other/delete_order', 'other > *']) expect(mocks.calls(name)).toEqual([])
    expect(() => mocks.calls('delete_{order,user}')).toThrow('Expected the tool of calls() to be a name')
    await op.complete()
  })

  it('refuses a slip: it would say of every run that the tool was not called', async () => {
    const { dispatcher } = setup()
    using mocks = mockTools(dispatcher, [mock('refund').optional().returns(1)], {
      tools: [{ name: 'refund' }, { name: 'refund_all' }],
    })
    expect(() => mocks.calls('refnd')).toThrow('Did you mean "refund"?')
    expect(() => mocks.calls('support > shop/refnd')).toThrow('Did you mean "refund"?')
    const op = dispatcher.startOperation({ agentName: 'support' })
    await op.toolCall({ apiName: 'refund', args: {} }, () => 1)
    await op.complete()
    expect(() => mocks.calls('suport > refund')).toThrow('Did you mean "support"?')
    for (const name of ['refund_all', 'cancel', 'refnd*', 'billing > refund'])
      expect(mocks.calls(name)).toEqual([])
  })
})

describe('when()', () => {
  const table: [string, object | ((args: never) => boolean), unknown, unknown][] = [
    ['a partial object', { city: 'Berlin' }, { city: 'Berlin', days: 3 }, { city: 'Bonn' }],
    ['a nested partial object', { at: { city: 'B' } }, { at: { city: 'B', zip: 1 } }, { at: { city: 'C' } }],
    ['lists of the same length', { tags: ['a'] }, { tags: ['a'] }, { tags: ['a', 'b'] }],
    ['a regular expression', { city: /^Ber/ }, { city: 'Berlin' }, { city: 'Oberhof' }],
    ['a regular expression with state', { city: match.regex(/Ber/g) }, { city: 'Berlin' }, { city: 7 }],
    ['numbers', { n: match.gt(5) }, { n: 6 }, { n: 5 }],
    ['numbers from', { n: match.gte(5) }, { n: 5 }, { n: '5' }],
    ['numbers below', { n: match.lt(5) }, { n: 4 }, { n: 5 }],
    ['numbers up to', { n: match.lte(5) }, { n: 5 }, { n: 5.1 }],
    ['close numbers', { n: match.closeTo(0.3) }, { n: 0.1 + 0.2 }, { n: 0.31 }],
    ['one of several', { c: match.oneOf('a', /^b/) }, { c: 'bc' }, { c: 'c' }],
    ['one of a list', { c: match.oneOf(['a', /^b/]) }, { c: 'bc' }, { c: 'c' }],
    ['a date, to the millisecond', { at: new Date(5) }, { at: new Date(5) }, { at: new Date(6) }],
    ['a map', { m: new Map([['a', 1]]) }, { m: new Map([['a', 1]]) }, { m: new Map([['a', 2]]) }],
    ['a set', { s: new Set([1]) }, { s: new Set([1]) }, { s: new Set([2]) }],
    ['an address', { u: new URL('http://a/') }, { u: new URL('http://a/') }, { u: new URL('http://b/') }],
    [
      'headers',
      { h: new Headers({ a: '1' }) },
      { h: new Headers({ a: '1' }) },
      { h: new Headers({ a: '2' }) },
    ],
    ['an error', { e: new Error('a') }, { e: new Error('a') }, { e: new Error('b') }],
    ['bytes', { b: Uint8Array.of(1).buffer }, { b: Uint8Array.of(1).buffer }, { b: Uint8Array.of(2).buffer }],
    ['properties of an error', { e: { message: 'a' } }, { e: new Error('a') }, { e: new Error('b') }],
    ['anything but', { c: match.not('a') }, { c: 'b' }, { c: 'a' }],
    ['an absent property', { c: match.absent() }, {}, { c: null }],
    ['a present property', { c: match.exists() }, { c: null }, {}],
    [
      'types',
      { a: match.string(), b: match.number(), c: match.boolean() },
      { a: '', b: 0, c: false },
      { a: 1, b: 0, c: false },
    ],
    ['a part of a text', { q: match.contains('err') }, { q: 'berry' }, { q: 'bar' }],
    ['an item of a list', { q: match.contains({ id: 1 }) }, { q: [{ id: 1, x: 2 }] }, { q: [{ id: 2 }] }],
    ['a predicate on a value', { n: match.where((n: number) => n % 2 === 0) }, { n: 2 }, { n: 3 }],
    [
      'a predicate that throws',
      { n: match.where((n: { x: { y: 1 } }) => n.x.y === 1) },
      { n: { x: { y: 1 } } },
      { n: 3 },
    ],
    ['a predicate on all arguments', (args: { a: number }) => args.a === 1, { a: 1 }, { a: 2 }],
    ['an exact value', match.exactly({ a: 1 }), { a: 1 }, { a: 1, b: 2 }],
    ['a JSON Schema', match.schema({ required: ['a'] }), { a: 1 }, { b: 1 }],
    ["vitest's matchers", { a: expect.stringContaining('x') }, { a: 'axb' }, { a: 'b' }],
    ['no text for a number', { n: 1 }, { n: 1 }, { n: '1' }],
    ['null for nothing else', { n: null }, { n: null }, { n: 0 }],
  ]

  it.each(table)('takes %s', async (_name, expected, fits, breaks) => {
    const { dispatcher, real } = setup()
    using mocks = mockTools(dispatcher, [mock('t').when(expected).returns('mocked')], {
      onUnmocked: 'passthrough',
    })
    const outcomes = await runTools(
      dispatcher,
      [fits, breaks].map((args) => ({ apiName: 't', args })),
      { real },
    )
    expect(outcomes.map(resultOf)).toEqual(['mocked', 'real t'])
    expect(mocks.coverage()).toEqual({ discovered: ['t'], mocked: ['t'], live: ['t'], refused: [] })
  })

  it('takes a Standard Schema', async () => {
    const { dispatcher } = setup()
    const standard = {
      '~standard': {
        version: 1,
        vendor: 'test',
        validate: (value: unknown) =>
          (value as { a?: number }).a === 1
            ? { value }
            : { issues: [{ message: 'a must be 1', path: ['a'] }] },
      },
    }
    using mocks = mockTools(dispatcher, [mock('t').when(standard).returns('mocked')])
    const [, refused] = await runTools(dispatcher, [
      { apiName: 't', args: { a: 1 } },
      { apiName: 't', args: { a: 2 } },
    ])
    expect(errorOf(refused).message).toContain('args.a: expected a must be 1, got 2')
    expect(() => mocks.assertUsed()).toThrow()
  })

  it('matches nothing more with whenExactly', async () => {
    const { dispatcher } = setup()
    using _mocks = mockTools(dispatcher, [
      mock('t').whenExactly({ a: match.any() }).returns('exact'),
      mock('t').returns('default'),
    ])
    const outcomes = await runTools(dispatcher, [
      { apiName: 't', args: { a: 1, b: 2 } },
      { apiName: 't', args: { a: 1 } },
    ])
    expect(outcomes.map(resultOf)).toEqual(['default', 'exact'])
  })
})

describe('the address of a rule', () => {
  const asParent = async (dispatcher: HookDispatcher) => {
    const operation = dispatcher.startOperation({ agentName: 'support' })
    const own = await operation.toolCall({ apiName: 'search', args: {} }, () => 'real')
    const child = await operation.callAgent(
      { agentName: 'researcher', instruction: 'look' },
      async (parent) => {
        const sub = dispatcher.startOperation({ agentName: 'researcher', parent })
        const outcome = await sub.step((step) => step.toolCall({ apiName: 'search', args: {} }, () => 'real'))
        await sub.complete()
        return outcome
      },
    )
    await operation.complete()
    return [resultOf(own), resultOf(child)]
  }

  it('names a tool inside a sub-agent', async () => {
    const { dispatcher } = setup()
    using _mocks = mockTools(dispatcher, [
      mock('researcher > search').returns('inner'),
      mock('search').returns('any'),
    ])
    expect(await asParent(dispatcher)).toEqual(['any', 'inner'])
  })

  it('names the whole path', async () => {
    const { dispatcher } = setup()
    using _mocks = mockTools(dispatcher, [
      mock('support > researcher > search').returns('inner'),
      mock('support > search').returns('outer'),
    ])
    expect(await asParent(dispatcher)).toEqual(['outer', 'inner'])
  })

  it('is a glob, or names the home of the tool', async () => {
    const { dispatcher } = setup()
    using _mocks = mockTools(dispatcher, [
      mock('github/create_*').returns('github'),
      mock('get_*').returns('getter'),
      mock('*').returns('any'),
    ])
    const outcomes = await runTools(dispatcher, [
      { apiName: 'create_issue', identifier: 'github' },
      { apiName: 'create_issue', identifier: 'gitlab' },
      { apiName: 'get_issue', identifier: 'github' },
    ])
    expect(outcomes.map(resultOf)).toEqual(['github', 'any', 'getter'])
  })
})

describe('runs that go on at once', () => {
  it('take each answer of a sequence once, without waiting for one another', async () => {
    const { dispatcher } = setup()
    using mocks = mockTools(dispatcher, [
      mock('next')
        .sequence([...Array(50).keys()])
        .delays(20),
    ])
    let begun = 0
    const begunWhenOneEnded: number[] = []
    dispatcher.use({
      name: 'count',
      hooks: [
        { id: 'begun', type: 'beforeToolCall', handler: () => void begun++ },
        { id: 'ended', type: 'afterToolCall', handler: () => void begunWhenOneEnded.push(begun) },
      ],
    })
    const outcomes = await Promise.all(
      Array.from({ length: 50 }, () => runTools(dispatcher, [{ apiName: 'next' }])),
    )
    expect(begunWhenOneEnded).toEqual(Array(50).fill(50))
    expect(outcomes.map(([outcome]) => resultOf(outcome)).sort((a, b) => Number(a) - Number(b))).toEqual([
      ...Array(50).keys(),
    ])
    mocks.assertUsed()
  })

  it('have a sequence each with perRun()', async () => {
    const { dispatcher } = setup()
    using _mocks = mockTools(dispatcher, [mock('next').sequence(['a', 'b', 'c']).perRun()])
    const calls = Array(3).fill({ apiName: 'next' })
    const all = await Promise.all(Array.from({ length: 5 }, () => runTools(dispatcher, calls)))
    for (const outcomes of all) expect(outcomes.map(resultOf)).toEqual(['a', 'b', 'c'])
  })

  it('have mocks of their own on one dispatcher with appliesTo', async () => {
    const { dispatcher } = setup()
    const only = (name: string) => ({
      appliesTo: (operation: { agentName?: string }) => operation.agentName === name,
    })
    using _a = mockTools(dispatcher, [mock('t').returns('for a')], only('a'))
    using _b = mockTools(dispatcher, [mock('t').returns('for b')], only('b'))
    const results = await Promise.all(
      ['a', 'b'].map((agentName) => runTools(dispatcher, [{ apiName: 't' }], { agentName })),
    )
    expect(results.map(([outcome]) => resultOf(outcome))).toEqual(['for a', 'for b'])
  })
})

it('asks newer mocks of a dispatcher before older ones, and falls back to these', async () => {
  const { dispatcher, real } = setup()
  using base = mockTools(dispatcher, [mock('search').returns('base'), mock('now').returns('base')])
  {
    using mocks = mockTools(dispatcher, [mock('search').once().returns('own')])
    const outcomes = await runTools(
      dispatcher,
      ['search', 'search', 'now', 'other'].map((apiName) => ({ apiName })),
      { real },
    )
    expect(outcomes.map((outcome) => ('result' in outcome ? outcome.result : outcome.state))).toEqual([
      'own',
      'base',
      'base',
      'errored',
    ])
    expect(mocks.calls().map(({ apiName }) => apiName)).toEqual(['search', 'other'])
    expect(() => mocks.assertUsed()).toThrow('"other" was called')
  }
  const [outcome] = await runTools(dispatcher, [{ apiName: 'search' }], { real })
  expect(resultOf(outcome)).toBe('base')
  expect(real.ran).toEqual([])
  base.assertUsed()
})

it('answers runtimes that dispatch events by hand', async () => {
  const { dispatcher } = setup()
  using _mocks = mockTools(dispatcher, [mock('t').returns({ a: 1 }), mock('bad').throws('no')])
  const event = { identifier: 'local', apiName: 't', args: {}, callIndex: 0, toolCallId: 'c' }
  expect(await dispatcher.dispatchBeforeToolCall('op', event)).toEqual({ content: '{"a":1}', data: { a: 1 } })
  expect(await dispatcher.dispatchBeforeToolCall('op', { ...event, apiName: 'bad' })).toEqual({ error: 'no' })
})

it('lets event.mock() of a hook win, and a gate decide before both', async () => {
  const { dispatcher } = setup()
  using mocks = mockTools(dispatcher, [mock('t').optional().returns('rule')])
  using _hook = dispatcher.use({
    name: 'hook',
    hooks: [
      {
        id: 'h',
        type: 'beforeToolCall',
        match: 't',
        handler: (event) => (event as { mock(m: object): void }).mock({ content: 'hook' }),
      },
    ],
  })
  using _gate = dispatcher.use({
    name: 'gate',
    gates: [
      {
        id: 'g',
        point: 'beforeToolCall',
        decide: ({ apiName }) => (apiName === 'denied' ? { decision: 'deny', reason: 'no' } : undefined),
      },
    ],
  })
  mocks.use(mock('denied').optional().returns('never'))
  const [hooked, denied] = await runTools(dispatcher, [{ apiName: 't' }, { apiName: 'denied' }])
  expect(resultOf(hooked)).toBe('hook')
  expect(denied?.state).toBe('denied')
})

describe('a rule that is wrong in itself', () => {
  it.each([
    ['no name', () => mock(''), 'Expected mock() to get a tool'],
    ['an empty part', () => mock('a > '), 'Expected mock() to get a tool'],
    ['times(0)', () => mock('a').times(0), 'whole number >= 1, got `0`'],
    ['a negative delay', () => mock('a').delays(-1), 'milliseconds >= 0, got `-1`'],
    ['two answers', () => mock('a').returns(1).throws('x'), 'has an answer already'],
    [
      'a function as a value',
      () => mock('a').returns(() => 1),
      'got a function. For what is made anew for each call',
    ],
    ['a promise as a value', () => mock('a').returns(Promise.resolve(1)), 'got a promise'],
    ['a promise in a sequence', () => mock('a').sequence([1, Promise.resolve(2)]), 'got a promise'],
    ['a function as a part', () => mock('a').streams([() => 1]), 'got a function'],
    ['an empty sequence', () => mock('a').sequence([]), 'at least one answer'],
    ['when(text)', () => mock('a').when('x' as never), 'Expected when() to get an object'],
    ['no answer', () => mockTools(new HookDispatcher(), [mock('a').once()]), 'has no answer. Add .returns()'],
    ['no rule', () => mockTools(new HookDispatcher(), [{} as never]), 'Expected a rule made by mock()'],
    [
      'an unknown policy',
      () => mockTools(new HookDispatcher(), [], { onUnmocked: 'fail' as never }),
      'got `"fail"`',
    ],
  ])('is refused where it is written: %s', (_name, make, message) => {
    expect(make).toThrow(message)
  })
})
