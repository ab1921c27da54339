import fc from 'fast-check'
import { HookDispatcher } from 'hookspan'
import { mock, mockTools, type RecordedToolCall, replayTools, type ToolRecording } from 'hookspan/mock'
import { expect, it } from 'vitest'

/** More of them look further: `MODEL_RUNS=5000`; `MODEL_SEED=17` has the same ones again. */
const RUNS = Number(process.env.MODEL_RUNS ?? 200)
const seed = process.env.MODEL_SEED === undefined ? {} : { seed: Number(process.env.MODEL_SEED) }

/** One of a few calls, so that lists of them have much in common. */
const CALLS = ['a1', 'a2', 'b1', 'b2', 'c1'] as const
type Made = (typeof CALLS)[number]
const tool = (call: Made) => call.charAt(0)
const args = (call: Made) => ({ n: Number(call.charAt(1)) })

interface Plan {
  readonly recorded: readonly Made[]
  readonly made: readonly Made[]
  /** Each with how often it answers; the first that fits does. */
  readonly rules: readonly { readonly for: Made; readonly times: number | undefined }[]
  readonly replayFirst: boolean
}

const calls = fc.array(fc.constantFrom(...CALLS), { maxLength: 6 })
const plans: fc.Arbitrary<Plan> = fc
  .record({
    recorded: calls,
    change: fc.array(fc.tuple(fc.nat(6), fc.constantFrom('drop', 'add', 'swap'), fc.constantFrom(...CALLS)), {
      maxLength: 3,
    }),
    rules: fc.array(fc.record({ for: fc.constantFrom(...CALLS), times: fc.constantFrom(undefined, 1, 2) }), {
      maxLength: 2,
    }),
    replayFirst: fc.boolean(),
  })
  .map(({ change, ...plan }) => ({ ...plan, made: change.reduce(changed, plan.recorded) }))

function changed(list: readonly Made[], [at, how, call]: [number, string, Made]): readonly Made[] {
  if (how === 'drop') return list.toSpliced(at, 1)
  if (how === 'add') return list.toSpliced(at, 0, call)
  const [one, other] = [list[at], list[at + 1]]
  return one === undefined || other === undefined ? list : list.toSpliced(at, 2, other, one)
}

interface Wanted {
  /** Who answers each call. */
  readonly by: readonly ('rule' | 'recording' | 'nobody')[]
  /** Whether the run was the recorded one, as far as it is held to it. */
  readonly followed: boolean
  readonly unreached: readonly Made[]
  readonly unusedRules: number
  /** Recorded calls that rules answered. */
  readonly overruled: number
}

/** Said once more, by places in the two lists. */
function wanted({ recorded, made, rules }: Plan): Wanted {
  const left = rules.map(({ times }) => times ?? Number.POSITIVE_INFINITY)
  const used = rules.map(() => 0)
  // Places of recorded calls: not called for, and taken by a rule.
  const open = new Set(recorded.keys())
  const spare = new Set<number>()
  const placeOf = (call: Made, among: Set<number>) => [...among].find((place) => recorded[place] === call)
  const places: number[] = []
  let turn: number | undefined
  let overruled = 0
  const by = made.map((call) => {
    const rule = rules.findIndex((one, at) => one.for === call && (left[at] as number) > 0)
    const fresh = placeOf(call, open)
    if (fresh !== undefined) open.delete(fresh)
    if (rule >= 0) {
      left[rule] = (left[rule] as number) - 1
      used[rule] = (used[rule] as number) + 1
      if (fresh === undefined) return 'rule'
      spare.add(fresh)
      places.push(fresh)
      turn ??= places.length
      overruled++
      return 'rule'
    }
    const place = fresh ?? placeOf(call, spare)
    if (place === undefined) return 'nobody'
    spare.delete(place)
    places.push(place)
    return 'recording'
  })
  const until = turn === undefined ? places : places.slice(0, turn)
  const end = turn === undefined ? recorded.length : Math.max(...until) + 1
  const missing = [...open].filter((place) => place < end)
  // Calls that are equal are the same call: what counts is their order by name.
  const inOrder = (list: readonly Made[]) => list.join()
  const common = [...until].sort((a, b) => a - b).map((place) => recorded[place] as Made)
  const sameOrder = inOrder(until.map((place) => recorded[place] as Made)) === inOrder(common)
  return {
    by,
    followed: missing.length === 0 && sameOrder && !by.includes('nobody'),
    unreached: [...open].filter((place) => place >= end).map((place) => recorded[place] as Made),
    unusedRules: rules.filter(({ times }, at) => (used[at] as number) < (times ?? 1)).length,
    overruled,
  }
}

it(
  'answers by rules, and by the recording what they leave, and holds the run to it until a rule overruled it',
  async () => {
    const seen = { followed: 0, not: 0, unreached: 0, overruled: 0, again: 0 }
    await fc.assert(
      fc.asyncProperty(plans, async (plan) => {
        const want = wanted(plan)
        const recording: ToolRecording = {
          ...{ format: 'hookspan-recording', version: 1, redacted: false, tools: {} },
          calls: plan.recorded.map(
            (call, at): RecordedToolCall => ({
              ...{ agent: 'agent', step: at, tool: tool(call), args: args(call), result: `recorded ${call}` },
            }),
          ),
        }
        const dispatcher = new HookDispatcher()
        const rules = plan.rules.map(({ for: call, times }) => {
          const rule = mock(tool(call)).when(args(call)).returns(`mocked ${call}`)
          return times === undefined ? rule : rule.times(times)
        })
        const early = plan.replayFirst ? replayTools(dispatcher, { recording }) : undefined
        const mocks = mockTools(dispatcher, rules)
        const replay = early ?? replayTools(dispatcher, { recording })
        const op = dispatcher.startOperation({ agentName: 'agent' })
        const by: string[] = []
        for (const call of plan.made) {
          const outcome = await op.step((step) =>
            step.toolCall({ apiName: tool(call), args: args(call) }, () => 'real'),
          )
          const { content } = outcome.toToolMessage()
          by.push({ mocked: 'rule', recorded: 'recording' }[content.split(' ')[0] as string] ?? 'nobody')
        }
        await op.complete()
        const { live, divergences, unreached, overruled } = replay.report()
        expect(by).toEqual(want.by)
        expect({ live, overruled }).toEqual({ live: 0, overruled: want.overruled })
        // What nobody answers is told as changed, beside the recorded call that is next to it.
        if (!by.includes('nobody')) {
          const left = unreached.map((call) => `${call.tool}${(call.args as { n: number }).n}`)
          expect(left.sort()).toEqual([...want.unreached].sort())
        }
        expect(divergences.length === 0, divergences.map(({ message }) => message).join('\n')).toBe(
          want.followed,
        )
        expect(threw(() => replay[Symbol.dispose]())).toBe(!want.followed)
        expect(threw(() => mocks[Symbol.dispose]())).toBe(want.unusedRules > 0)
        seen[want.followed ? 'followed' : 'not']++
        if (unreached.length > 0) seen.unreached++
        if (overruled > 0) seen.overruled++
        if (by.filter((one) => one !== 'nobody').length > plan.recorded.length) seen.again++
      }),
      { numRuns: RUNS, ...seed },
    )
    for (const [what, times] of Object.entries(seen)) expect(times, what).toBeGreaterThan(0)
  },
  Math.max(60_000, RUNS * 50),
)

function threw(fn: () => void): boolean {
  try {
    fn()
    return false
  } catch {
    return true
  }
}
