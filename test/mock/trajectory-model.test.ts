import fc from 'fast-check'
import { type ExpectedCall, matchTrajectory, type TrajectoryCall, type TrajectoryMode } from 'hookspan/mock'
import { expect as check } from 'hookspan/vitest'
import { expect, it } from 'vitest'
import { fits, someArgs, someWant, type Want, written } from './model/expected.ts'
import { globbed } from './model/rules.ts'

/** More of them look further: `MODEL_RUNS=5000`. */
const RUNS = Number(process.env.MODEL_RUNS ?? 200)

const MODES = ['strict', 'subsequence', 'unordered', 'superset', 'subset'] as const
const OUTCOMES = ['completed', 'mocked', 'errored', 'denied'] as const

interface WantedCall {
  readonly name: string
  readonly args?: Want | undefined
  readonly outcome?: (typeof OUTCOMES)[number] | undefined
  readonly agent?: string | undefined
  /** Indices of those before it in the list. */
  readonly after: readonly number[]
  /** The list is turned round, so that what comes later stands first. */
}

const made: fc.Arbitrary<TrajectoryCall> = fc.record({
  name: fc.constantFrom('find', 'find_all', 'book'),
  identifier: fc.constantFrom('local', 'shop'),
  args: fc.oneof(fc.constant({}), someArgs),
  outcome: fc.constantFrom(...OUTCOMES),
  agent: fc.constantFrom('root', 'helper'),
})

const wanted: fc.Arbitrary<WantedCall> = fc.record({
  name: fc.constantFrom('find', 'book', 'find*', '*', '*', 'shop/find', 'shop/*', 'b??k'),
  args: fc.option(someWant, { nil: undefined, freq: 2 }),
  outcome: fc.option(fc.constantFrom(...OUTCOMES), { nil: undefined, freq: 2 }),
  agent: fc.option(fc.constantFrom('root', 'helper'), { nil: undefined, freq: 2 }),
  after: fc.uniqueArray(fc.nat(3), { maxLength: 2 }),
})

/** Of a list, in which each one comes later only than some before it; then the list is shuffled. */
const plans = fc.record({
  actual: fc.array(made, { maxLength: 4 }),
  expected: fc
    .array(wanted, { maxLength: 4 })
    .chain((list) => fc.tuple(fc.constant(list), fc.boolean(), fc.boolean()))
    .map(([list, ordered, turned]) => {
      const named = list.map((one, index) => ({
        ...one,
        id: `id${index}`,
        after: ordered ? one.after.filter((other) => other < index) : [],
      }))
      return turned ? named.reverse() : named
    }),
  mode: fc.constantFrom<TrajectoryMode>(...MODES),
  args: fc.constantFrom<'exact' | 'partial' | 'ignore'>('exact', 'partial', 'ignore'),
  forbidden: fc.constantFrom<string[]>([], [], [], ['book'], ['shop/*']),
  maxCalls: fc.constantFrom<undefined | number | Record<string, number>>(undefined, undefined, 2, {
    'shop/f*': 1,
  }),
})
type Plan = typeof plans extends fc.Arbitrary<infer P> ? P : never
type Named = Plan['expected'][number]

const isNamed = (glob: string, { name, identifier }: TrajectoryCall) =>
  globbed(glob, name) || globbed(glob, `${identifier}/${name}`)

function isMeant(want: WantedCall, call: TrajectoryCall, mode: Plan['args']): boolean {
  const { args, outcome, agent } = want
  return (
    isNamed(want.name, call) &&
    (agent === undefined || agent === call.agent) &&
    (outcome === undefined ||
      outcome === call.outcome ||
      (outcome === 'completed' && call.outcome === 'mocked')) &&
    (args === undefined || mode === 'ignore' || fits(args, call.args, mode))
  )
}

/** Tries every way to pair them. */
function isFollowed({ actual, expected, mode, args }: Plan): boolean {
  const pairs: number[] = []
  const keepsOrder = () =>
    expected.every(({ after }, index) => {
      const at = pairs[index] as number
      return (
        at < 0 ||
        after.every((other) => {
          const before = pairs[expected.findIndex(({ id }) => id === `id${other}`)] as number
          return before >= 0 && before < at
        })
      )
    })
  const isWhole = () => {
    const used = pairs.filter((at) => at >= 0)
    const growing = used.every((at, index) => index === 0 || at > (used[index - 1] as number))
    if ((mode === 'strict' || mode === 'subsequence') && !growing) return false
    if (mode !== 'subset' && used.length < expected.length) return false
    const extra = mode === 'subsequence' || mode === 'superset'
    return (extra || used.length === actual.length) && keepsOrder()
  }
  const tries = (row: number): boolean => {
    if (row === expected.length) return isWhole()
    for (let at = -1; at < actual.length; at++) {
      if (at >= 0 && pairs.includes(at)) continue
      if (at >= 0 && !isMeant(expected[row] as Named, actual[at] as TrajectoryCall, args)) continue
      pairs.push(at)
      const whole = tries(row + 1)
      pairs.pop()
      if (whole) return true
    }
    return false
  }
  return tries(0)
}

const writtenCall = ({ name, args, outcome, agent, id, after }: Named): ExpectedCall => ({
  name,
  id,
  ...(args !== undefined && { args: written(args) }),
  ...(outcome !== undefined && { outcome }),
  ...(agent !== undefined && { agent }),
  ...(after.length > 0 && { after: after.map((index) => `id${index}`) }),
})

it('matches a trajectory where there is a way to pair its calls, and nothing else is wrong', () => {
  const seen = new Map<string, number>()
  fc.assert(
    fc.property(plans, (plan) => {
      const { actual, expected, mode, args, forbidden, maxCalls } = plan
      const limits = typeof maxCalls === 'number' ? { '*': maxCalls } : (maxCalls ?? {})
      const followed =
        isFollowed(plan) &&
        !actual.some((call) => forbidden.some((glob) => isNamed(glob, call))) &&
        Object.entries(limits).every(
          ([glob, most]) => actual.filter((call) => isNamed(glob, call)).length <= most,
        )
      const result = matchTrajectory(actual, expected.map(writtenCall), {
        ...{ mode, args, forbidden },
        ...(maxCalls !== undefined && { maxCalls }),
      })
      expect(result.pass, result.report).toBe(followed)
      expect(result.score).toBeGreaterThanOrEqual(0)
      if (result.pass) expect(result.score).toBe(1)
      expect(result.score).toBeLessThanOrEqual(1)
      const key = `${mode} ${followed}`
      seen.set(key, (seen.get(key) ?? 0) + 1)
    }),
    { numRuns: RUNS * 10 },
  )
  expect([...seen.keys()].sort()).toEqual(MODES.flatMap((mode) => [`${mode} false`, `${mode} true`]).sort())
})

it('finds the calls that a test asks for, and no others', () => {
  fc.assert(
    fc.property(
      fc.array(made, { maxLength: 4 }),
      wanted,
      fc.constantFrom('exact', 'partial', 'ignore'),
      fc.option(fc.nat(3), { nil: undefined }),
      (actual, { name, args, outcome, agent }, mode, times) => {
        const found = actual.filter((call) =>
          isMeant({ name, args, outcome, agent, after: [] }, call, mode),
        ).length
        const options = {
          ...(mode !== 'partial' && { args: mode }),
          ...(outcome !== undefined && { outcome }),
          ...(agent !== undefined && { agent }),
          ...(times !== undefined && { times }),
        }
        const holds = times === undefined ? found > 0 : found === times
        const assertion = check(actual)
        const asked = holds ? assertion : assertion.not
        asked.toHaveCalledTool(name, args === undefined ? undefined : written(args), options)
      },
    ),
    { numRuns: RUNS * 5 },
  )
})
