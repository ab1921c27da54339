import { writeFileSync } from 'node:fs'
import fc from 'fast-check'
import { HookDispatcher, type HookEvent, ToolResult } from 'hookspan'
import { type Decision, deny, type Gate, mutate, skip } from 'hookspan/gates'
import { budget, loadConfigSync, loopGuard, redact, toolCache, toolPolicy } from 'hookspan/policies'
import { expect, it } from 'vitest'
import { folder } from '../approval/support.ts'

/** More of them look further: `MODEL_RUNS=5000`. */
const RUNS = Number(process.env.MODEL_RUNS ?? 150)

type Point = 'beforeToolCall' | 'afterToolCall'
type Options = Record<string, unknown>
/** What a gate says, its failures taken for what they are recorded as. */
interface Said {
  readonly decision: Decision['decision']
  readonly code?: string | undefined
  readonly payload?: unknown
  /** Beside the payload, where a gate gives that, too. */
  readonly content?: string | undefined
  readonly stop?: boolean
  readonly failed?: boolean
}

/** What a tool gave: its result, and what it says of it. */
interface Given {
  readonly payload: unknown
  readonly content?: string | undefined
  readonly success: boolean
}

const CUSTOM = [
  'proceeds',
  'mutates',
  'skips',
  'denies',
  'stops',
  'throws',
  'babbles',
  'misspells',
  'hangs',
] as const

type GatePlan = {
  readonly priority: number | undefined
  readonly shadow: boolean
  readonly inFile: boolean
} & (
  | {
      readonly type: 'toolPolicy' | 'loopGuard' | 'budget' | 'redact' | 'toolCache'
      readonly options: Options
    }
  | {
      readonly type: 'own'
      readonly point: Point
      readonly does: (typeof CUSTOM)[number]
      readonly open: boolean
      readonly match: string
    }
)

const shared = {
  priority: fc.constantFrom(undefined, 50, 150),
  shadow: fc.constantFrom(false, false, false, true),
  inFile: fc.boolean(),
}
const ready = (
  type: 'toolPolicy' | 'loopGuard' | 'budget' | 'redact' | 'toolCache',
  options: fc.Arbitrary<Options>,
) => fc.record({ ...shared, type: fc.constant(type), options })
const globs = fc.constantFrom(['find'], ['b*'], ['shop/*'], ['*'])

const gatePlan: fc.Arbitrary<GatePlan> = fc.oneof(
  ready(
    'toolPolicy',
    fc.constantFrom<Options>(
      { deny: ['book'] },
      { allow: ['f*', 'shop/book'] },
      { denyArguments: { q: '^b' } },
      { deny: ['shop/find'], denyArguments: { '*': ['zz'] }, allow: ['*'] },
    ),
  ),
  ready(
    'loopGuard',
    fc.record({
      maxRepeats: fc.constantFrom(1, 2),
      window: fc.constantFrom(2, 5),
      stopAfter: fc.constantFrom(1, 2),
    }),
  ),
  ready('budget', fc.record({ maxToolCalls: fc.nat(4), stop: fc.boolean() })),
  ready(
    'redact',
    fc.record({
      in: fc.constantFrom(['toolArguments'], ['toolResult'], ['toolArguments', 'toolResult']),
      kinds: fc.constant(['email']),
      patterns: fc.constantFrom({}, { word: 'zz' }),
    }),
  ),
  ready('toolCache', fc.record({ match: globs })),
  fc.record({
    ...shared,
    type: fc.constant('own' as const),
    point: fc.constantFrom<Point>('beforeToolCall', 'afterToolCall'),
    does: fc.constantFrom(...CUSTOM),
    open: fc.constantFrom(false, false, true),
    match: fc.constantFrom('*', 'find', 'shop/*'),
  }),
)

interface CallPlan {
  readonly apiName: string
  readonly identifier: string
  readonly args: Record<string, unknown>
}

const callPlan: fc.Arbitrary<CallPlan> = fc.record({
  apiName: fc.constantFrom('find', 'book'),
  identifier: fc.constantFrom('local', 'shop'),
  args: fc.constantFrom<Record<string, unknown>>(
    { q: 'a' },
    { q: 'b' },
    { q: 'to ann@a.co' },
    { deep: [{ 'bob@b.co': 'zz' }] },
  ),
})

const names = (glob: string, { apiName, identifier }: CallPlan) => {
  const pattern = new RegExp(`^${glob.replaceAll('*', '.*')}$`)
  return pattern.test(apiName) || pattern.test(`${identifier}/${apiName}`)
}

/** Mail addresses in values and names; the own pattern in names of results only. */
function cleaned(value: unknown, words: boolean, isResult: boolean): unknown {
  const mail = (text: string) => text.replaceAll(/\w+@\w\.co/g, '[email]')
  const all = (text: string) => mail(words ? text.replaceAll('zz', '[word]') : text)
  if (typeof value === 'string') return all(value)
  if (Array.isArray(value)) return value.map((item) => cleaned(item, words, isResult))
  if (typeof value !== 'object' || value === null) return value
  const name = isResult ? all : mail
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [name(key), cleaned(item, words, isResult)]),
  )
}

function textsOf(value: unknown, path: string): [string, string][] {
  if (typeof value !== 'object' || value === null) return [[path, String(value)]]
  return Object.entries(value).flatMap(([key, item]) => textsOf(item, Array.isArray(value) ? path : key))
}

/** One gate as its page describes it, with what it remembers. */
class NaiveGate {
  readonly plan: GatePlan
  readonly id: string
  counted = 0
  calls: string[] = []
  refusals = 0
  readonly cached = new Map<string, Given>()

  constructor(plan: GatePlan, id: string) {
    this.plan = plan
    this.id = id
  }

  decidesAt(point: Point, call: CallPlan): boolean {
    const { plan } = this
    switch (plan.type) {
      case 'own':
        return plan.point === point && names(plan.match, call)
      case 'toolCache':
        return (plan.options.match as string[]).some((glob) => names(glob, call))
      case 'redact':
        return (plan.options.in as string[]).includes(
          point === 'beforeToolCall' ? 'toolArguments' : 'toolResult',
        )
      case 'toolPolicy': {
        const { allow, deny = [], denyArguments = {} } = plan.options
        const all = allow !== undefined || Object.keys(denyArguments as object).length > 0
        return point === 'beforeToolCall' && (all || (deny as string[]).some((glob) => names(glob, call)))
      }
      default:
        return point === 'beforeToolCall'
    }
  }

  says(point: Point, call: CallPlan, given: Given, args: unknown): Said {
    const { plan } = this
    const { payload, content } = given
    switch (plan.type) {
      case 'own':
        return OWN[plan.does](payload)
      case 'toolPolicy':
        return this.#policy(plan.options, call, payload)
      case 'budget':
        if (this.counted >= (plan.options.maxToolCalls as number))
          return { decision: 'deny', code: 'budget_exceeded', stop: plan.options.stop as boolean }
        this.counted++
        return { decision: 'proceed' }
      case 'loopGuard':
        return this.#loop(plan.options, call, payload)
      case 'redact': {
        const words = 'word' in (plan.options.patterns as object)
        const clean = cleaned(payload, words, point === 'afterToolCall')
        const told = content && String(cleaned(content, words, true))
        if (JSON.stringify(clean) === JSON.stringify(payload) && told === content)
          return { decision: 'proceed' }
        return { decision: 'mutate', payload: clean, content: told }
      }
      case 'toolCache': {
        const key = JSON.stringify([
          call.identifier,
          call.apiName,
          point === 'beforeToolCall' ? payload : args,
        ])
        const known = this.cached.get(key)
        if (point === 'beforeToolCall')
          return known ? { decision: 'skip', ...known } : { decision: 'proceed' }
        if (known === undefined && given.success) this.cached.set(key, given)
        return { decision: 'proceed' }
      }
    }
  }

  #policy({ deny: denied, allow, denyArguments }: Options, call: CallPlan, payload: unknown): Said {
    if ((denied as string[] | undefined)?.some((glob) => names(glob, call)))
      return { decision: 'deny', code: 'tool_not_allowed' }
    const rules = Object.entries((denyArguments ?? {}) as Record<string, string | string[]>)
    const hit = rules.some(([name, patterns]) =>
      textsOf(payload, '').some(
        ([key, text]) =>
          (name === '*' || name === key) &&
          [patterns].flat().some((pattern) => new RegExp(pattern).test(text)),
      ),
    )
    if (hit) return { decision: 'deny', code: 'argument_denied' }
    const listed = (allow as string[] | undefined)?.some((glob) => names(glob, call)) ?? true
    return listed ? { decision: 'proceed' } : { decision: 'deny', code: 'tool_not_allowed' }
  }

  #loop({ maxRepeats, window, stopAfter }: Options, call: CallPlan, payload: unknown): Said {
    const key = JSON.stringify([call.identifier, call.apiName, payload])
    if (this.calls.filter((one) => one === key).length < Number(maxRepeats)) {
      this.calls = [...this.calls, key].slice(-Number(window))
      return { decision: 'proceed' }
    }
    this.refusals++
    return { decision: 'deny', code: 'loop_detected', stop: this.refusals >= Number(stopAfter) }
  }
}

const failed = (code: string): Said => ({ decision: 'deny', code, failed: true })
const OWN: Record<(typeof CUSTOM)[number], (payload: unknown) => Said> = {
  proceeds: () => ({ decision: 'proceed' }),
  mutates: (payload) => ({ decision: 'mutate', payload: { q: 'made', of: payload } }),
  skips: () => ({ decision: 'skip', payload: 'skipped' }),
  denies: () => ({ decision: 'deny', code: 'own' }),
  stops: () => ({ decision: 'deny', code: 'own', stop: true }),
  throws: () => failed('gate_error'),
  babbles: () => failed('gate_invalid'),
  misspells: () => failed('gate_invalid'),
  hangs: () => failed('gate_timeout'),
}

function ownGate(plan: Extract<GatePlan, { type: 'own' }>, id: string): Gate {
  const decide = ({ payload }: { payload: unknown }) => {
    switch (plan.does) {
      case 'mutates':
        return mutate({ q: 'made', of: payload })
      case 'skips':
        return skip('skipped')
      case 'denies':
        return deny('no', { code: 'own' })
      case 'stops':
        return deny('no', { code: 'own', stop: true })
      case 'throws':
        throw new Error('broken')
      case 'babbles':
        return 'no' as never
      case 'misspells':
        return { decision: 'deny', reasn: 'no' } as never
      case 'hangs':
        return new Promise<never>(() => {})
      default:
        return undefined
    }
  }
  const { point, match, priority, shadow, open } = plan
  return {
    ...{ id, point, match, shadow, decide, timeoutMs: 2 },
    ...(priority !== undefined && { priority }),
    ...(open && { onFailure: 'proceed' as const }),
  }
}

const READY = { toolPolicy, loopGuard, budget, redact, toolCache }

function madeGate(plan: GatePlan, id: string): Gate {
  if (plan.type === 'own') return ownGate(plan, id)
  const { priority, shadow, options } = plan
  const given = { id, shadow, ...(priority !== undefined && { priority }), ...options }
  return READY[plan.type](given as never)
}

class Reference {
  readonly #gates: NaiveGate[]
  stop: string | undefined

  constructor(gates: NaiveGate[]) {
    this.#gates = gates
  }

  #chain(point: Point, call: CallPlan, first: Given, args: unknown) {
    const records: unknown[] = []
    let given = first
    for (const gate of this.#gates) {
      if (!gate.decidesAt(point, call)) continue
      const said = gate.says(point, call, given, args)
      const { plan, id } = gate
      const opened = said.failed === true && plan.type === 'own' && plan.open
      const enforced = !plan.shadow && !opened
      records.push([id, point, said.decision, enforced, said.code])
      if (!enforced || said.decision === 'proceed') continue
      const { payload, content } = said
      // A failure stays one, and is told in the words of what there is now.
      if (said.decision === 'mutate' && given.success) given = { payload, content, success: true }
      else if (said.decision === 'mutate')
        given = { payload, content: content ?? textOf(payload), success: false }
      if (said.decision === 'skip')
        return { end: 'skip' as const, given: { payload, content, success: true }, records }
      if (said.decision === 'deny') {
        if (said.stop === true) this.stop ??= said.code
        return { end: 'deny' as const, code: said.code, given, records }
      }
    }
    return { end: 'go' as const, given, records }
  }

  call(call: CallPlan) {
    const denied = (code: string | undefined, ran: unknown[], gates: unknown[]) => {
      return { state: 'denied', code, ran, gates, success: false }
    }
    if (this.stop !== undefined) return denied(this.stop, [], [])
    const before = this.#chain('beforeToolCall', call, { payload: call.args, success: true }, undefined)
    if (before.end === 'deny') return denied(before.code, [], before.records)
    const args = before.end === 'skip' ? call.args : before.given.payload
    const ran = before.end === 'skip' ? [] : [args]
    const after = this.#chain(
      'afterToolCall',
      call,
      before.end === 'skip' ? before.given : givenBy(args),
      args,
    )
    const gates = [...before.records, ...after.records]
    if (after.end === 'deny') return denied(after.code, ran, gates)
    const { payload: result, content = textOf(result), success } = after.given
    return { state: before.end === 'skip' ? 'skipped' : 'completed', result, ran, gates, content, success }
  }
}

const textOf = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value))

/** Some tools say more than their value. */
function toolOf(args: unknown): unknown {
  const { payload, content, success } = givenBy(args)
  return content === undefined ? payload : new ToolResult({ content, success, data: payload })
}

function givenBy(args: unknown): Given {
  const payload = { found: args, by: 'cid@c.co' }
  const length = JSON.stringify(args).length % 3
  return length === 0
    ? { payload, success: true }
    : { payload, content: 'zz of dan@d.co', success: length === 1 }
}

/** What becomes of calls, each of which a run of the test comes to. */
const SEEN = [
  'completed',
  'skipped',
  'tool_not_allowed',
  'argument_denied',
  'loop_detected',
  'budget_exceeded',
  'gate_error',
  'gate_invalid',
  'gate_timeout',
  'own',
]

it(
  'decides as the pages of the gates say, wherever they come from, and tells each decision once',
  async () => {
    const seen = new Set<string>()
    // Few runs may not have come to all of them.
    for (let round = 0; round < 5 && !SEEN.every((one) => seen.has(one)); round++)
      await fc.assert(
        fc.asyncProperty(
          fc.array(gatePlan, { minLength: 1, maxLength: 5 }),
          fc.array(callPlan, { minLength: 1, maxLength: 7 }),
          async (plans, calls) => {
            const all = plans.map((plan, index) => new NaiveGate(plan, `gate${index}`))
            const isFiled = ({ plan }: NaiveGate) => plan.inFile && plan.type !== 'own'
            const filed = all.filter(isFiled)
            const coded = all.filter((gate) => !isFiled(gate))
            const dispatcher = new HookDispatcher()
            const cwd = folder()
            const entries = filed.map(({ plan, id }) => {
              const { type, priority, shadow } = plan
              return { id, type, priority, shadow, ...(plan as { options: Options }).options }
            })
            writeFileSync(`${cwd}/hookspan.config.json`, JSON.stringify({ gates: entries }))
            dispatcher.use(loadConfigSync({ cwd, userFile: false }).plugin)
            dispatcher.use({ name: 'code', gates: coded.map(({ plan, id }) => madeGate(plan, id)) })
            const told: HookEvent<'afterToolCall'>[] = []
            const handler = (event: HookEvent<'afterToolCall'>) => void told.push(event)
            dispatcher.use({ name: 'see', hooks: [{ id: 'see', type: 'afterToolCall', handler }] })
            const at = ({ plan }: NaiveGate) => plan.priority ?? 100
            const reference = new Reference([...filed, ...coded].sort((a, b) => at(a) - at(b)))
            const op = dispatcher.startOperation({ agentName: 'a' })
            for (const call of calls) {
              const expected = reference.call(call)
              const ran: unknown[] = []
              const outcome = await op.toolCall(call, (args) => {
                ran.push(args)
                return toolOf(args)
              })
              const { state, code, result } = { code: undefined, result: undefined, ...outcome }
              const { success, content } = told.at(-1) as HookEvent<'afterToolCall'>
              expect(outcome.toToolMessage().content).toBe(content)
              const gates = (told.at(-1)?.gates ?? []).map((one) => {
                return [one.gateId, one.point, one.decision, one.enforced, one.code]
              })
              const none = { code: undefined, result: undefined, content }
              expect({ state, code, result, ran, gates, success, content }).toEqual({ ...none, ...expected })
              if (state === 'denied') {
                const { reason } = outcome as { reason: string }
                expect(JSON.parse(outcome.toToolMessage().content)).toEqual({ denied: true, code, reason })
              }
              seen.add(code ?? state)
            }
            expect(op.stopRequested?.code).toBe(reference.stop)
            expect(told).toHaveLength(calls.length)
          },
        ),
        { numRuns: RUNS },
      )
    expect([...seen]).toEqual(expect.arrayContaining(SEEN))
  },
  Math.max(60_000, RUNS * 100),
)
