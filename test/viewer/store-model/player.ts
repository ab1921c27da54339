/** Does to real stores on a file what happens in a world, and asks them what they know. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, vi } from 'vitest'
import { finish } from '../../../src/viewer/model/in-turns.ts'
import type { SpanRow } from '../../../src/viewer/model/span.ts'
import { receiveTraces } from '../../../src/viewer/otlp/receive.ts'
import { Store } from '../../../src/viewer/store/store.ts'
import { compareAnswers } from './answers.ts'
import { compareKept, makeRoom } from './kept.ts'
import { NaiveStore } from './naive-store.ts'
import { Random } from './random.ts'
import { arriving, otlpLog, requestOf } from './sent.ts'
import { type Act, BEGIN_MS, type Which } from './world.ts'

/** Nothing is left out for want of time: what an answer lacks is told, and is not what is looked at here. */
const ANSWER_MS = 600_000

export class Player {
  readonly #folder = mkdtempSync(join(tmpdir(), 'hookspan-model-'))
  readonly #file = join(this.#folder, 'traces.db')
  #segmentDocuments = 10_000
  readonly #stores: (Store | undefined)[] = []
  readonly #naive = new NaiveStore()
  readonly #followed = new Map<string, { seq: number; rows: Map<string, SpanRow> }>()
  #nowMs = BEGIN_MS
  /** What happened, and how runs stood. */
  readonly seen = new Set<string>()

  /** @throws at the first answer that is another than it has to be. */
  play(acts: readonly Act[]): void {
    vi.useFakeTimers({ toFake: ['Date'], now: this.#nowMs })
    try {
      for (const act of acts) this.#do(act)
    } finally {
      vi.useRealTimers()
      for (const store of this.#stores) store?.close()
      rmSync(this.#folder, { recursive: true })
    }
  }

  #store(which: Which): Store {
    const [segmentDocuments, answerMs] = [this.#segmentDocuments, ANSWER_MS]
    this.#stores[which] ??= new Store({ file: this.#file, answerMs, segmentDocuments })
    return this.#stores[which]
  }

  #do(act: Act): void {
    this.#nowMs += 3
    const nowMs = this.#nowMs
    vi.setSystemTime(nowMs)
    this.seen.add(act.what)
    if (act.what === 'closes') {
      this.#stores[act.which]?.close()
      this.#stores[act.which] = undefined
      this.#naive.asked = new Map()
      return
    }
    if (act.what === 'opens') this.#segmentDocuments = act.segmentDocuments
    const store = this.#store(act.which)
    const naive = this.#naive
    switch (act.what) {
      case 'spans':
      case 'goes on at once': {
        const { items, rejected, reason } = receiveTraces(requestOf(act.groups, act.format), act.format)
        if (rejected > 0) throw new Error(reason)
        if (act.what === 'spans') store.addSpans(items, nowMs)
        else this.#atOnce(store, store.addingSpans(items, nowMs), act.removed, new Random(act.seed))
        for (const span of act.groups.flatMap((group) => group.spans))
          naive.span(arriving(span, act.format), nowMs)
        if (act.what !== 'spans' && act.removed !== undefined) this.#removed(act.removed)
        break
      }
      case 'people':
        naive.asked = new Map(act.open.map(([traceId, open]) => [traceId, { open, agentName: 'asker' }]))
        store.tellAsked(naive.asked)
        break
      case 'logs':
        finish(
          store.addingLogs(
            act.logs.map((log) => ({
              traceId: log.traceId,
              spanId: log.spanId,
              record: otlpLog(log) as never,
            })),
            nowMs,
          ),
        )
        for (const log of act.logs) naive.log(log, nowMs)
        break
      case 'works':
        store.work(act.ms, nowMs)
        break
      case 'indexes':
        for (let step = 0; step < act.steps; step++) store.work(0, nowMs)
        break
      case 'looks':
        this.#follow(store, act.traceId)
        store.search(act.typed, 1000)
        store.listRuns(act.typed, { limit: 10, offset: 0 }, nowMs)
        store.uses('', 'tool', nowMs)
        break
      case 'removes':
        store.removeRun(act.traceId)
        this.#removed(act.traceId)
        break
      case 'sweeps': {
        const swept = new Store({ file: store.file, maxAgeMs: act.maxAgeMs })
        swept.sweep(nowMs)
        swept.close()
        for (const [traceId, run] of naive.runs)
          if (run.receivedMs < nowMs - act.maxAgeMs) this.#removed(traceId)
        break
      }
      case 'makes room':
        for (const traceId of makeRoom(this.#file, [...naive.runs.values()], act.share))
          this.#removed(traceId)
        break
      case 'marks': {
        const { mark, note, labels } = act
        store.mark(act.traceId, { mark, note, labels })
        const run = naive.runs.get(act.traceId)
        if (run) run.marks = { mark, note, labels }
        break
      }
      case 'waits':
        this.#nowMs += act.ms
        break
      case 'is asked':
        for (const status of compareAnswers(store, naive, nowMs, act.seed)) this.seen.add(status)
        for (const what of compareKept(this.#file, this.#stores.filter(Boolean) as Store[]))
          this.seen.add(what)
    }
  }

  #removed(traceId: string): void {
    this.#naive.runs.delete(traceId)
    this.#followed.delete(traceId)
  }

  /** As an open page does: it asks for what is new, and keeps the rest. */
  #follow(store: Store, traceId: string): void {
    const page = this.#followed.get(traceId) ?? { seq: 0, rows: new Map<string, SpanRow>() }
    const news = store.run(traceId, page.seq, this.#nowMs)
    if (!news) return
    page.seq = news.seq
    for (const row of news.rows) page.rows.set(row.spanId, row)
    this.#followed.set(traceId, page)
    const all = store.run(traceId, 0, this.#nowMs)!.rows
    // Who is silent for long has died: that is no news of a span.
    const told = (rows: Iterable<SpanRow>) =>
      new Map([...rows].map((row) => [row.spanId, { ...row, ...(row.endUs === 0 && { state: 'open' }) }]))
    expect(told(page.rows.values())).toEqual(told(all))
  }

  /** Each goes on for a while, in no order. */
  #atOnce(store: Store, adding: Generator<void>, removed: string | undefined, random: Random): void {
    const nowMs = this.#nowMs
    const works: Generator<void, unknown>[] = [
      store.working(1_000, true, nowMs),
      store.working(1_000, random.chance(0.5), nowMs),
      store.listing('order', { limit: 100, offset: 0 }, nowMs),
      store.searching('apple', 100),
      store.summingUses('', 'tool', nowMs),
      store.counting('errors>0', nowMs),
      store.recheckingOpenRuns(nowMs),
      ...[...this.#naive.runs.keys()].slice(0, 3).map((traceId) => store.reading(traceId, 0, nowMs)),
    ]
    const going = [adding, ...works.filter(() => random.chance(0.6))]
    if (removed !== undefined) going.push(store.removingRun(removed))
    while (going.length > 0) {
      const at = random.between(0, going.length - 1)
      if (going[at]!.next().done) going.splice(at, 1)
    }
  }
}
