/** The viewer's store: one SQLite database, written as spans arrive, summed and indexed in idle moments. */
import type { DatabaseSync } from 'node:sqlite'
import type { OtlpTraces } from '../../internal/otlp/types.ts'
import { finish, type InTurns } from '../model/in-turns.ts'
import type { RunNumbers } from '../model/run-numbers.ts'
import type { UseKind, UseSums } from '../model/run-uses.ts'
import { measuresOf, RunSet, type SetDiff } from '../model/set-diff.ts'
import type { Snippet } from '../model/snippet.ts'
import type { AskedInRun, Marking, RunSummary, SpanRecord, SpanRow } from '../model/span.ts'
import type { IncomingLog, IncomingSpans } from '../otlp/incoming.ts'
import { summingArrived } from './arrivals.ts'
import { exportingRun } from './export.ts'
import { parseFilter } from './filter.ts'
import { KeptSums } from './kept-sums.ts'
import { BUSY_MS, isDiskFull, openDatabase, shareDatabase } from './open-database.ts'
import { type FoundByWords, type Page, Reader, type RunKey, type RunList, type SearchHit } from './reader.ts'
import { Retention, type RetentionOptions } from './retention.ts'
import { marking } from './run-columns.ts'
import { RunUses } from './run-uses.ts'
import { IS_OPEN } from './schema.ts'
import { SpanReader } from './span-reader.ts'
import { Summaries } from './summaries.ts'
import { TextIndex } from './text-index.ts'
import { WordSearch } from './word-search.ts'
import { wordQuery } from './words.ts'
import { Writer } from './writer.ts'

export interface StoreOptions extends RetentionOptions {
  /** A file, or `:memory:`. */
  file: string
  /** How long an answer may take for what is made while one waits; who waits for nobody else may wait longer. @default 400 */
  answerMs?: number
}

export interface StoredRunSpans {
  summary: RunSummary
  rows: SpanRow[]
  /** Ask with it for what changed since. */
  seq: number
}

/** A run with its whole spans, as they were when it was read. */
export interface StoredRun extends StoredRunSpans {
  open(spanId: string): SpanRecord | undefined
  /** In order of start. */
  records(): Generator<SpanRecord>
}

export interface SearchResult {
  hits: SearchHit[]
  /** Spans that were not searched yet: who asks again has them searched. */
  indexing: number
}

/**
 * Nobody waits longer for what is made meanwhile, all of it together: sums of what came, spans that are looked through, sums of
 * what is in sight. Each with a time of its own, an answer took the sum of them.
 */
const ANSWER_MS = 400
/** Of that, as much at most for each of the first two, so that something is left for what comes after them. */
const SUM_SHARE = 0.5
const LOOK_SHARE = 0.75
/** Of the runs in sight so many are summed all the same: on a busy machine all time may be gone before the first. */
const SUMMED_AT_LEAST = 4
/** Of more it is not told when they are summed: who sees so many is told of some of them. */
const MOST_BEHIND = 500
/** Who was told that there is more asks again within this time. */
const ASKED_AGAIN_MS = 1500

/** What may take long comes twice: at once, and in turns with others. */
export class Store {
  readonly file: string
  /** Where the file of another version went that had this one's name. */
  readonly setAside: string | undefined
  readonly #db: DatabaseSync
  readonly #writer: Writer
  readonly #spans: SpanReader
  readonly #reader: Reader
  readonly #index: TextIndex
  readonly #summaries: Summaries
  readonly #retention: Retention
  readonly #limits: RetentionOptions
  readonly #answerMs: number
  /** Runs that were shown as they stood before their last spans. */
  readonly #shownBehind = new Set<string>()
  #asked: ReadonlyMap<string, AskedInRun> = new Map()
  /** Opened without room: others cannot open the file. */
  #isAlone: boolean
  /** Replaced ones count until they are gone. */
  #spanCount: number
  #searchedUntilMs = 0

  constructor(options: StoreOptions) {
    this.file = options.file
    this.#limits = options
    this.#answerMs = options.answerMs ?? ANSWER_MS
    const { db, setAside, isAlone } = openDatabase(options.file)
    this.#isAlone = isAlone
    this.#db = db
    this.setAside = setAside
    const kept = new KeptSums(db, new RunUses(db))
    this.#writer = new Writer(db, (run) => kept.changed(run))
    this.#spans = new SpanReader(db)
    this.#index = new TextIndex(db)
    const search = new WordSearch(db, this.#spans, this.#index)
    this.#reader = new Reader(db, this.#spans, search, kept)
    const removals = {
      chunkRemoved: (id: number, spans: number) => {
        this.#index.removed(id, spans)
        search.forget()
        this.#spanCount -= spans
      },
      spansReplaced: () => search.forget(),
      runSummed: (run: number) => kept.changed(run),
      runRemoved: (run: number) => {
        kept.changed(run)
        this.#writer.forget()
        this.#spans.forget()
      },
    }
    this.#summaries = new Summaries(db, this.#spans, removals, (traceId) => this.#asked.get(traceId))
    this.#retention = new Retention(db, removals)
    const { spans } = db.prepare('SELECT coalesce(sum(spans), 0) AS spans FROM chunk').get() as {
      spans: number
    }
    this.#spanCount = spans
    // Runs that were open when the viewer last stopped are looked at again.
    try {
      db.exec(`UPDATE run SET dirty = 1 WHERE ${IS_OPEN}`)
    } catch (error) {
      // On a full disk they are shown as they stood.
      if (!isDiskFull(error)) throw error
    }
  }

  addSpans(batch: readonly IncomingSpans[], nowMs?: number): Set<string> {
    return finish(this.addingSpans(batch, nowMs))
  }

  /** What was stored before an error stays: who sends it again replaces it. */
  *addingSpans(batch: readonly IncomingSpans[], nowMs: number = Date.now()): InTurns<Set<string>> {
    const changed = new Set<string>()
    for (const part of this.#writer.parts(batch, ({ body }) => body.length)) {
      const arrived = yield* summingArrived(
        part,
        (traceId) => !this.#writer.knows(traceId),
        (traceId) => this.#asked.get(traceId),
      )
      for (const traceId of this.#writer.writeSpans(part, nowMs, arrived)) changed.add(traceId)
      for (const { count } of part) {
        this.#spanCount += count
        this.#index.added(count)
      }
      yield
    }
    return changed
  }

  addLogs(logs: readonly IncomingLog[], nowMs?: number): Set<string> {
    return finish(this.addingLogs(logs, nowMs))
  }

  *addingLogs(logs: readonly IncomingLog[], nowMs: number = Date.now()): InTurns<Set<string>> {
    const changed = new Set<string>()
    for (const part of this.#writer.parts(logs, () => 4096)) {
      for (const traceId of this.#writer.writeLogs(part, nowMs)) changed.add(traceId)
      yield
    }
    return changed
  }

  /** Sums and indexes for about `budgetMs`; says whether there is more to do. */
  work(budgetMs: number, nowMs?: number): boolean {
    return finish(this.working(budgetMs, true, nowMs))
  }

  /** `indexes`: whether the text is indexed, too, which only who searches has something of. */
  *working(budgetMs: number, indexes: boolean, nowMs: number = Date.now()): InTurns<boolean> {
    const moreRuns = yield* this.#sum(nowMs, indexes ? budgetMs / 2 : budgetMs)
    return (indexes && (yield* this.#index.work(budgetMs / 2))) || moreRuns
  }

  /** Runs that were shown as they stood before, and are summed by now: whoever sees them may ask again. Each is told once. */
  takeCaughtUp(): Set<string> {
    const caughtUp = new Set<string>()
    for (const traceId of this.#shownBehind) {
      if (this.#reader.findRun(traceId)?.dirty) continue
      this.#shownBehind.delete(traceId)
      caughtUp.add(traceId)
    }
    return caughtUp
  }

  /** Folds what was written into the file, so that it is not kept twice; not while another viewer reads. */
  settle(): void {
    this.#shareAgain()
    this.#db.exec('PRAGMA busy_timeout = 0')
    try {
      this.#db.exec('PRAGMA wal_checkpoint(TRUNCATE)')
    } finally {
      this.#db.exec(`PRAGMA busy_timeout = ${BUSY_MS}`)
    }
  }

  /** What people are asked now, by run; gives the runs of which that is news. They are summed again. */
  tellAsked(asked: ReadonlyMap<string, AskedInRun>): Set<string> {
    const before = this.#asked
    const ids = [...new Set([...before.keys(), ...asked.keys()])]
    const changed = ids.filter((id) => before.get(id)?.open !== asked.get(id)?.open)
    if (changed.length === 0) return new Set()
    this.#reader.resum(changed)
    this.#asked = asked
    return new Set(changed)
  }

  /** Looks again at runs that were open when last summed, and returns those whose state changed without a new span. */
  recheckOpenRuns(nowMs?: number): string[] {
    return finish(this.recheckingOpenRuns(nowMs))
  }

  recheckingOpenRuns(nowMs: number = Date.now()): InTurns<string[]> {
    return this.#summaries.recheckOpen(nowMs)
  }

  listRuns(query: string, page: Page, nowMs?: number): RunList {
    return finish(this.listing(query, page, nowMs))
  }

  /** Sums over the runs that a query finds: all of them, not only those of a page. */
  numbers(query: string, nowMs?: number): RunNumbers {
    return finish(this.counting(query, nowMs))
  }

  *counting(query: string, nowMs: number = Date.now()): InTurns<RunNumbers> {
    const { found } = yield* this.#ready(query, nowMs)
    return yield* this.#reader.numbers(query, found)
  }

  /** What each tool, model, agent, gate or person did in the runs that a query finds. */
  uses(query: string, kind: UseKind, nowMs?: number): UseSums {
    return finish(this.summingUses(query, kind, nowMs))
  }

  *summingUses(query: string, kind: UseKind, nowMs: number = Date.now()): InTurns<UseSums> {
    const { found, indexing } = yield* this.#ready(query, nowMs)
    return { ...(yield* this.#reader.uses(query, found, kind)), indexing }
  }

  /** The runs of a query against those of another. */
  diffSets(a: string, b: string, nowMs?: number): SetDiff {
    return finish(this.diffingSets(a, b, nowMs))
  }

  *diffingSets(queryA: string, queryB: string, nowMs: number = Date.now()): InTurns<SetDiff> {
    const sets: RunSet[] = []
    let indexing = 0
    const untilMs = this.#untilMs()
    for (const query of [queryA, queryB]) {
      const ready = yield* this.#ready(query, nowMs, sets.length > 0 ? untilMs : untilMs - this.#answerMs / 2)
      indexing = Math.max(indexing, ready.indexing)
      const set = new RunSet()
      yield* this.#reader.figures(query, ready.found, (runs) => set.add(runs))
      sets.push(set)
    }
    const [a, b] = sets as [RunSet, RunSet]
    yield
    return {
      a: { runs: a.runs, ended: a.ended },
      b: { runs: b.runs, ended: b.ended },
      measures: measuresOf(a, b),
      indexing,
      problems: [...new Set([queryA, queryB].flatMap((query) => parseFilter(query).problems))],
    }
  }

  *listing(query: string, page: Page, nowMs: number = Date.now()): InTurns<RunList> {
    const untilMs = this.#untilMs()
    const { areSummed, indexing, found } = yield* this.#ready(query, nowMs, untilMs)
    const { runs, total, problems, words } = yield* this.#reader.listRuns(query, page, found)
    // Where nothing can be kept, or so much came, what is in sight is summed all the same.
    if (!areSummed) yield* this.#sumInSight(runs, nowMs, untilMs)
    return { runs, total, indexing, problems, words }
  }

  run(traceId: string, sinceSeq = 0, nowMs?: number): StoredRunSpans | undefined {
    return finish(this.reading(traceId, sinceSeq, nowMs))
  }

  *reading(traceId: string, sinceSeq = 0, nowMs: number = Date.now()): InTurns<StoredRun | undefined> {
    const run = this.#reader.findRun(traceId)
    if (!run) return undefined
    const { rows, seq, spans } = yield* this.#spans.rows(run, nowMs, sinceSeq)
    const summary = run.dirty ? yield* this.#summaries.of(run, nowMs) : this.#reader.summary(run)
    // It was removed meanwhile.
    if (!summary) return undefined
    const reader = this.#spans
    return {
      summary,
      rows,
      seq,
      open(spanId) {
        const stored = spans.get(spanId)
        return stored && reader.open(run.id, stored)
      },
      *records() {
        for (const stored of spans.ordered()) {
          const record = reader.open(run.id, stored)
          if (record) yield record
        }
      },
    }
  }

  /** Keeps what a person says of a run; `undefined` where there is no such run. */
  mark(traceId: string, marks: Marking): RunSummary | undefined {
    const run = this.#reader.findRun(traceId)
    if (!run) return undefined
    const { assignments, params } = marking(marks)
    if (assignments)
      this.#db.prepare(`UPDATE run SET ${assignments} WHERE id = :id`).run({ ...params, id: run.id })
    return this.#reader.summary(run)
  }

  hasRun(traceId: string): boolean {
    return this.#reader.findRun(traceId) !== undefined
  }

  /** The trace in which a tool call of this id waits for a person, as far as it was sent. */
  waitingTraceOf(callId: string): InTurns<string | undefined> {
    return this.#reader.waitingTraceOf(callId)
  }

  span(traceId: string, spanId: string): SpanRecord | undefined {
    return finish(this.openingSpan(traceId, spanId))
  }

  *openingSpan(traceId: string, spanId: string): InTurns<SpanRecord | undefined> {
    const run = this.#reader.findRun(traceId)
    const stored = run && (yield* this.#spans.spansOf(run.id)).get(spanId)
    return stored && this.#spans.open(run.id, stored)
  }

  /** Every whole span of a run, in order of start; empty for an unknown run. */
  *records(traceId: string): Generator<SpanRecord> {
    yield* finish(this.reading(traceId))?.records() ?? []
  }

  exportRun(traceId: string): OtlpTraces | undefined {
    return finish(this.exportingRun(traceId))
  }

  *exportingRun(traceId: string): InTurns<OtlpTraces | undefined> {
    const run = this.#reader.findRun(traceId)
    return run && (yield* exportingRun(this.#spans, run.id))
  }

  search(typed: string, limit: number, traceId?: string): SearchResult {
    return finish(this.searching(typed, limit, traceId))
  }

  *searching(
    typed: string,
    limit: number,
    traceId?: string,
    lookMs: number = this.#answerMs * LOOK_SHARE,
  ): InTurns<SearchResult> {
    // Summing notices which spans were replaced: their words are no longer found.
    yield* this.#ifStorable(this.#sum(Date.now(), this.#answerMs * (1 - LOOK_SHARE)))
    const run = traceId ? this.#reader.findRun(traceId) : undefined
    if (traceId && !run) return { hits: [], indexing: 0 }
    this.#searched(true)
    const { hits, unsearched } = yield* this.#reader.search(typed, limit, run, lookMs)
    this.#searched(unsearched > 0)
    return { hits, indexing: unsearched }
  }

  /** Where the words of a query are in each of these runs, by trace id; what is not indexed is not found. */
  *findingSnippets(query: string, traceIds: readonly string[]): InTurns<Record<string, Snippet>> {
    const runs = traceIds.flatMap((traceId) => this.#reader.findRun(traceId) ?? [])
    return yield* this.#reader.snippets(query, runs)
  }

  /** Somebody waits for a search, which looks through what is not indexed by itself: the index had better wait. */
  get isSearched(): boolean {
    return performance.now() < this.#searchedUntilMs
  }

  /** How many spans wait to be indexed. */
  get indexing(): number {
    return this.#index.remaining
  }

  removeRun(traceId: string): boolean {
    return finish(this.removingRun(traceId))
  }

  *removingRun(traceId: string): InTurns<boolean> {
    const run = this.#reader.findRun(traceId)
    if (run) yield* this.#retention.remove(run.id)
    return run !== undefined
  }

  /** Removes what is too old or too much; returns how many runs went. */
  sweep(nowMs?: number): number {
    return finish(this.sweeping(nowMs))
  }

  *sweeping(nowMs: number = Date.now()): InTurns<number> {
    this.#shareAgain()
    return yield* this.#retention.sweep(this.#limits, nowMs)
  }

  counts(): { runs: number; spans: number; bytes: number } {
    const one = (sql: string) =>
      Number(Object.values(this.#db.prepare(sql).get() as Record<string, number>)[0] ?? 0)
    return {
      runs: one('SELECT count(*) FROM run'),
      spans: this.#spanCount,
      bytes: one('PRAGMA page_count') * one('PRAGMA page_size'),
    }
  }

  /** Lets the store grow to so many pages and no further, as a full disk would. */
  limitPages(pages: number): void {
    this.#db.exec(`PRAGMA max_page_count = ${Math.trunc(pages)}`)
  }

  close(): void {
    this.#db.close()
  }

  #shareAgain(): void {
    if (this.#isAlone) this.#isAlone = !shareDatabase(this.#db, this.file)
  }

  *#sum(nowMs: number, budgetMs: number): InTurns<boolean> {
    try {
      return yield* this.#summaries.work(nowMs, budgetMs)
    } catch (error) {
      // What was superseded is noticed again, since none of it was removed.
      this.#spans.forget()
      throw error
    }
  }

  /** Sums what a query may find, as far as time allows, and finds what its words are in. */
  *#ready(
    query: string,
    nowMs: number,
    untilMs: number = this.#untilMs(),
  ): InTurns<{ areSummed: boolean; indexing: number; found: FoundByWords | undefined }> {
    const budgetMs = Math.max(0, untilMs - performance.now())
    const areSummed = (yield* this.#ifStorable(this.#sum(nowMs, budgetMs * SUM_SHARE))) === false
    const hasWords = wordQuery(parseFilter(query).text) !== undefined
    if (hasWords) this.#searched(true)
    const lookMs = Math.max(0, Math.min(budgetMs * LOOK_SHARE, untilMs - performance.now()))
    const found = yield* this.#reader.withWords(query, lookMs)
    if (hasWords) this.#searched(found !== undefined && found.unsearched > 0)
    return { areSummed, indexing: found?.unsearched ?? 0, found }
  }

  *#sumInSight(runs: RunSummary[], nowMs: number, untilMs: number): InTurns<void> {
    let summed = 0
    for (const [index, { traceId }] of runs.entries()) {
      const run: RunKey | undefined = this.#reader.findRun(traceId)
      if (!run?.dirty) continue
      if (summed++ < SUMMED_AT_LEAST || performance.now() < untilMs)
        runs[index] = yield* this.#summaries.of(run, nowMs)
      else if (this.#shownBehind.size < MOST_BEHIND) this.#shownBehind.add(traceId)
    }
  }

  #untilMs(): number {
    return performance.now() + this.#answerMs
  }

  #searched(hasMore: boolean): void {
    this.#searchedUntilMs = hasMore ? performance.now() + ASKED_AGAIN_MS : 0
  }

  /** `undefined` where nothing can be stored: who only looks is answered from what is. */
  *#ifStorable<T>(work: InTurns<T>): InTurns<T | undefined> {
    try {
      return yield* work
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ERR_SQLITE_ERROR') throw error
      return undefined
    }
  }
}
