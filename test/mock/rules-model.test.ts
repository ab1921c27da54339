import fc from 'fast-check'
import { HookDispatcher, type HookspanError, type Operation, type ToolOutcome } from 'hookspan'
import { type MockTools, matchTrajectory, mockTools } from 'hookspan/mock'
import { expect, it } from 'vitest'
import { fits, someArgs, someWant, written } from './model/expected.ts'
import { type CallPlan, type Ending, HOMES, NaiveRule, rulePlan, TOOLS, writtenRule } from './model/rules.ts'

/** More of them look further: `MODEL_RUNS=5000`. */
const RUNS = Number(process.env.MODEL_RUNS ?? 150)

interface LayerPlan {
  readonly rules: readonly Parameters<typeof writtenRule>[0][]
  /** Added later, and asked first. */
  readonly later: readonly Parameters<typeof writtenRule>[0][]
  readonly onUnmocked: 'error' | 'passthrough'
}

interface MadeCall extends CallPlan {
  readonly run: 0 | 1
  readonly bySubAgent: boolean
}

const layerPlan: fc.Arbitrary<LayerPlan> = fc.record({
  rules: fc.array(rulePlan, { maxLength: 6 }),
  later: fc.array(rulePlan, { maxLength: 2 }),
  onUnmocked: fc.constantFrom('error', 'passthrough'),
})

const madeCall: fc.Arbitrary<MadeCall> = fc.record({
  apiName: fc.constantFrom(...TOOLS),
  identifier: fc.constantFrom(...HOMES),
  args: someArgs,
  run: fc.constantFrom(0, 1),
  bySubAgent: fc.boolean(),
})

/** What is made at once, and then the next. */
const callPlan = fc.array(fc.array(madeCall, { minLength: 1, maxLength: 3 }), { maxLength: 8 })

/** One layer of mocks, as it is and as it is told. */
class Layer {
  readonly mocks: MockTools
  readonly plan: LayerPlan
  readonly #id: string
  rules: NaiveRule[]
  readonly noted: Ending[] = []

  constructor(dispatcher: HookDispatcher, plan: LayerPlan, id: string) {
    this.plan = plan
    this.#id = id
    this.rules = plan.rules.map((rule, index) => new NaiveRule(rule, `${id}${index}`))
    const made = this.rules.map((rule) => writtenRule(rule.plan, rule.id))
    this.mocks = mockTools(dispatcher, made, { onUnmocked: plan.onUnmocked })
  }

  addLater(): void {
    const later = this.plan.later.map((rule, index) => new NaiveRule(rule, `${this.#id}later${index}`))
    this.rules = [...later, ...this.rules]
    this.mocks.use(...later.map((rule) => writtenRule(rule.plan, rule.id)))
  }

  find(call: MadeCall, path: readonly string[], root: string): NaiveRule | undefined {
    return this.rules.find((rule) => rule.isFor(call, path, root))
  }

  /** No rule is for the call. */
  unmocked(call: MadeCall): Ending {
    return this.plan.onUnmocked === 'error'
      ? { state: 'errored', message: 'no mock fits', answeredBy: 'refused' }
      : { state: 'completed', result: { real: call.apiName }, answeredBy: 'live' }
  }
}

function expectEnding(outcome: ToolOutcome, ending: Ending): void {
  const { state, result, content, message } = ending
  expect(outcome.state).toBe(state)
  if ('result' in outcome) expect(outcome.result).toEqual(result)
  if ('error' in outcome) expect(String(outcome.error)).toContain(message)
  const told = content ?? (message === undefined ? JSON.stringify(result) : undefined)
  if (told !== undefined) expect(outcome.toToolMessage().content).toBe(told)
}

/** What the layer reports in the end: each thing once, by name. */
function expectReport({ mocks, rules, noted }: Layer): void {
  expect(
    mocks.calls().map(({ answeredBy, rule }) => [answeredBy, rule && /"([^"]*)"\)$/.exec(rule)?.[1]]),
  ).toEqual(noted.map(({ answeredBy, rule }) => [answeredBy, rule]))
  const unused = rules.filter((rule) => rule.isUnused)
  const refused = noted.filter(({ answeredBy }) => answeredBy === 'refused')
  const told: HookspanError[] = []
  try {
    mocks.assertUsed()
  } catch (error) {
    told.push(error as HookspanError)
  }
  const count = unused.length + refused.length
  expect(told[0]?.code).toBe(
    count === 0
      ? undefined
      : count > 1
        ? 'MOCKS_FAILED'
        : refused.length > 0
          ? 'MOCK_UNMATCHED'
          : 'MOCK_UNUSED',
  )
  const text = told[0]?.message ?? ''
  for (const { id } of unused) expect(text).toContain(`.named("${id}")`)
  expect(text.split('A mock was not used').length - 1).toBe(unused.length)
  expect(text.split('no mock fits').length - 1).toBe(refused.length)
  // What was told is not told again.
  mocks[Symbol.dispose]()
}

it('judges arguments as their description reads', () => {
  const call = mockArguments()
  fc.assert(
    fc.property(someWant, someArgs, fc.boolean(), (want, args, exactly) => {
      expect(call(written(want), args, exactly)).toBe(fits(want, args, exactly ? 'exact' : 'partial'))
    }),
    { numRuns: RUNS * 20 },
  )
})

it(
  'answers each call by the first rule that is for it, and tells what was not used',
  async () => {
    const seen = new Map<string, number>()
    await fc.assert(
      fc.asyncProperty(
        fc.array(layerPlan, { minLength: 1, maxLength: 2 }),
        callPlan,
        async (plans, batches) => {
          const dispatcher = new HookDispatcher()
          const layers = plans.map((plan, index) => new Layer(dispatcher, plan, `${'ab'[index]}`))
          const runs = ['first', 'second'].map((operationId) => {
            const root = dispatcher.startOperation({ operationId, agentName: 'root' })
            const helper = dispatcher.startOperation({ agentName: 'helper', parent: root.asParent() })
            return { root, helper }
          })
          for (const [index, batch] of batches.entries()) {
            if (index === 2) for (const layer of layers) layer.addLater()
            const told = batch.map((call) => {
              const { root } = runs[call.run] as { root: Operation }
              const path = call.bySubAgent ? ['root', 'helper'] : ['root']
              const taker =
                layers.findLast((layer) => layer.find(call, path, root.operationId)) ?? layers.at(-1)
              const rule = (taker as Layer).find(call, path, root.operationId)
              const ending = rule?.answer(call, root.operationId) ?? (taker as Layer).unmocked(call)
              seen.set(ending.answeredBy, (seen.get(ending.answeredBy) ?? 0) + 1)
              return { ending, taker: taker as Layer }
            })
            const made = batch.map(({ run, bySubAgent, ...call }) => {
              const { root, helper } = runs[run] as { root: Operation; helper: Operation }
              return (bySubAgent ? helper : root).toolCall(call, () => ({ real: call.apiName }))
            })
            const outcomes = await Promise.all(made)
            for (const [at, outcome] of outcomes.entries()) expectEnding(outcome, told[at]?.ending as Ending)
            for (const { taker, ending } of told) taker.noted.push(ending)
          }
          for (const { root, helper } of runs) {
            await helper.complete()
            await root.complete()
          }
          for (const layer of layers) expectReport(layer)
        },
      ),
      { numRuns: RUNS },
    )
    expect([...seen.keys()].sort()).toEqual(['live', 'mock', 'refused', 'simulated'])
  },
  Math.max(60_000, RUNS * 100),
)

/** Whether a rule for these arguments is for a call with those. */
function mockArguments() {
  return (want: unknown, args: unknown, exactly: boolean): boolean => {
    const mode = exactly ? 'exact' : 'partial'
    return matchTrajectory([{ name: 't', args }], [{ name: 't', args: want }], { args: mode }).pass
  }
}
