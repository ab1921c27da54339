import { HookDispatcher } from 'hookspan'
import { assertCan } from 'hookspan/adapter'
import { discardRun, unfinishedRuns } from 'hookspan/agent'
import {
  callTools,
  formatRecording,
  matchSpans,
  mock,
  mockDatabase,
  readRecording,
  redactKeys,
  summarizeCalls,
} from 'hookspan/mock'
import { unobserveOpenAI } from 'hookspan/openai'
import { formatTraceparent, idsOfOperation } from 'hookspan/tracing'
import { passHat } from 'hookspan/vitest'
import { describe, expect, it } from 'vitest'
import { asks, CALLS, type Call } from '../support/option-calls.ts'

/** What is no option of any kind, but for the types that say so. */
const WRONG: [string, unknown, RegExp][] = [
  ['null', null, /\bnull\b/],
  ['a symbol', Symbol('wrong'), /^never$/],
  ['true', true, /\b(boolean|true)\b/],
  ['a bigint', 10n, /^never$/],
  ['a Map', new Map([['a', 'b']]), /\bHeadersLike\b/],
  ['a promise', Promise.resolve({}), /^never$/],
]

/** Fields that are passed on as they are, by `type.field`. */
const PASSED_ON: Record<string, RegExp> = {
  'said by a model, a human or an SDK':
    /^(ToolCallInit\.(toolCallId|identifier|description)|LlmCallInit\.(provider|serverAddress|serverPort|operationName)|CallAgentInit\.(agentName|agentId|provider|serverAddress|serverPort)|HumanInterventionInit\.instructions|HumanAnswer\.(approver|reason|code)|(CompleteInit|StepReport)\.(content|reasoning)|OperationInit\.instructions)$/,
  'a header of a request, which may be none': /^(OperationInit|ExecAgentOptions|RunWithInit)\.traceparent$/,
}

/** Fields whose mistake is told by another name, by `type.field`: what the message says of it. */
const NAMED_OTHERWISE: Record<string, RegExp> = {
  'ResumeAgentOptions.state': /saved run/,
  'ApprovalRoutesOptions.webhookSecret': /secret/,
  'ServeApprovalsOptions.webhookSecret': /secret/,
  // An entry of a config without its function is one of a type that a file could name.
  'Gate.decide': /`decide`|expected `type` of/,
  'HookOf.handler': /`handler`|hook type/,
}

/** Whatever it is: a type that is not ours, that stands for any other, or that nothing is known of. */
const ANYTHING = /^(unknown|any|[A-Z])( \| undefined)?$/

const isHeld = (type: string, key: string) =>
  !Object.values(PASSED_ON).some((one) => one.test(`${type}.${key}`))

const held = asks.flatMap(({ who, type, keys, types = {} }) =>
  keys.flatMap((key) => {
    const is = types[key] ?? 'unknown'
    if (ANYTHING.test(is) || !isHeld(type, key)) return []
    return WRONG.filter(([, , allowed]) => !allowed.test(is)).map(
      ([what, value]) => [who, type, key, what, value] as const,
    )
  }),
)

it('options of all kinds are given what they are not', () => {
  expect(held.length).toBeGreaterThan(2_000)
})

it('each reason to pass a field on is of a field that there is', () => {
  const fields = asks.flatMap(({ type, keys }) => keys.map((key) => `${type}.${key}`))
  for (const pattern of Object.values(PASSED_ON))
    expect(fields.some((field) => pattern.test(field))).toBe(true)
})

describe.each([...new Set(held.map(([who]) => who))])('%s', (who) => {
  const cases = held.filter((one) => one[0] === who)
  it.each(cases.map(([, type, key, what, value]) => [type.slice(0, 40), key, what, type, value] as const))(
    '%s: refuses a `%s` that is %s, and names it',
    async (_type, key, _what, type, value) => {
      const call = CALLS[who]?.[type] as Call
      const error: unknown = await (async () => call({ [key]: value }))().then(
        () => 'it was taken',
        (thrown: unknown) => thrown,
      )
      expect(error).toMatchObject({
        code: expect.stringMatching(/^(INVALID_|MOCK_INVALID)/),
        message: expect.stringMatching(NAMED_OTHERWISE[`${type}.${key}`] ?? new RegExp(`\\b${key}\\b`)),
      })
    },
  )
})

/** What is no option, but handed in as it is: what each takes, and what it is not. */
const HANDED_IN: [string, (given: never) => unknown, unknown[]][] = [
  ['idsOfOperation', idsOfOperation, [undefined, 7, {}]],
  ['formatTraceparent', formatTraceparent, [undefined, 'x', {}]],
  ['assertCan', (given) => assertCan(given, 'steps', 'It'), [undefined, {}]],
  ['assertCan', (given) => assertCan({ name: 'a', capabilities: {} } as never, given, 'It'), ['toString']],
  ['namedHooks.define', (given) => new HookDispatcher().namedHooks.define(given), [undefined, { id: 'h' }]],
  ['namedHooks.resolve', (given) => new HookDispatcher().namedHooks.resolve(given), [undefined, 'h']],
  ['op.run', (given) => new HookDispatcher().startOperation().run(given), [undefined, {}]],
  [
    'openCompaction().run',
    (given) => {
      const call = new HookDispatcher().startOperation().openCompaction({ messageCount: 1, tokenCount: 1 })
      return call.run(given)
    },
    [undefined, {}],
  ],
  ['unfinishedRuns', unfinishedRuns, [undefined, false, 'runs.db', {}, new Map()]],
  ['discardRun', (given) => discardRun(given, 'op'), [undefined, 'op']],
  ['discardRun', (given) => discardRun(true, given), [undefined, '', {}]],
  ['redactKeys', redactKeys, [undefined, 'email', [1]]],
  ['callTools', callTools, ['search', undefined]],
  ['summarizeCalls', summarizeCalls, [undefined, 'x', [null]]],
  ['matchSpans', (given) => matchSpans(given, []), [undefined, null, 'x', 7]],
  ['formatRecording', formatRecording, [undefined, {}, []]],
  ['readRecording', readRecording, [undefined, Symbol('path')]],
  ['mockDatabase', mockDatabase, [undefined, 7, new Map(), { orders: {} }, { orders: [1] }]],
  ['mock().streams', (given) => mock('x').streams(given), [undefined, {}, 7]],
  ['passHat', (given) => passHat(2, given, 1), [undefined, {}, Number.NaN]],
]

it.each(HANDED_IN.flatMap(([name, call, given]) => given.map((value) => [name, value, call] as const)))(
  '%s refuses %s, and shows it',
  async (_name, value, call) => {
    await expect((async () => call(value as never))()).rejects.toMatchObject({
      code: expect.stringMatching(/^(INVALID_|TRAJECTORY_)/),
      message: expect.stringMatching(/^Expected .*got /s),
    })
  },
)

it('who takes an adapter off nothing has nothing', () => {
  expect(unobserveOpenAI(undefined as never)).toBeUndefined()
})

it('a list is no object of options', () => {
  expect(() => new HookDispatcher([] as never)).toThrow('options of the dispatcher to be an object, got `[]`')
})

it('options that are not there yet are none', () => {
  expect(() => new HookDispatcher(Promise.resolve({}) as never)).toThrow(
    'options of the dispatcher to be an object, got `"[object Promise]"` (a promise: `await` it)',
  )
})

it.each([
  ['a function', new Proxy(() => {}, { get: unreadable })],
  ['an object', new Proxy({}, { get: unreadable, getPrototypeOf: unreadable })],
])('%s that cannot be read is refused all the same', (_what, mockTimeoutMs) => {
  expect(() => new HookDispatcher({ mockTimeoutMs } as never)).toThrow('Expected `mockTimeoutMs`')
})

function unreadable(): never {
  throw new TypeError('a closed connection')
}

it('an option that throws when it is read is told by its name', () => {
  const options = {
    get idleTimeoutMs(): number {
      throw new Error('no config')
    },
  }
  expect(() => new HookDispatcher(options)).toThrow(
    '`idleTimeoutMs` of the dispatcher cannot be read: no config.',
  )
})

it('a `read` that gives no reading costs nobody the reply of the model', async () => {
  const failures: unknown[] = []
  const dispatcher = new HookDispatcher({ onHookError: (failure) => void failures.push(failure) })
  const op = dispatcher.startOperation()
  const call = { model: 'm', request: {}, read: (() => 1) as never }
  expect(await op.llmCall(call, () => 'the reply')).toBe('the reply')
  expect(failures).toMatchObject([{ error: { message: expect.stringContaining('`read` of a model call') } }])
})
