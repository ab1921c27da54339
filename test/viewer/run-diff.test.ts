/** Two runs compared: where they part, what kind of difference it is, and what only follows from it; and several by steps. */
import { expect, it } from 'vitest'
import { differenceOf } from '../../src/viewer/model/diff-changes.ts'
import {
  type DiffSide,
  diffRuns,
  divergenceAt,
  isDifference,
  wordsOf,
} from '../../src/viewer/model/run-diff.ts'
import { actsOf, branchesOf, tableOf } from '../../src/viewer/model/run-steps.ts'
import { receiveTraces } from '../../src/viewer/otlp/receive.ts'
import { Store } from '../../src/viewer/store/store.ts'
import { diffText } from '../../src/viewer/text/diff-text.ts'
import { createPaint } from '../../src/viewer/text/paint.ts'
import { id, otlp, type TestSpan, TRACE } from './support.ts'

interface Turn {
  said?: string
  model?: string
  tool?: string
  args?: object
  result?: string
  /** No span tells of the tool. */
  untold?: boolean
}

/** A run of turns, each a call of a model that has all that was said before, and the tool it asked for. */
function run(turns: Turn[], system = 'Be brief.'): DiffSide {
  const agent = { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.name': 'a' }
  const spans: TestSpan[] = [{ spanId: id(1), name: 'invoke_agent a', end: 10_000, attributes: agent }]
  const history: object[] = [
    { role: 'system', content: system },
    { role: 'user', content: 'Do it.' },
  ]
  for (const [
    at,
    { said = 'ok', model = 'm', tool, args = {}, result = 'fine', untold },
  ] of turns.entries()) {
    const callId = `${Math.random()}`
    const calls = tool ? [{ type: 'tool_call', id: callId, name: tool, arguments: args }] : []
    const output = { role: 'assistant', parts: [{ type: 'text', content: said }, ...calls] }
    spans.push({
      spanId: id(10 + at * 2),
      parentSpanId: id(1),
      name: 'chat',
      start: 100 * at + 1,
      end: 100 * at + 40,
      attributes: {
        'gen_ai.operation.name': 'chat',
        'gen_ai.request.model': model,
        'gen_ai.input.messages': JSON.stringify(history),
        'gen_ai.output.messages': JSON.stringify([output]),
      },
    })
    if (tool && !untold)
      spans.push({
        spanId: id(11 + at * 2),
        parentSpanId: id(1),
        name: `execute_tool ${tool}`,
        start: 100 * at + 50,
        end: 100 * at + 90,
        attributes: {
          'gen_ai.operation.name': 'execute_tool',
          'gen_ai.tool.name': tool,
          'gen_ai.tool.call.id': callId,
          'gen_ai.tool.call.arguments': JSON.stringify(args),
          'gen_ai.tool.call.result': JSON.stringify(result),
        },
      })
    history.push(output)
    if (tool)
      history.push({ role: 'tool', parts: [{ type: 'tool_call_response', id: callId, response: result }] })
  }
  const store = new Store({ file: ':memory:' })
  store.addSpans(receiveTraces(Buffer.from(JSON.stringify(otlp(spans))), 'json').items)
  const { summary, rows } = store.run(TRACE)!
  return { summary, rows, open: (spanId) => store.span(TRACE, spanId) }
}

const base: Turn[] = [
  { said: 'first', tool: 'search', args: { q: 'x' } },
  { said: 'second', tool: 'fetch', args: { u: 1 } },
  { said: 'The answer is four.' },
]
const changed = (at: number, more: Turn): Turn[] =>
  base.map((turn, index) => (index === at ? { ...turn, ...more } : turn))

it.each<[string, DiffSide, string[], number]>([
  ['a prompt', run(base, 'Be very long.'), ['prompt'], 1],
  ['a reply', run(changed(1, { said: 'another one' })), ['reply'], 3],
  ['arguments', run(changed(1, { args: { u: 2 } })), ['reply'], 3],
  ['a result', run(changed(0, { result: 'nothing' })), ['result'], 2],
  ['a model', run(changed(1, { model: 'n' })), ['model'], 3],
  ['a tool', run(changed(1, { tool: 'read' })), ['reply'], 3],
])(
  '%s that differs is where the runs part, and what follows from it is inherited',
  (_name, other, words, at) => {
    const { rows } = diffRuns(run(base), other)
    expect(divergenceAt(rows)).toBe(at)
    expect(wordsOf(rows[at]!)).toEqual(words)
    const later = rows.slice(at + 1).flatMap(({ changes }) => changes.filter(({ what }) => what === 'prompt'))
    expect(later.every(({ inherited }) => inherited)).toBe(true)
    if (words[0] !== 'model') expect(later.length).toBeGreaterThan(0)
  },
)

it('a prompt that differs anew is not inherited', () => {
  const a = run(base)
  const b = run(changed(0, { said: 'other' }))
  // As if somebody had put another word in later.
  const meddled: DiffSide = {
    ...b,
    open: (spanId) => {
      const span = b.open(spanId)
      const key = 'gen_ai.input.messages'
      if (spanId !== id(14) || !span) return span
      const messages = JSON.parse(String(span.attributes[key])) as object[]
      return {
        ...span,
        attributes: {
          ...span.attributes,
          [key]: JSON.stringify([...messages, { role: 'user', content: 'And hurry.' }]),
        },
      }
    },
  }
  const last = diffRuns(a, meddled).rows.findLast((row) => row.a?.category === 'llm')!
  expect(last.changes.map(({ what, inherited }) => [what, inherited])).toEqual([['prompt', false]])
})

it('a result that only a prompt tells of is a result', () => {
  const untold = base.map((turn) => ({ ...turn, untold: true }))
  const other = changed(0, { result: 'nothing' }).map((turn) => ({ ...turn, untold: true }))
  const { rows } = diffRuns(run(untold), run(other))
  const at = divergenceAt(rows)
  expect(wordsOf(rows[at]!)).toEqual(['result'])
})

it('what both did, at another place, is another order', () => {
  const one = [{ tool: 'search' }, { tool: 'fetch' }, { tool: 'list' }, {}]
  const other = [{ tool: 'fetch' }, { tool: 'list' }, { tool: 'search' }, {}]
  const { rows } = diffRuns(run(one), run(other))
  const moved = rows.filter((row) => row.moved)
  expect(moved.map((row) => [row.kind, (row.a ?? row.b)!.label, wordsOf(row)])).toEqual([
    ['removed', 'search', ['order']],
    ['added', 'search', ['order']],
  ])
})

it('noise is what differs by few words', () => {
  const long = (word: string) => `${'word '.repeat(40)}${word}${' and more'.repeat(20)}`
  const { rows } = diffRuns(run([{ said: long('one') }]), run([{ said: long('two') }]))
  const at = divergenceAt(rows)
  expect(at).toBe(1)
  expect(rows[at]!.changes[0]!.difference).toBeLessThan(0.05)
  expect(isDifference(rows[at]!, 0.05)).toBe(false)
  expect(divergenceAt(rows, 0.05)).toBe(-1)
})

it.each([
  ['a b c', 'a b c', 0],
  ['a b c', 'x y z', 1],
  ['', 'a', 1],
  ['{"id":1}', '{"id":2}', 0.25],
])('%j and %j differ by %f', (a, b, difference) => {
  expect(differenceOf(a, b)).toBeCloseTo(difference, 1)
})

it('gives what the runs said at their ends, and what came back from each call', () => {
  const { answers, rows } = diffRuns(run(base), run(changed(2, { said: 'The answer is five.' })))
  expect(answers).toEqual({ a: 'The answer is four.', b: 'The answer is five.' })
  expect(rows.map(({ a }) => a!.reply)).toEqual([
    '',
    'first → search',
    'fine',
    'second → fetch',
    'fine',
    'The answer is four.',
  ])
})

it('several runs are together as long as they did the same', () => {
  const runs = [
    run(base),
    run(changed(1, { args: { u: 2 } })),
    run(changed(1, { tool: 'read' })),
    run(base),
    run([base[0]!, { said: 'Given up.' }]),
  ].map(actsOf)
  const shape = (exactly: boolean) => {
    const { order, rows } = tableOf(branchesOf(runs, exactly))
    return {
      order,
      rows: rows.map((cells) =>
        cells.map(({ branch, from }) => `${from}: ${branch.runs.length} ${branch.act.label}`),
      ),
    }
  }
  expect(shape(false)).toEqual({
    order: [0, 1, 3, 2, 4],
    rows: [['0: 5 search'], ['0: 3 fetch', '3: 1 read', '4: 1 done'], ['0: 3 done', '3: 1 done']],
  })
  expect(shape(true).rows[1]).toEqual(['0: 2 fetch', '2: 1 fetch', '3: 1 read', '4: 1 done'])
})

it('of those that did the same, it is counted in how many it failed, and in how many it was mocked', () => {
  const failing = run(base)
  for (const row of failing.rows) if (row.category === 'tool' && row.label === 'search') row.error = true
  const [first] = branchesOf([run(base), failing, run(base)].map(actsOf), false)
  expect(first).toMatchObject({ act: { label: 'search', bad: false }, runs: [0, 1, 2], bad: 1 })
  expect(first!.next[0]).toMatchObject({ act: { label: 'fetch' }, runs: [0, 1, 2], bad: 0, mocked: 0 })
  const mocking = run(base)
  for (const row of mocking.rows) if (row.category === 'tool' && row.label === 'fetch') row.mocked = true
  const [, second] = tableOf(branchesOf([mocking, run(base)].map(actsOf), false)).rows
  expect(second![0]!.branch).toMatchObject({ act: { label: 'fetch' }, runs: [0, 1], mocked: 1 })
})

it('of several runs those that refused a call are counted apart from those in which it failed', () => {
  const [failing, denied] = [run(base), run(base)]
  for (const row of failing.rows) if (row.label === 'search') row.error = true
  for (const row of denied.rows)
    if (row.label === 'search') Object.assign(row, { error: true, outcome: 'denied' })
  const [first] = branchesOf([run(base), failing, denied].map(actsOf), false)
  expect(first).toMatchObject({ act: { label: 'search' }, bad: 2, refused: 1 })
})

it('a call that was refused is not told as one that failed', () => {
  const tool = (name: string, outcome: string, at: number): TestSpan => ({
    ...{ spanId: id(at), parentSpanId: id(1), name: `execute_tool ${name}`, start: at, end: at + 1 },
    ...(outcome !== 'completed' && { error: 'no' }),
    attributes: {
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': name,
      'hookspan.tool.outcome': outcome,
    },
  })
  const store = new Store({ file: ':memory:' })
  const agent = { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.name': 'a' }
  const spans = [
    { spanId: id(1), name: 'invoke_agent a', end: 100, attributes: agent },
    ...['denied', 'rejected', 'errored', 'completed'].map((outcome, at) => tool(outcome, outcome, at + 2)),
  ]
  store.addSpans(receiveTraces(Buffer.from(JSON.stringify(otlp(spans))), 'json').items)
  const { rows, summary } = store.run(TRACE)!
  const side: DiffSide = { summary, rows, open: (spanId) => store.span(TRACE, spanId) }
  const text = diffText(diffRuns(side, side), createPaint(false))
  expect(text.match(/\w+\(\).*/g)?.map((line) => line.replace(/\(\).*(ms|s)/, ''))).toEqual([
    'denied denied',
    'rejected rejected',
    'errored failed',
    'completed',
  ])
})
