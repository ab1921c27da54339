import fc from 'fast-check'
import { type HookDispatcher, type Operation, type ToolOutcome, ToolResult } from 'hookspan'

const TOOLS = ['find', 'book'] as const

/** What a tool does, made anew for each call. */
const bodies: Readonly<Record<string, (n: number) => unknown>> = {
  object: (n) => ({ real: n, b: [1, { c: 'é\ud800' }], a: null }),
  'keys in no order': (n) => ({ z: n, 10: 1, 2: 1, a: { y: 1, x: 1 } }),
  '__proto__ as a key': (n) => JSON.parse(`{"__proto__":{"n":${n}},"constructor":1}`),
  text: (n) => `text ${n}`,
  'a number as text': (n) => String(n),
  'JSON as text': (n) => `{ "n": ${n} }`,
  'an empty text': () => '',
  number: (n) => n / 3,
  'no number': () => Number.NaN,
  'minus zero': () => -0,
  null: () => null,
  nothing: () => undefined,
  date: (n) => new Date(n),
  bytes: (n) => new Uint8Array([n]),
  map: () => new Map([[1, 2]]),
  bigint: (n) => ({ big: BigInt(n) }),
  lost: (n) => ({ n, lost: undefined, f() {} }),
  told: (n) => new ToolResult({ content: `told ${n}`, data: { n } }),
  'told as JSON': (n) => new ToolResult({ content: `{"told":${n}}`, data: { n } }),
  'told without data': (n) => new ToolResult({ content: `told ${n}` }),
  'a failure': (n) => new ToolResult({ content: `no ${n}`, success: false, data: n }),
  'an empty failure': () => new ToolResult({ content: '', success: false }),
  'an error as result': (n) => ({ isError: true, content: [{ type: 'text', text: `no ${n}` }] }),
  'an error that is returned': (n) => new TypeError(`returned ${n}`),
  throws: (n) => {
    throw new TypeError(`thrown ${n}`)
  },
  'throws with a code': (n) => {
    throw Object.assign(new Error(`coded ${n}`), { code: 'E_CODE', name: 'Coded' })
  },
  'throws without a word': () => {
    throw new RangeError('')
  },
  'throws a text': (n) => {
    throw `thrown ${n}`
  },
  'throws an object': (n) => {
    throw { message: `thrown ${n}`, code: 5 }
  },
  'throws nothing': () => {
    throw undefined
  },
  yields: async function* (n) {
    yield { part: n }
    yield 'last'
  },
  'yields and breaks': async function* (n) {
    yield n
    throw new Error(`broken ${n}`)
  },
}
export const BODIES = Object.keys(bodies)

export interface RecordedPlan {
  readonly tool: string
  readonly home: string
  readonly args: unknown
  readonly body: string
  readonly bySubAgent: boolean
  /** How late the tool answers, when it is recorded. */
  readonly turns: number
}

const args = fc.constantFrom<unknown>(
  ...[{}, { a: 1 }, { b: 2, a: 1 }, { a: 1, b: 2 }, { a: '1' }, { a: null }, [1], 'text', null, undefined],
  ...[{ a: -0 }, { a: [{ b: 1, a: 2 }] }, { é: '\ud800' }, JSON.parse('{"__proto__":1}'), { a: undefined }],
)

export const recordedPlan: fc.Arbitrary<RecordedPlan> = fc.record({
  tool: fc.constantFrom(...TOOLS),
  home: fc.constantFrom('local', 'shop'),
  args,
  body: fc.constantFrom(...BODIES),
  bySubAgent: fc.boolean(),
  turns: fc.nat(3),
})

/** What is made at once, by each agent in a step of its own or outside of steps. */
interface Batch {
  readonly inStep: boolean
  readonly calls: readonly RecordedPlan[]
}

/** Runs that go on at once, and their batches, one after the other. */
export type RecordedRuns = readonly (readonly Batch[])[]

export const plansOf = (runs: RecordedRuns): RecordedPlan[] => runs.flat().flatMap(({ calls }) => calls)

export const recordedRuns: fc.Arbitrary<RecordedRuns> = fc.array(
  fc.array(
    fc.record({ inStep: fc.boolean(), calls: fc.array(recordedPlan, { minLength: 1, maxLength: 3 }) }),
    { minLength: 1, maxLength: 3 },
  ),
  { minLength: 1, maxLength: 2 },
)

/** How a call ended, as its caller and the model are told of it. */
export interface Told {
  readonly state: string
  readonly content: string
  readonly result: unknown
  readonly error: unknown
}

async function turnsPass(turns: number): Promise<void> {
  for (let turn = 0; turn < turns; turn++) await new Promise((resolve) => setImmediate(resolve))
}

/** Makes all of it. `live` counts the tools that ran; `late` says how late each tool answers. */
export async function make(
  dispatcher: HookDispatcher,
  runs: RecordedRuns,
  count: () => number,
  late: (plan: RecordedPlan) => number,
): Promise<Told[][]> {
  const ops = runs.map(() => {
    const root = dispatcher.startOperation({ agentName: 'root' })
    return { root, helper: dispatcher.startOperation({ agentName: 'helper', parent: root.asParent() }) }
  })
  return Promise.all(
    runs.map(async (batches, index) => {
      const { root, helper } = ops[index] as { root: Operation; helper: Operation }
      const told: Told[] = []
      for (const { inStep, calls } of batches) {
        const made: Promise<Told>[] = []
        const makeAll = async (bySubAgent: boolean) => {
          const makeIn = (place: Pick<Operation, 'toolCall'>) =>
            Promise.all(
              calls.map((plan, at) => {
                if (plan.bySubAgent === bySubAgent) made[at] = makeOne(place, plan)
                return made[at]
              }),
            )
          const op = bySubAgent ? helper : root
          await (inStep ? op.step(async (step) => void (await makeIn(step))) : makeIn(op))
        }
        await Promise.all([makeAll(false), makeAll(true)])
        told.push(...(await Promise.all(made)))
      }
      await helper.complete()
      await root.complete()
      return told
    }),
  )

  async function makeOne(place: Pick<Operation, 'toolCall'>, plan: RecordedPlan): Promise<Told> {
    const answer = bodies[plan.body] as (n: number) => unknown
    const body = async () => {
      const n = count()
      await turnsPass(late(plan))
      return answer(n)
    }
    const outcome: ToolOutcome = await place.toolCall(
      { apiName: plan.tool, identifier: plan.home, args: plan.args },
      plan.body.startsWith('yields') ? () => answer(count()) : body,
    )
    return {
      state: outcome.state,
      content: outcome.toToolMessage().content,
      result: 'result' in outcome ? outcome.result : undefined,
      error: 'error' in outcome ? outcome.error : undefined,
    }
  }
}
