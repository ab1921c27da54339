/** A run that came in pieces is the same as one that came whole: told by a new store that is given just what is left of it. */
import { expect } from 'vitest'
import type { OtlpTraces } from '../../../src/internal/otlp/types.ts'
import { conversing } from '../../../src/viewer/model/conversation.ts'
import { logging } from '../../../src/viewer/model/event-log.ts'
import { finish } from '../../../src/viewer/model/in-turns.ts'
import { linting } from '../../../src/viewer/model/lint.ts'
import { diffing } from '../../../src/viewer/model/run-diff.ts'
import { readingActs } from '../../../src/viewer/model/run-steps.ts'
import type { AskedInRun } from '../../../src/viewer/model/span.ts'
import { receiveTraces } from '../../../src/viewer/otlp/receive.ts'
import { Store } from '../../../src/viewer/store/store.ts'
import type { StoredRun } from '../../../src/viewer/store/stored-run.ts'
import type { Found } from './naive-store.ts'
import type { Random } from './random.ts'
import { otlpLog, requestOf } from './sent.ts'

export function compareWithNew(
  store: Store,
  all: readonly Found[],
  asked: ReadonlyMap<string, AskedInRun>,
  random: Random,
  nowMs: number,
): void {
  const fresh = new Store({ file: ':memory:', answerMs: 600_000 })
  const imported = new Store({ file: ':memory:', answerMs: 600_000 })
  try {
    for (const other of [fresh, imported]) other.tellAsked(asked)
    for (const { run } of all) {
      // Those that begin at one moment stay as they came.
      const spans = run.spans.sort((a, b) => a.startUs - b.startUs)
      const groups = spans.map((span) => ({ resource: span.resource, scope: span.scope, spans: [span] }))
      fresh.addSpans(receiveTraces(requestOf(groups, 'json'), 'json').items, run.receivedMs)
      finish(
        fresh.addingLogs(
          run.logs.map((log) => ({
            traceId: log.traceId,
            spanId: log.spanId,
            record: otlpLog(log) as never,
          })),
          run.receivedMs,
        ),
      )
      fresh.mark(run.traceId, run.marks)
      const traces = finish(store.exportingRun(run.traceId))!
      imported.addSpans(receiveTraces(Buffer.from(JSON.stringify(traces)), 'json').items, run.receivedMs)
      imported.mark(run.traceId, run.marks)
      if (run.spans.length > 0)
        expect(spansIn(finish(imported.exportingRun(run.traceId))!)).toEqual(spansIn(traces))
    }
    const others = [fresh, imported]
    for (const { run } of all) {
      const told = all_of(store, run.traceId, nowMs)
      for (const other of others)
        if (run.spans.length > 0) expect(all_of(other, run.traceId, nowMs)).toEqual(told)
    }
    const [a, b] = [random.pick(all).run, random.pick(all).run]
    if (a.spans.length > 0 && b.spans.length > 0) {
      const diff = (of: Store) => finish(diffing(read(of, a.traceId, nowMs), read(of, b.traceId, nowMs)))
      expect(plain(diff(fresh))).toEqual(plain(diff(store)))
    }
  } finally {
    fresh.close()
    imported.close()
  }
}

/** Each with where it came from. */
function spansIn({ resourceSpans = [] }: OtlpTraces) {
  return resourceSpans
    .flatMap(({ resource, scopeSpans = [] }) =>
      scopeSpans.flatMap(({ scope, spans = [] }) => spans.map((span) => ({ resource, scope, span }))),
    )
    .sort((a, b) => (a.span.spanId < b.span.spanId ? -1 : 1))
}

function read(store: Store, traceId: string, nowMs: number): StoredRun {
  return finish(store.reading(traceId, 0, nowMs))!
}

/** What the page shows of a run. */
function all_of(store: Store, traceId: string, nowMs: number) {
  store.recheckOpenRuns(nowMs)
  const run = read(store, traceId, nowMs)
  return plain({
    summary: run.summary,
    conversation: finish(conversing(run.rows, run.open)),
    lint: finish(linting(run.rows, run.open)),
    // Those of one moment are told as they came, which an export has only of each resource.
    events: finish(logging(run.rows, run.records())).sort(
      (a, b) => a.timeUs - b.timeUs || (a.spanId < b.spanId ? -1 : 1),
    ),
    acts: finish(readingActs(run)),
  })
}

/** As JSON has it, without halves of characters, which not all columns keep, and what sums of fractions differ in. */
function plain(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value, (_key, one) => {
      if (typeof one === 'string') return one.toWellFormed()
      return typeof one === 'number' && !Number.isInteger(one) ? Math.round(one * 1e6) / 1e6 : one
    }),
  )
}
