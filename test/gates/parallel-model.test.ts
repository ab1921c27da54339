/** Random calls of one step that run at once, under gates that take their time, with a stop or an abort in the middle of them. */
import fc from 'fast-check'
import { HookDispatcher, type HookEvent, type ToolOutcome } from 'hookspan'
import { type Decision, deny, type Gate, mutate, skip } from 'hookspan/gates'
import { afterEach, expect, it, vi } from 'vitest'

/** More of them look further: `MODEL_RUNS=5000`, `MODEL_SEED=17` for one of them. */
const RUNS = Number(process.env.MODEL_RUNS ?? 50)
const SEED = process.env.MODEL_SEED === undefined ? {} : { seed: Number(process.env.MODEL_SEED) }

afterEach(() => void vi.useRealTimers())

const TIMEOUT_MS = 20
const DOES = ['proceed', 'proceed', 'proceed', 'mutate', 'skip', 'deny', 'throw', 'stop', 'abort'] as const

interface GatePlan {
  readonly point: 'beforeToolCall' | 'afterToolCall'
  readonly does: (typeof DOES)[number]
  /** Milliseconds; more than `TIMEOUT_MS` is too late. Undefined: at once, without a promise. */
  readonly takes: number | undefined
  readonly tools: readonly number[]
  readonly priority: number
  readonly shadow: boolean
  readonly open: boolean
}

const gatePlan: fc.Arbitrary<GatePlan> = fc.record({
  point: fc.constantFrom('beforeToolCall', 'beforeToolCall', 'afterToolCall'),
  does: fc.constantFrom(...DOES),
  takes: fc.constantFrom(undefined, 0, 3, 8, 15, 35, Number.POSITIVE_INFINITY),
  tools: fc.subarray([0, 1, 2], { minLength: 1 }),
  priority: fc.constantFrom(50, 100, 150),
  shadow: fc.constantFrom(false, false, false, true),
  open: fc.constantFrom(false, false, true),
})
const callPlan = fc.record({
  tool: fc.nat(2),
  /** When it is made, and how long its tool takes. */
  after: fc.constantFrom(0, 0, 0, 4, 10),
  takes: fc.constantFrom(0, 5, 30),
  /** Models repeat ids. */
  sameId: fc.constantFrom(false, false, true),
})
const worldPlan = fc.record({
  gates: fc.array(gatePlan, { maxLength: 5 }),
  calls: fc.array(callPlan, { minLength: 1, maxLength: 5 }),
  abortAt: fc.constantFrom(undefined, undefined, undefined, 0, 2, 9, 25),
})

type World = typeof worldPlan extends fc.Arbitrary<infer T> ? T : never
type CallPlan = World['calls'][number]

/** What comes of one call that nothing cuts short. */
interface Expected {
  readonly state: ToolOutcome['state']
  readonly code?: string | undefined
  readonly result?: unknown
  readonly ran: readonly unknown[]
  readonly gates: readonly unknown[]
  /** Milliseconds after the call was made. */
  readonly took: number
}

function expectedOf({ gates }: World, { tool, takes }: CallPlan, n: number): Expected {
  const records: unknown[] = []
  let took = 0
  const chain = (point: GatePlan['point'], first: unknown) => {
    let payload = first
    const mine = gates
      .map((plan, at) => ({ plan, id: `g${at}` }))
      .filter(({ plan }) => plan.point === point && plan.tools.includes(tool))
      .sort((a, b) => a.plan.priority - b.plan.priority)
    for (const { plan, id } of mine) {
      const late = plan.takes !== undefined && plan.takes > TIMEOUT_MS
      took += late ? TIMEOUT_MS : (plan.takes ?? 0)
      const failed = late ? 'gate_timeout' : plan.does === 'throw' ? 'gate_error' : undefined
      const does = failed !== undefined || plan.does === 'stop' ? 'deny' : plan.does
      const code = failed ?? (does === 'deny' ? 'own' : undefined)
      const enforced = !plan.shadow && !(failed !== undefined && plan.open)
      records.push([id, does === 'abort' ? 'proceed' : does, enforced, code])
      if (!enforced) continue
      if (does === 'deny') return { end: 'deny' as const, code, payload }
      if (does === 'skip') return { end: 'skip' as const, payload: `skipped ${n}` }
      if (does === 'mutate') payload = { by: id, of: payload }
    }
    return { end: 'go' as const, payload }
  }
  const before = chain('beforeToolCall', { n })
  const at = { gates: records, ran: [] as unknown[] }
  if (before.end === 'deny') return { state: 'denied', code: before.code, ...at, took }
  if (before.end === 'go') {
    at.ran.push(before.payload)
    took += takes
  }
  const after = chain('afterToolCall', before.end === 'skip' ? before.payload : { did: before.payload })
  if (after.end === 'deny') return { state: 'denied', code: after.code, ...at, took }
  return { state: before.end === 'skip' ? 'skipped' : 'completed', result: after.payload, ...at, took }
}

const later = (ms: number) =>
  ms === 0 ? Promise.resolve() : new Promise<void>((resolve) => ms < 1e9 && setTimeout(resolve, ms))

async function run(world: World): Promise<void> {
  vi.useFakeTimers({ now: 0 })
  const { gates, calls, abortAt } = world
  const controller = new AbortController()
  const cuts: number[] = []
  let abortedAt = Number.POSITIVE_INFINITY
  const abort = () => {
    cuts.push(Date.now())
    abortedAt = Math.min(abortedAt, Date.now())
    controller.abort(new Error('cut'))
  }
  const dispatcher = new HookDispatcher()
  const args = new Map<string, unknown>()
  const signals: { signal: AbortSignal; late: boolean }[] = []
  const made = gates.map(({ point, does, takes, tools, priority, shadow, open }, at): Gate => {
    const decide: Gate['decide'] = ({ payload, toolCallId, callKey, apiName, signal }) => {
      expect(tools.map((tool) => `t${tool}`)).toContain(apiName)
      // Whose it is stays so, whoever else is decided on meanwhile.
      const whole = JSON.stringify(payload)
      const n = /"n":(\d)|skipped (\d)/.exec(whole)?.slice(1).find(Boolean)
      expect(String(args.get(callKey as string) ?? n), whole).toBe(n)
      args.set(callKey as string, n)
      expect(toolCallId).toMatch(/^(same|own)/)
      signals.push({ signal, late: takes !== undefined && takes > TIMEOUT_MS })
      const decision = (): Decision | undefined => {
        if (does === 'throw') throw new Error('broken')
        if (does === 'abort') abort()
        if (does === 'stop' && !shadow) cuts.push(Date.now())
        if (does === 'mutate') return mutate({ by: `g${at}`, of: payload })
        if (does === 'skip') return skip(`skipped ${n}`)
        return does === 'deny' || does === 'stop'
          ? deny('no', { code: 'own', stop: does === 'stop' })
          : undefined
      }
      // What is late decides nothing, and so stops nothing.
      if (takes === undefined) return decision()
      return later(takes).then(() => (takes > TIMEOUT_MS ? undefined : decision()))
    }
    const match = tools.map((tool) => `t${tool}`)
    return {
      ...{ id: `g${at}`, point, decide, match, priority, shadow, timeoutMs: TIMEOUT_MS },
      ...(open && { onFailure: 'proceed' as const }),
    }
  })
  let open = 0
  const started: string[] = []
  const scope = (kind: string) => {
    open++
    started.push(kind)
    return { run: <T>(fn: () => T) => fn(), end: () => void open-- }
  }
  dispatcher.use({ name: 'gates', gates: made, instrument: { start: ({ kind }) => scope(kind) } })
  const told: HookEvent[] = []
  const hook = (type: 'beforeToolCall' | 'afterToolCall' | 'onToolCallError' | 'afterStep') => ({
    ...{ id: type, type },
    handler: (event: HookEvent) => void told.push(event),
  })
  const types = ['beforeToolCall', 'afterToolCall', 'onToolCallError', 'afterStep'] as const
  dispatcher.use({ name: 'see', hooks: types.map(hook) })
  const op = dispatcher.startOperation({ agentName: 'a', signal: controller.signal })
  const ends: { outcome: ToolOutcome; at: number; ran: { args: unknown; at: number }[] }[] = []
  if (abortAt !== undefined) setTimeout(abort, abortAt)
  const running = op.step((step) =>
    Promise.all(
      calls.map(async ({ tool, after, takes, sameId }, n) => {
        if (after > 0) await later(after)
        const ran: { args: unknown; at: number }[] = []
        const toolCallId = sameId ? 'same' : `own-${n}`
        const outcome = await step.toolCall(
          { apiName: `t${tool}`, args: { n }, toolCallId },
          async (given) => {
            ran.push({ args: given, at: Date.now() })
            if (takes > 0) await later(takes)
            return { did: given }
          },
        )
        ends[n] = { outcome, at: Date.now(), ran }
      }),
    ),
  )
  await vi.advanceTimersByTimeAsync(1_000)
  expect(ends.filter(Boolean), 'a call hangs').toHaveLength(calls.length)
  await running
  await op.complete()
  expect(open, started.join()).toBe(0)
  const cutAt = Math.min(...cuts)
  for (const [n, plan] of calls.entries()) {
    const { outcome, at, ran } = ends[n] as (typeof ends)[number]
    const expected = expectedOf(world, plan, n)
    const events = told.filter((event) => 'args' in event && JSON.stringify(event.args).includes(`"n":${n}`))
    expect(events.map(({ hookType }) => hookType)).toEqual([
      'beforeToolCall',
      outcome.state === 'errored' ? 'onToolCallError' : 'afterToolCall',
    ])
    const gates = (events[1] as HookEvent<'afterToolCall'>).gates ?? []
    const records = gates.map((one) => [one.gateId, one.decision, one.enforced, one.code])
    const { state, code, result } = { code: undefined, result: undefined, ...outcome }
    const got = {
      state,
      code,
      result,
      ran: ran.map(({ args }) => args),
      gates: records,
      took: at - plan.after,
    }
    // Nothing begins once the run is cut short, and what an abort cuts is over at that moment.
    for (const one of ran) expect(one.at).toBeLessThanOrEqual(cutAt)
    expect(ran.length).toBeLessThanOrEqual(1)
    expect(at).toBeLessThanOrEqual(Math.max(plan.after, abortedAt))
    if (plan.after + expected.took < cutAt) {
      expect(got).toEqual({ code: undefined, result: undefined, ...expected })
    } else {
      expect(at).toBeLessThanOrEqual(Math.max(plan.after + expected.took, cutAt))
      if (state === 'completed') expect(got.ran).toEqual(expected.ran)
      if (got.ran.length > 0) expect(got.ran).toEqual(expected.ran)
    }
  }
  expect(told.filter(({ hookType }) => hookType === 'afterStep')).toHaveLength(1)
  // Who is too late is told so.
  for (const { signal, late } of signals) if (late) expect(signal.aborted).toBe(true)
  vi.useRealTimers()
}

it('decides on each of several calls at once as if it were alone, in its time, and begins nothing after a stop or an abort', async () => {
  await fc.assert(fc.asyncProperty(worldPlan, run), { numRuns: RUNS, ...SEED })
})
