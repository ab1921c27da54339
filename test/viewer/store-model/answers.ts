/** All that is asked of a store, against what is true. */
import { expect } from 'vitest'
import { finish } from '../../../src/viewer/model/in-turns.ts'
import { SORT_KEYS } from '../../../src/viewer/model/query-keys.ts'
import { USE_KINDS } from '../../../src/viewer/model/run-uses.ts'
import { RUN_STATUSES, type RunSummary } from '../../../src/viewer/model/span.ts'
import type { Store } from '../../../src/viewer/store/store.ts'
import type { NaiveRun, NaiveUse } from './naive-run.ts'
import { type Found, foundRun, type NaiveStore, spansWith } from './naive-store.ts'
import { randomTerm } from './queries.ts'
import { Random } from './random.ts'
import { compareWithNew } from './same-run.ts'
import { arriving, RESOURCES } from './sent.ts'

const ALL = { limit: 10_000, offset: 0 }

/** Gives how the runs stood. */
export function compareAnswers(store: Store, naive: NaiveStore, nowMs: number, seed: number): string[] {
  const random = new Random(seed)
  const all = [...naive.runs.values()].map((run) => foundRun(run, nowMs, naive.asked.get(run.traceId)))
  store.listRuns('', ALL, nowMs)
  store.recheckOpenRuns(nowMs)
  expect(summaries(store.listRuns('', ALL, nowMs).runs)).toEqual(summaries(all.map(({ summary }) => summary)))
  if (all.length === 0) return []
  for (const { run } of all) compareRows(store, run, nowMs)
  for (let asked = 0; asked < 6; asked++) compareQuery(store, all, random, nowMs)
  compareSets(store, all, random, nowMs)
  compareSorted(store, random, nowMs)
  for (let asked = 0; asked < 4; asked++) compareWords(store, all, random, nowMs)
  compareWithNew(store, all, naive.asked, random, nowMs)
  return all.map(({ summary }) => summary.status)
}

const round = (value: number) => Math.round(value * 1e9) / 1e9

/** What the naive model says of a run, of each. */
function summaries(runs: readonly RunSummary[]): unknown[] {
  return runs
    .map(({ inputPreview: _input, answerPreview: _answer, ...run }) => ({
      // Halves of characters are kept by none of the columns but the lists.
      ...arriving(run, 'protobuf'),
      costUsd: round(run.costUsd),
    }))
    .sort((a, b) => (a.traceId < b.traceId ? -1 : 1))
}

function compareRows(store: Store, run: NaiveRun, nowMs: number): void {
  const read = store.run(run.traceId, 0, nowMs)!
  const rows = read.rows.map((row) => ({
    spanId: row.spanId,
    parentSpanId: row.parentSpanId,
    name: row.name,
    category: row.category,
    startUs: row.startUs,
    endUs: row.endUs,
    state: row.state,
    error: row.error,
    label: row.label,
    service: row.service,
    tokens: [row.inputTokens, row.outputTokens, row.cachedTokens],
    costUsd: round(row.costUsd),
    outcome: row.outcome,
    mocked: row.mocked,
    callId: row.callId,
  }))
  const spans = run.spans
  // Those that begin at one moment come as they came.
  spans.sort((a, b) => a.startUs - b.startUs)
  expect(rows).toEqual(
    spans.map((span) => {
      const { means } = span
      return {
        spanId: span.spanId,
        parentSpanId: span.parentSpanId,
        name: span.name,
        category: means.category,
        startUs: span.startUs,
        endUs: means.started ? 0 : Math.max(span.startUs, span.endUs),
        state: run.stateOf(span, nowMs),
        error: span.error !== undefined,
        label: means.label,
        service: String(RESOURCES[span.resource]!['service.name'] ?? ''),
        tokens: [means.inputTokens ?? 0, means.outputTokens ?? 0, means.cachedTokens ?? 0],
        costUsd: round(means.costUsd ?? 0),
        outcome: means.outcome ?? '',
        mocked: means.mocked ?? false,
        callId: means.callId ?? '',
      }
    }),
  )
}

function randomQuery(random: Random, all: readonly Found[]): { text: string; found: Found[] } {
  const terms = Array.from({ length: random.between(0, 3) }, () => randomTerm(random, all))
  return {
    text: terms.map(({ text }) => text).join(' '),
    found: all.filter((run) => terms.every(({ isTrue }) => isTrue(run))),
  }
}

const idsOf = (runs: readonly { traceId: string }[]) => runs.map(({ traceId }) => traceId).sort()

function compareQuery(store: Store, all: readonly Found[], random: Random, nowMs: number): void {
  const { text, found } = randomQuery(random, all)
  const { runs, total, problems } = store.listRuns(text, ALL, nowMs)
  const ids = idsOf(found.map(({ summary }) => summary))
  expect({ text, problems, total, ids: idsOf(runs) }).toEqual({ text, problems: [], total: ids.length, ids })
  compareNumbers(store, text, found, nowMs)
  const kind = random.pick(USE_KINDS)
  const { uses, pending } = store.uses(text, kind, nowMs)
  expect(pending).toBe(0)
  compareUses(
    text,
    uses as never,
    found.map((one) => one.uses.filter((use) => use.kind === kind)),
  )
}

function compareNumbers(store: Store, text: string, found: readonly Found[], nowMs: number): void {
  const numbers = store.numbers(text, nowMs)
  const runs = found.map(({ summary }) => summary)
  const over = runs.filter(({ status }) => status !== 'running' && status !== 'waiting')
  const sum = (
    key: 'inputTokens' | 'outputTokens' | 'cachedTokens' | 'costUsd' | 'toolCalls' | 'mockedCalls',
  ) => round(runs.reduce((total, run) => total + run[key], 0))
  const durations = over.map(({ durationMs }) => durationMs)
  const { starts, ...others } = numbers
  expect({ text, ...others, costUsd: round(numbers.costUsd) }).toEqual({
    text,
    runs: runs.length,
    ended: over.length,
    inputTokens: sum('inputTokens'),
    outputTokens: sum('outputTokens'),
    cachedTokens: sum('cachedTokens'),
    costUsd: sum('costUsd'),
    estimatedUsd: 0,
    toolCalls: sum('toolCalls'),
    mockedCalls: sum('mockedCalls'),
    byStatus: Object.fromEntries(
      RUN_STATUSES.map((status) => [status, runs.filter((run) => run.status === status).length]),
    ),
    ...(durations.length > 0 && { durationMs: { p50: rank(durations, 0.5), p95: rank(durations, 0.95) } }),
  })
  for (const { fromUs, toUs, byStatus } of starts) {
    const inside = runs.filter(({ startUs }) => startUs >= fromUs && startUs < toUs)
    const counts = new Map<string, number>()
    for (const { status } of inside) counts.set(status, (counts.get(status) ?? 0) + 1)
    expect(byStatus).toEqual(Object.fromEntries(counts))
  }
  const inBars = starts.reduce(
    (total, { byStatus }) => total + Object.values(byStatus).reduce((a, b) => a + b, 0),
    0,
  )
  expect(inBars).toBe(runs.length)
}

/** The least that so large a share is no greater than. */
function rank(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted.find((value) => sorted.filter((other) => other <= value).length >= sorted.length * share)!
}

type Use = Record<string, number> & {
  name: string
  runs: number
  durationMs?: { p50: number; p95: number }
  topError?: { text: string; count: number; runs: number }
}

function compareUses(text: string, uses: readonly Use[], found: readonly NaiveUse[][]): void {
  const names = new Map<string, { runs: number; uses: NaiveUse[] }>()
  for (const some of found) {
    for (const use of some) {
      const known = names.get(use.name) ?? { runs: 0, uses: [] }
      names.set(use.name, { runs: known.runs + 1, uses: [...known.uses, use] })
    }
  }
  expect({ text, names: uses.map(({ name }) => name).sort() }).toEqual({
    text,
    names: [...names.keys()].sort(),
  })
  for (const { name, runs, durationMs, topError, ...counts } of uses) {
    const { runs: inRuns, uses: some } = names.get(name)!
    const durations = some.flatMap((use) => use.durationsMs).map(Math.fround)
    const errors = new Map<string, { count: number; runs: number }>()
    for (const use of some) {
      for (const error of new Set(use.errors)) {
        const known = errors.get(error) ?? { count: 0, runs: 0 }
        const count = use.errors.filter((one) => one === error).length
        errors.set(error, { count: known.count + count, runs: known.runs + 1 })
      }
    }
    const expected: Record<string, number> = {}
    for (const key of Object.keys(counts))
      expected[key] = round(some.reduce((total, use) => total + (use.counts[key] ?? 0), 0))
    for (const key of new Set(some.flatMap((use) => Object.keys(use.counts))))
      expect(Object.keys(counts)).toContain(key)
    const rounded = Object.fromEntries(Object.entries(counts).map(([key, value]) => [key, round(value)]))
    expect({ text, name, runs, ...rounded }).toEqual({ text, name, runs: inRuns, ...expected })
    expect(durationMs).toEqual(
      durations.length > 0 ? { p50: rank(durations, 0.5), p95: rank(durations, 0.95) } : undefined,
    )
    const most = Math.max(0, ...[...errors.values()].map(({ count }) => count))
    expect(topError?.count ?? 0).toBe(most)
    if (topError) expect(errors.get(topError.text)).toEqual({ count: most, runs: topError.runs })
  }
}

function compareSets(store: Store, all: readonly Found[], random: Random, nowMs: number): void {
  const [a, b] = [randomQuery(random, all), randomQuery(random, all)]
  const diff = store.diffSets(a.text, b.text, nowMs)
  for (const [side, { text, found }] of [
    ['a', a],
    ['b', b],
  ] as const) {
    const over = found
      .map(({ summary }) => summary)
      .filter(({ status }) => status !== 'running' && status !== 'waiting')
    expect({ text, ...diff[side] }).toEqual({ text, runs: found.length, ended: over.length })
    const share = (...of: string[]) => over.filter(({ status }) => of.includes(status)).length / over.length
    const mean = (amountOf: (run: RunSummary) => number) =>
      over.reduce((sum, run) => sum + amountOf(run), 0) / over.length
    const durations = over.map(({ durationMs }) => durationMs)
    const expected: Record<string, number> = {
      failed: share('failed', 'interrupted'),
      withErrors: share('with_errors'),
      denied: share('denied'),
      p50: rank(durations, 0.5),
      p95: rank(durations, 0.95),
      tokens: mean((run) => run.inputTokens + run.outputTokens),
      cost: mean((run) => run.costUsd),
      toolCalls: mean((run) => run.toolCalls),
    }
    for (const measure of diff.measures) {
      if (over.length === 0) expect(measure[side]).toBeUndefined()
      else expect(measure[side]).toBeCloseTo(expected[measure.key]!, 6)
    }
  }
}

/** Page after page gives what all at once gives, in an order that is one. */
function compareSorted(store: Store, random: Random, nowMs: number): void {
  const key = random.pick(Object.keys(SORT_KEYS))
  const sort = random.chance(0.5) ? key : `-${key}`
  const { runs } = store.listRuns('', { ...ALL, sort }, nowMs)
  const limit = random.between(1, 3)
  const paged: string[] = []
  for (let offset = 0; offset < runs.length; offset += limit)
    paged.push(...store.listRuns('', { limit, offset, sort }, nowMs).runs.map(({ traceId }) => traceId))
  expect({ sort, ids: paged }).toEqual({ sort, ids: runs.map(({ traceId }) => traceId) })
  const amountOf = (run: RunSummary): number | Buffer => {
    const values = SORT_KEYS[key]!.map((of) => run[of])
    if (Array.isArray(values[0])) return Buffer.from(JSON.stringify(values[0]))
    return typeof values[0] === 'number'
      ? values.reduce<number>((sum, value) => sum + (value as number), 0)
      : Buffer.from(values[0]!)
  }
  for (const [index, run] of runs.entries()) {
    if (index === 0) continue
    const [before, after] = [amountOf(runs[index - 1]!), amountOf(run)]
    const order =
      typeof before === 'number' ? before - (after as number) : Buffer.compare(before, after as Buffer)
    expect(sort.startsWith('-') ? -order : order).toBeLessThanOrEqual(0)
  }
}

function compareWords(store: Store, all: readonly Found[], random: Random, nowMs: number): void {
  const typed = randomWords(random, random.pick(all).run)
  if (typed === '') return
  const found = all.map(({ run }) => ({
    traceId: run.traceId,
    spans: spansWith(run, typed),
    there: new Set(run.spans.map(({ spanId }) => spanId)),
  }))
  const expected = found.flatMap(({ traceId, spans, there }) =>
    [...spans].filter((spanId) => there.has(spanId)).map((spanId) => `${traceId} ${spanId}`),
  )
  const { hits, indexing } = store.search(typed, 100_000)
  expect({ typed, indexing, hits: hits.map(({ traceId, spanId }) => `${traceId} ${spanId}`).sort() }).toEqual(
    { typed, indexing: 0, hits: expected.sort() },
  )
  const { text, found: narrowed } = randomQuery(random, all)
  const query = `${text} ${typed}`.trim()
  const withWords = new Set(found.filter(({ spans }) => spans.size > 0).map(({ traceId }) => traceId))
  const ids = idsOf(narrowed.map(({ summary }) => summary).filter(({ traceId }) => withWords.has(traceId)))
  const list = store.listRuns(query, ALL, nowMs)
  expect({ query, ids: idsOf(list.runs), total: list.total }).toEqual({ query, ids, total: ids.length })
  compareNumbers(
    store,
    query,
    narrowed.filter(({ summary }) => withWords.has(summary.traceId)),
    nowMs,
  )
  const one = random.pick(found)
  const inOne = store.search(typed, 100_000, one.traceId)
  expect(inOne.hits.map(({ spanId }) => spanId).sort()).toEqual(
    [...one.spans].filter((spanId) => one.there.has(spanId)).sort(),
  )
  const snippets = finish(store.findingSnippets(typed, [...withWords]))
  for (const { traceId, spans, there } of found) {
    const snippet = snippets[traceId]
    if (snippet) expect(spans).toContain(snippet.spanId)
    else
      expect({
        typed,
        spans: [...spans].filter((spanId) => there.has(spanId) && !isInLog(all, traceId, spanId)),
      }).toEqual({ typed, spans: [] })
  }
}

function isInLog(all: readonly Found[], traceId: string, spanId: string): boolean {
  return all.find(({ run }) => run.traceId === traceId)!.run.logs.some((log) => log.spanId === spanId)
}

/** Words of one of its spans, mostly. */
function randomWords(random: Random, run: NaiveRun): string {
  const { spans, logs } = run.words()
  const some = [...spans.values(), ...logs.map(({ words }) => words)]
  if (some.length === 0) return ''
  const words = [...random.pick(some)]
  const asked = Array.from({ length: random.between(1, 3) }, () => random.pick(words))
  if (random.chance(0.1)) asked.push('apple')
  if (random.chance(0.3)) asked.push([...asked.pop()!].slice(0, 4).join(''))
  return asked.join(' ') + (random.chance(0.2) ? '.' : '')
}
