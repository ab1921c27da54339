import fc from 'fast-check'
import { readTrajectory, recordEvents } from 'hookspan/mock'
import { expect as check, type HookspanMatchers, repeatRuns } from 'hookspan/vitest'
import { expect, it } from 'vitest'
import { type KnownCall, type Played, play, type RunPlan, runPlans } from './model/runs.ts'
import { type Expectation, expectation, judge, say } from './model/wanted.ts'
import { hasAll, sayAll, spansOf, wantedSpans } from './model/wanted-spans.ts'

/** More of them look further: `MODEL_RUNS=5000`; `MODEL_SEED=17` has the same ones again. */
const RUNS = Number(process.env.MODEL_RUNS ?? 16)
const { MODEL_SEED } = process.env
const seed = MODEL_SEED === undefined ? {} : { seed: Number(MODEL_SEED) }
const timeout = Math.max(60_000, RUNS * 100)

/** So few runs lack, once in a hundred times, one of the kinds of expectations that there are: more of them have it. */
async function untilSeen<T>(kinds: number, seen: { readonly size: number }, look: fc.IAsyncProperty<T>) {
  for (let round = 0; round === 0 || (seen.size < kinds && round < 5); round++) {
    const again = MODEL_SEED === undefined ? {} : { seed: Number(MODEL_SEED) + round }
    await fc.assert(look, { numRuns: RUNS, ...again })
  }
  expect(seen.size).toBe(kinds)
}

type Said = { verdict: 'holds' | 'fails'; message: string } | { verdict: 'refused'; message: string }

/** What a matcher says of an expectation. */
function said(about: object, wanted: Expectation, not: boolean): Said {
  try {
    const assertion = check(about)
    say((not ? assertion.not : assertion) as never, wanted)
    return { verdict: 'holds', message: '' }
  } catch (error) {
    const { code, message } = error as Error & { code?: string }
    return code === undefined
      ? { verdict: 'fails', message }
      : { verdict: 'refused', message: `${code}: ${message}` }
  }
}

it(
  'judges runs by what whoever made the calls knows, from each thing that tells of them',
  async () => {
    const seen = new Map<string, number>()
    await untilSeen(
      6,
      seen,
      fc.asyncProperty(
        runPlans,
        fc.array(expectation, { minLength: 6, maxLength: 6 }),
        async (plans, wanted) => {
          const { failures } = await repeatRuns(1, async (run) => {
            using log = recordEvents(run.dispatcher)
            const played = await play(run, plans)
            await run.dispatcher.drain()
            const { trace } = run
            const all = { trace, log, events: trace.events, spans: trace.spans, otlp: trace.toJSON() }
            for (const [source, about] of Object.entries(all)) {
              for (const one of wanted) hold(one, about, played, source, seen)
              expectRead(about, played, source)
            }
            for (const [index, operationId] of played.operationIds.entries()) {
              const tree = {
                calls: played.calls.filter(({ run }) => run === index),
                questions: played.questions.filter(({ run }) => run === index),
              }
              const own = {
                calls: tree.calls.filter(({ agent }) => agent === 'root'),
                questions: tree.questions.filter(({ agent }) => agent === 'root'),
              }
              for (const one of wanted) hold(one, { operationId, messages: [] }, own, 'run', seen, tree)
            }
          })
          if (failures[0] !== undefined) throw failures[0].error
        },
      ),
    )
  },
  timeout,
)

/** All calls are read, those of an agent in the order in which it made them. */
function expectRead(about: object, played: Played, source: string): void {
  const told = source === 'spans' || source === 'otlp' ? asSpansTell(played).calls : played.calls
  const read = readTrajectory(about)
  for (const agent of ['root', 'helper']) {
    for (const run of played.operationIds.keys()) {
      const own = told.filter((call) => call.run === run && call.agent === agent)
      const ns = new Set(own.map(({ args }) => (args as { n: number }).n))
      const found = read.filter(({ args }) => ns.has((args as { n: number }).n))
      const plain = ({ name, identifier, args, outcome, code }: Partial<KnownCall>) => ({
        name,
        identifier,
        args,
        outcome,
        code,
      })
      expect(found.map(plain), source).toEqual(own.map(plain))
    }
  }
  expect(read.length, source).toBe(told.length)
}

/** @param tree what of it must not be is looked for in. */
function hold(
  wanted: Expectation,
  about: object,
  played: Pick<Played, 'calls' | 'questions'>,
  source: string,
  seen: Map<string, number>,
  tree = played,
): void {
  const { times } = wanted as { times?: number }
  for (const not of [false, true]) {
    const which = (not ? times === undefined : times === 0) ? tree : played
    const { holds, found } = judge(
      wanted,
      source === 'spans' || source === 'otlp' ? asSpansTell(which) : which,
    )
    const key = `${wanted.is} ${holds}`
    seen.set(key, (seen.get(key) ?? 0) + 1)
    const { verdict, message } = said(about, wanted, not)
    expect(
      verdict,
      `${source}, ${not ? 'not ' : ''}${JSON.stringify(wanted)}, ${found} found: ${message}`,
    ).toBe(holds === not ? 'fails' : 'holds')
    if (verdict === 'fails') expectTold(message, wanted, found)
  }
}

/** Spans do not tell where the tool of a question lives, and have of a result what the model was told. */
function asSpansTell({ calls, questions }: Pick<Played, 'calls' | 'questions'>) {
  return {
    calls: calls.map(({ told, ...call }) => (told === undefined ? call : { ...call, result: told })),
    questions: questions.map((one) => ({ ...one, identifier: '' })),
  }
}

/** Whatever was asked for stands in the message, and how much of it there was. */
function expectTold(message: string, wanted: Expectation, found: number): void {
  const [head = ''] = message.split('\n')
  expect(head).toContain(`found ${found}`)
  const { is: _is, args: _args, result: _result, mode: _mode, ...told } = wanted as Record<string, unknown>
  for (const value of Object.values(told)) {
    if (value === undefined) continue
    const text = typeof value === 'object' ? (value as { source: string }).source : String(value)
    expect(head, `${JSON.stringify(wanted)} in its message`).toContain(text)
  }
}

it(
  'finds a span of its own for each that is expected, from each thing that tells of them',
  async () => {
    const seen = new Set<boolean>()
    await untilSeen(
      2,
      seen,
      fc.asyncProperty(
        runPlans,
        fc.array(wantedSpans, { minLength: 6, maxLength: 6 }),
        async (plans, lists) => {
          const { failures } = await repeatRuns(1, async (run) => {
            const { operationIds } = await play(run, plans)
            await run.dispatcher.drain()
            const { trace } = run
            const hold = (about: object, some: readonly RunPlan[], source: string) => {
              for (const wanted of lists) {
                const holds = hasAll(wanted, spansOf(some))
                seen.add(holds)
                for (const not of [false, true]) {
                  const assertion = not ? check(about).not : check(about)
                  const error = caught(() => assertion.toHaveSpans(sayAll(wanted)))
                  const what = `${source}, ${not ? 'not ' : ''}${JSON.stringify(wanted)}: ${error}`
                  expect(error === undefined, what).toBe(holds !== not)
                }
              }
            }
            for (const about of [trace, trace.spans, trace.toJSON()]) hold(about, plans, 'trace')
            hold(trace.events, plans, 'events')
            for (const [at, operationId] of operationIds.entries())
              hold({ operationId }, [plans[at] as RunPlan], 'run')
          })
          if (failures[0] !== undefined) throw failures[0].error
        },
      ),
    )
  },
  timeout,
)

/** Each says something that no run can meet, or that nobody can have meant. */
const WRONG: Readonly<Record<string, (assertion: HookspanMatchers<void>) => void>> = {
  'a tool without a name': (one) => one.toHaveCalledTool(''),
  'a tool that is none': (one) => one.toHaveCalledTool(5 as never),
  'a glob of another kind': (one) => one.toHaveCalledTool('find|book'),
  'options that are none': (one) => one.toHaveCalledTool('find', {}, null as never),
  'a misspelt option': (one) => one.toHaveCalledTool('find', {}, { time: 1 } as never),
  'a half call': (one) => one.toHaveCalledTool('find', {}, { times: 0.5 }),
  'less than no call': (one) => one.toHaveCalledTool('find', {}, { times: -1 }),
  'no number of calls': (one) => one.toHaveCalledTool('find', {}, { times: Number.NaN }),
  'an outcome that there is not': (one) => one.toHaveCalledTool('find', {}, { outcome: 'done' as never }),
  'a way to compare that there is not': (one) => one.toHaveCalledTool('find', {}, { args: 'loose' as never }),
  'an agent that is none': (one) => one.toHaveCalledTool('find', {}, { agent: /root/ as never }),
  'a refusal with a misspelt code': (one) => one.toHaveBeenDenied('find', { cod: 'x' } as never),
  'a refusal for no reason': (one) => one.toHaveBeenDenied('find', { reason: 5 as never }),
  'a refusal of no tool': (one) => one.toHaveBeenDenied('', {}),
  'an answer that there is not': (one) => one.toHaveAskedHuman('find', { action: 'approved' as never }),
  'a misspelt approver': (one) => one.toHaveAskedHuman('find', { approvers: 'anna' } as never),
  'a question about no tool': (one) => one.toHaveAskedHuman('[find]'),
  'spans that are no list': (one) => one.toHaveSpans('step' as never),
  'a span that is none': (one) => one.toHaveSpans([undefined as never]),
  'a span without a name': (one) => one.toHaveSpans(['']),
  'a span of no name': (one) => one.toHaveSpans([{ name: '' }]),
  'a span below one without a name': (one) => one.toHaveSpans([{ parent: '' }]),
  'a span under one without a name': (one) => one.toHaveSpans([{ name: '*', under: '' }]),
  'a misspelt part of a span': (one) => one.toHaveSpans(['*', { name: '*', atributes: {} } as never]),
  'a kind that there is not': (one) => one.toHaveSpans([{ kind: 'CLIENT' as never }]),
  'a failure that is none': (one) => one.toHaveSpans([{ failed: 'yes' as never }]),
  'attributes that are none': (one) => one.toHaveSpans([{ attributes: [] as never }]),
  'calls that are no list': (one) => one.toMatchTrajectory('find' as never),
  'a call without a name': (one) => one.toMatchTrajectory(['find', '']),
  'a call of no tool': (one) => one.toMatchTrajectory([{ args: {} } as never]),
  'a misspelt part of a call': (one) => one.toMatchTrajectory([{ name: 'find', arg: {} } as never]),
  'a call after none': (one) => one.toMatchTrajectory([{ name: 'find', after: 'book' }]),
  'a call after itself': (one) => one.toMatchTrajectory([{ name: 'find', id: 'a', after: ['a'] }]),
  'a mode that there is not': (one) => one.toMatchTrajectory([], { mode: 'loose' as never }),
  'a misspelt limit': (one) => one.toMatchTrajectory([], { maxCall: 1 } as never),
  'a limit that is none': (one) => one.toMatchTrajectory([], { maxCalls: Number.NaN }),
  'a limit for no tool': (one) => one.toMatchTrajectory([], { maxCalls: { 'a|b': 1 } }),
  'no tool that is forbidden': (one) => one.toMatchTrajectory([], { forbidden: ['{a,b}'] }),
  'a score of more than all': (one) => one.toMatchTrajectory([], { minScore: 90 }),
  'no tool to compare in a way of its own': (one) =>
    one.toMatchTrajectory([], { argsByTool: { '': 'exact' } }),
}

it('refuses what no run can meet, whatever the run, also where it is not to be met', async () => {
  await fc.assert(
    fc.asyncProperty(runPlans, async (plans) => {
      const { failures } = await repeatRuns(1, async (run) => {
        await play(run, plans)
        const { trace } = run
        for (const [what, wrong] of Object.entries(WRONG)) {
          for (const assertion of [check(trace), check(trace).not, check(trace.toJSON()).not]) {
            expect(
              caught(() => wrong(assertion)),
              what,
            ).toMatchObject({ code: 'INVALID_OPTION' })
          }
        }
      })
      if (failures[0] !== undefined) throw failures[0].error
    }),
    { numRuns: Math.ceil(RUNS / 4), ...seed },
  )
})

const hostile = fc.constantFrom(
  ...[
    'plain',
    '',
    ' ',
    '\u001b[31mred',
    'a\nb\r\n- c    expected as call 1, not made',
    '\u202etxt',
    '\ud800',
    '`x`',
  ],
  ...['x'.repeat(2_000), '\u0000', '__proto__', 'constructor', '💥'.repeat(500), '"quoted"', '%s %o %d'],
)
const hostileValue = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    hostile,
    fc
      .constantFrom<(() => unknown)[]>(
        () => 10n ** 20n,
        () => Object.assign(Object.create(null), { a: 1 }),
        () => new Map([[{}, new Set([1n])]]),
        () => Symbol('s'),
        () => new Proxy({}, { get: () => assertNever() }),
        () => ({ toJSON: () => assertNever() }),
        () => {
          const circle: Record<string, unknown> = {}
          circle.self = [circle]
          return circle
        },
        () => JSON.parse(`${'['.repeat(500)}${']'.repeat(500)}`),
        () => Number.NaN,
        () => new Date(Number.NaN),
        () => undefined,
      )
      .map((make) => make()),
    fc.dictionary(hostile, tie('value'), { maxKeys: 2 }),
  ),
})).value

function assertNever(): never {
  throw new Error('whoever looks at it is told')
}

const hostileCall = fc.record({
  name: hostile,
  identifier: hostile,
  args: hostileValue,
  outcome: fc.constantFrom('denied', 'completed', 'errored'),
  code: hostile,
  reason: hostile,
  agent: hostile,
})

it(
  'says what is wrong in a message of some length, in lines, whatever the calls hold',
  () => {
    const refused: string[] = []
    fc.assert(
      fc.property(
        fc.oneof(
          fc.array(hostileCall, { maxLength: 4 }),
          hostileCall.map((call) => Array.from({ length: 120 }, () => call)),
        ),
        hostileValue,
        hostile,
        (calls, args, text) => {
          const spans = calls.map(({ name, args, code }, index) => ({
            ...{ name: `execute_tool ${name}`, spanId: String(index), parentSpanId: String(index - 1) },
            attributes: { 'gen_ai.tool.name': name, 'hookspan.tool.code': code, args },
          }))
          const wanted = [
            { name: 'other', args },
            { name: 'plain', args, agent: text },
          ]
          const mistakes: (() => void)[] = [
            () => check(calls).toHaveCalledTool('other', args),
            () =>
              check(calls).toHaveCalledTool('*', { [text]: args }, { agent: text, result: args, times: 600 }),
            () => check(calls).not.toHaveCalledTool('*'),
            () => check(calls).toMatchTrajectory(wanted),
            () => check(calls).toMatchTrajectory(wanted, { forbidden: ['*'], maxCalls: 0 }),
            () => check(calls).toHaveBeenDenied('other', { code: text, reason: text }),
            () => check(calls).not.toHaveBeenDenied(),
            () => check(spans).toHaveSpans([{ name: 'other', attributes: { args }, under: 'plain' }]),
            () => check(spans).toHaveSpans(['*', { name: /never/, attributes: { [text]: args } }]),
          ]
          for (const [index, mistake] of mistakes.entries()) {
            const error = caught(mistake) as (Error & { code?: string }) | undefined
            if (error?.code !== undefined) refused.push(`${index}: ${error.message}`)
            expect(error?.name ?? 'Error', `${index}: ${error?.stack}`).toMatch(/^(Error|HookspanError)$/)
            expect(error?.message.length ?? 0).toBeLessThan(150_000)
            expect(error?.message ?? '').not.toMatch(/(?!\n)\p{Cc}|\u202e/u)
            expect(error?.message ?? '').not.toContain('\n- c')
          }
        },
      ),
      { numRuns: Math.ceil(RUNS / 4), ...seed },
    )
    expect(refused).toEqual([])
  },
  timeout,
)

function caught(act: () => void): unknown {
  try {
    act()
  } catch (error) {
    return error
  }
  return undefined
}
