import { HookDispatcher, HookspanError } from 'hookspan'
import { describe, expect, it } from 'vitest'
import { collector, failures, hook } from './support.ts'

const handler = () => {}
const good = { id: 'h', type: 'beforeStep', handler }

/** Each is registered as it is; the message must hold the value and what was expected. */
const MISTAKES: [string, unknown, string, RegExp][] = [
  ['no hook at all', null, 'INVALID_HOOK', /Expected a hook object, got `null`/],
  ['no id', { ...good, id: undefined }, 'INVALID_HOOK', /`id`.*non-empty string, got `undefined`/],
  ['an empty id', { ...good, id: '' }, 'INVALID_HOOK', /`id`.*got `""` \(string\)/],
  [
    'an unknown type',
    { ...good, type: 'beforeToolcall' },
    'INVALID_HOOK',
    /Unknown hook type `"beforeToolcall"`.*"h".*Known types: beforeStep, .*onLlmCallError/,
  ],
  [
    'a type that every object has',
    { ...good, type: 'constructor' },
    'INVALID_HOOK',
    /Unknown hook type `"constructor"`/,
  ],
  [
    'no handler',
    { ...good, handler: undefined },
    'INVALID_HOOK',
    /`handler` of hook "h".*function, got `undefined`/,
  ],
  ['a handler that is no function', { ...good, handler: 'log' }, 'INVALID_HOOK', /got `"log"` \(string\)/],
  [
    'timeoutMs: NaN',
    { ...good, timeoutMs: Number.NaN },
    'INVALID_HOOK',
    /`timeoutMs`.*>= 1, got `NaN` \(number\)/,
  ],
  ['timeoutMs: 0', { ...good, timeoutMs: 0 }, 'INVALID_HOOK', /got `0` \(number\)/],
  ['a timeoutMs that is text', { ...good, timeoutMs: '5000' }, 'INVALID_HOOK', /got `"5000"` \(string\)/],
  ['maxPending: 0', { ...good, maxPending: 0 }, 'INVALID_HOOK', /`maxPending`.*integer >= 1, got `0`/],
  ['maxPending: 1.5', { ...good, maxPending: 1.5 }, 'INVALID_HOOK', /got `1.5`/],
  [
    'priority: Infinity',
    { ...good, priority: Infinity },
    'INVALID_HOOK',
    /`priority`.*finite number, got `Infinity`/,
  ],
  [
    'a match that is a number',
    { ...good, type: 'afterToolCall', match: 7 },
    'INVALID_HOOK',
    /`match`.*glob, a RegExp or a predicate, got `7`/,
  ],
  [
    'a tool name pattern on a step',
    { ...good, match: 'search' },
    'INVALID_HOOK',
    /"beforeStep" is not a tool hook. Use a predicate/,
  ],
]

describe('register', () => {
  it.each(MISTAKES)('refuses %s', (_name, mistake, code, message) => {
    const dispatcher = new HookDispatcher()

    const register = () => dispatcher.register('op', [hook('afterStep', handler), mistake as never])

    expect(register).toThrow(HookspanError)
    expect(register).toThrow(expect.objectContaining({ code, message: expect.stringMatching(message) }))
    // None of the list was registered.
    expect(dispatcher.stats()).toMatchObject({ operations: 0, hooks: 0 })
  })

  it('refuses an id that is in use in the operation, and keeps the other', () => {
    const { events, handler: first } = collector()
    const dispatcher = new HookDispatcher()
    dispatcher.register('op', [hook('beforeStep', first, { id: 'h' })])

    expect(() => dispatcher.register('op', [hook('afterStep', handler, { id: 'h' })])).toThrow(
      /Hook id "h" is already registered for operation "op"/,
    )
    expect(() => dispatcher.register('op', [hook('afterStep', handler), hook('afterStep', handler)])).toThrow(
      expect.objectContaining({ code: 'DUPLICATE_HOOK' }),
    )
    dispatcher.register('other', [hook('afterStep', handler, { id: 'h' })])
    dispatcher.dispatch('op', 'beforeStep', { stepIndex: 0 })

    expect(events).toHaveLength(1)
  })

  it.each([undefined, null, '', 7])('refuses %s as operation id', (id) => {
    expect(() => new HookDispatcher().register(id as never, [])).toThrow(/`operationId`.*non-empty string/)
  })

  it('refuses what is no list', () => {
    expect(() => new HookDispatcher().register('op', good as never)).toThrow(/Expected a list of hooks, got/)
  })
})

describe('use', () => {
  it.each([
    ['nothing', undefined, /Expected a plugin object/],
    ['no name', { hooks: [] }, /`name` of the plugin/],
    ['a malformed hook', { name: 'p', hooks: [{ ...good, handler: 1 }] }, /`handler`/],
    ['two hooks of one id', { name: 'p', hooks: [good, good] }, /"h" is already registered for plugin "p"/],
    [
      'a malformed gate',
      { name: 'p', gates: [{ id: 'g', point: 'beforeToolcall', decide: handler }] },
      /beforeToolcall/,
    ],
    [
      'what createApprovals() gave as the approver',
      { name: 'p', approver: { store: {}, approver: { requestApproval() {} } } },
      /approver of plugin "p" is what createApprovals\(\) gave\. .* its `approver`/,
    ],
    ['an approver without a method', { name: 'p', approver: {} }, /approver of plugin "p"/],
    ['an instrument without a method', { name: 'p', instrument: {} }, /instrument of plugin "p"/],
    ['a stand-in that is no function', { name: 'p', standIn: {} }, /`standIn` of plugin "p"/],
  ])('refuses %s', (_name, plugin, message) => {
    const dispatcher = new HookDispatcher()

    expect(() => dispatcher.use(plugin as never)).toThrow(message)
    expect(dispatcher.stats()).toMatchObject({ plugins: 0, hooks: 0 })
  })

  it('refuses a plugin that is in use, until it was disposed', () => {
    const dispatcher = new HookDispatcher()
    const plugin = { name: 'p' }
    const used = dispatcher.use(plugin)

    expect(() => dispatcher.use(plugin)).toThrow(/"p" is already in use/)
    used[Symbol.dispose]()
    dispatcher.use(plugin)
  })
})

describe('startOperation', () => {
  it.each([
    ['a malformed hook', { hooks: [{ ...good, timeoutMs: Number.NaN }] }, 'INVALID_HOOK', /NaN/],
    ['hooks of one id', { hooks: [good, good] }, 'DUPLICATE_HOOK', /"h"/],
    [
      'a misspelt gate',
      { gates: [{ id: 'g', point: 'beforeToolcall', decide: handler }] },
      'INVALID_GATE',
      /beforeToolcall/,
    ],
    ['a gate that cannot decide', { gates: [{ id: 'g', point: 'onStart' }] }, 'INVALID_GATE', /`decide`/],
    ['an empty id', { operationId: '' }, 'INVALID_OPTION', /`operationId`/],
    ['a signal that is none', { signal: {} }, 'INVALID_OPTION', /`signal`.*AbortSignal/],
    ['nothing', null, 'INVALID_OPTION', /`init`.*object such as \{ agentName \}, got `null`/],
    ['a name that is none', { agentName: 5 }, 'INVALID_OPTION', /`agentName`.*string, got `5`/],
    ['a parent that is none', { parent: 'op_1' }, 'INVALID_OPTION', /`parent`.*callAgent.*got `"op_1"`/],
    ['a clock that is none', { clock: 5 }, 'INVALID_OPTION', /`clock`.*function, got `5`/],
    ['a parked run of another version', { resume: { version: 2 } }, 'INVALID_OPTION', /`resume`.*version 1/],
  ])('refuses %s, and leaves nothing', (_name, init, code, message) => {
    const dispatcher = new HookDispatcher()

    expect(() => dispatcher.startOperation(init as never)).toThrow(
      expect.objectContaining({ code, message: expect.stringMatching(message) }),
    )
    expect(dispatcher.stats()).toMatchObject({ operations: 0, hooks: 0 })
  })

  it('refuses an id that runs, and takes it again after the end', async () => {
    const dispatcher = new HookDispatcher()
    const op = dispatcher.startOperation({ operationId: 'op' })

    expect(() => dispatcher.startOperation({ operationId: 'op' })).toThrow(/"op" is already running/)
    await op.complete()
    dispatcher.startOperation({ operationId: 'op' })
  })

  it('goes on with hooks that were registered for the id before', async () => {
    const { handler: keep, sequences } = collector()
    const dispatcher = new HookDispatcher()
    dispatcher.register('op', [hook('onStart', keep)])

    dispatcher.startOperation({ operationId: 'op' })

    expect(sequences()).toEqual([0])
  })
})

describe('a call of an operation', () => {
  it.each([
    ['step', ['fn'], /`fn` of a step.*got `"fn"`/],
    ['toolCall', [undefined, handler], /`apiName` of a tool call.*got `undefined`/],
    ['toolCall', [{ apiName: 'a' }], /`fn` of a tool call.*got `undefined`/],
    ['llmCall', [undefined, handler], /`model` of a model call.*got `undefined`/],
    ['llmCall', [{ model: 'm', request: {} }], /`fn` of a model call/],
    ['callAgent', [{ agentName: 'a' }, handler], /`instruction` of an agent call/],
    ['callAgent', [{ instruction: 'a' }], /`fn` of an agent call/],
    ['compact', [{ messageCount: 1 }, handler], /`tokenCount` of a compaction/],
    ['compact', [{ messageCount: 1, tokenCount: 2 }], /`fn` of a compaction/],
  ] as const)('refuses a %s(...%j), and makes no events', async (method, args, message) => {
    const { handler: keep, sequences } = collector()
    const dispatcher = new HookDispatcher()
    const types = [
      'beforeStep',
      'beforeToolCall',
      'beforeLlmCall',
      'beforeCallAgent',
      'beforeCompact',
    ] as const
    const op = dispatcher.startOperation({ hooks: types.map((type) => ({ ...hook(type, keep), id: type })) })
    const call = op[method] as (...given: readonly unknown[]) => Promise<unknown>

    await expect(call.apply(op, [...args])).rejects.toMatchObject({
      code: 'INVALID_CALL',
      message: expect.stringMatching(message),
    })
    expect(sequences()).toEqual([])
  })
})

describe('the constructor', () => {
  it.each([
    [{ idleTimeoutMs: Number.NaN }, /`idleTimeoutMs`.*got `NaN`/],
    [{ mockTimeoutMs: 0 }, /`mockTimeoutMs`.*got `0`/],
    [{ onHookError: 'log' }, /`onHookError`.*function, got `"log"`/],
    [{ priceOf: 1 }, /`priceOf`/],
    [{ composition: 'all' }, /`composition`.*"chain" or "firstDecision", got `"all"`/],
  ])('refuses %o', (options, message) => {
    expect(() => new HookDispatcher(options as never)).toThrow(
      expect.objectContaining({ code: 'INVALID_OPTION', message: expect.stringMatching(message) }),
    )
  })
})

describe('dispatch of an unknown type', () => {
  it.each(['beforeToolcall', 'constructor', '__proto__'])(
    '%s is reported once, and takes no place in the sequence',
    (type) => {
      const { list, onHookError } = failures()
      const { handler: keep, sequences } = collector()
      const dispatcher = new HookDispatcher({ onHookError })
      dispatcher.register('op', [hook('beforeStep', keep)])

      dispatcher.dispatch('op', type as never, {})
      dispatcher.dispatch('op', 'beforeStep', { stepIndex: 0 })

      expect(list).toMatchObject([{ kind: 'failed', error: { code: 'INVALID_EVENT' } }])
      expect(list[0]?.message).toContain(`Unknown hook type \`"${type}"\``)
      expect(sequences()).toEqual([0])
      expect(dispatcher.hasHooks('op', type as never)).toBe(false)
    },
  )
})

describe('a call', () => {
  const op = () => new HookDispatcher().startOperation({})

  it.each([
    [
      'a tool without a name',
      () => op().toolCall({ args: {} } as never, handler),
      /`apiName` of a tool call.*got `undefined`/,
    ],
    [
      'a tool without a function',
      () => op().toolCall({ apiName: 'a', args: {} }, undefined as never),
      /`fn` of a tool call/,
    ],
    [
      'a model without a name',
      () => op().llmCall({ request: {} } as never, handler),
      /`model`.*got `undefined`/,
    ],
    [
      'a reason that is none',
      () => op().complete({ reason: 'finished' as never }),
      /Unknown completion reason `"finished"`.*park/,
    ],
  ])('refuses %s', async (_name, call, message) => {
    await expect(call()).rejects.toThrow(message)
  })
})
