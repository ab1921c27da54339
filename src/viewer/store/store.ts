/** The viewer's store: one SQLite database, written as spans arrive, summed and indexed in idle moments. */
import { resolve } from 'node:path'
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { OtlpTraces } from '../../internal/otlp/types.ts'
import { whileThere } from '../../internal/while-there.ts'
import { finish, type InTurns } from '../model/in-turns.ts'
import type { RunNumbers } from '../model/run-numbers.ts'
import type { UseKind, UseSums } from '../model/run-uses.ts'
import type { SetDiff } from '../model/set-diff.ts'
import type { Snippet } from '../model/snippet.ts'
import type { AskedInRun, Marking, RunSummary, SpanCategory, SpanRecord } from '../model/span.ts'
import type { IncomingLog, IncomingSpans } from '../otlp/incoming.ts'
import { Answers, type SearchResult } from './answers.ts'
import { summingArrived } from './arrivals.ts'
import { exportingRun } from './export.ts'
import { KeptSums } from './kept-sums.ts'
import { BUSY_MS, cannotOpen, cannotWriteNow, openDatabase, shareDatabase } from './open-database.ts'
import { type Page, Reader, type RunList } from './reader.ts'
import { Retention, type RetentionOptions } from './retention.ts'
import { marking } from './run-columns.ts'
import { RunUses } from './run-uses.ts'
import { IS_OPEN } from './schema.ts'
import { SpanReader } from './span-reader.ts'
import { readingRun, type StoredRun, type StoredRunSpans } from './stored-run.ts'
import { Summaries } from './summaries.ts'
import { TextIndex } from './text-index.ts'
import { WordSearch } from './word-search.ts'
import { Writer } from './writer.ts'

export interface StoreOptions extends RetentionOptions {
  /** A file, or `:memory:`. */
  file: string
  /** How long an answer may take for what is made while one waits; who waits for nobody else may wait longer. @default 250 */
  answerMs?: number
  /** A file of another version is refused, not set aside. @default false */
  onlyReads?: boolean
  /** So many chunks and logs fill a segment of the text index. @default 10_000 */
  segmentDocuments?: number
}

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
  readonly #kept: KeptSums
  readonly #summaries: Summaries
  readonly #retention: Retention
  readonly #limits: RetentionOptions
  readonly #answers: Answers
  readonly #version: StatementSync
  #seenVersion: number
  #asked: ReadonlyMap<string, AskedInRun> = new Map()
  /** Opened without room: others cannot open the file. */
  #isAlone: boolean

  constructor(options: StoreOptions) {
    // Looked for again later, wherever the process is then.
    this.file = options.file === ':memory:' ? options.file : resolve(options.file)
    this.#limits = options
    const { db, setAside, isAlone } = openDatabase(options.file, options.onlyReads !== true)
    this.#isAlone = isAlone
    this.#db = db
    this.setAside = setAside
    try {
      const kept = new KeptSums(db, new RunUses(db))
      this.#kept = kept
      this.#writer = new Writer(db, whileThere(this.file, 'Stop this viewer and start it again'), (run) =>
        kept.changed(run),
      )
      this.#spans = new SpanReader(db)
      this.#index = new TextIndex(db, options.segmentDocuments)
      const search = new WordSearch(db, this.#spans, this.#index)
      this.#reader = new Reader(db, this.#spans, search, kept)
      const removals = {
        chunkRemoved: (id: number, spans: number) => {
          this.#index.removed(id, spans)
          search.forget()
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
      this.#answers = new Answers(
        this.#reader,
        this.#summaries,
        (nowMs, budgetMs) => this.#sum(nowMs, budgetMs),
        options.answerMs,
      )
      this.#retention = new Retention(db, removals)
      this.#version = db.prepare('PRAGMA data_version')
      this.#seenVersion = Number.NaN
      this.changedElsewhere()
      // Runs that were open when the viewer last stopped are looked at again.
      try {
        db.exec(`UPDATE run SET dirty = 1 WHERE ${IS_OPEN}`)
      } catch (error) {
        // Where nothing can be written they are shown as they stood.
        if (!cannotWriteNow(error)) throw error
      }
    } catch (error) {
      // Its first pages are a database's, and others are not.
      db.close()
      throw cannotOpen(options.file, error)
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
      for (const { count } of part) this.#index.added(count)
      yield
    }
    return changed
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
    if (!moreRuns && (yield* this.#kept.making(budgetMs / 2))) return true
    return (indexes && (yield* this.#index.work(budgetMs / 2))) || moreRuns
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

  counting(query: string, nowMs: number = Date.now()): InTurns<RunNumbers> {
    return this.#answers.counting(query, nowMs)
  }

  /** What each tool, model, agent, gate or person did in the runs that a query finds. */
  uses(query: string, kind: UseKind, nowMs?: number): UseSums {
    return finish(this.summingUses(query, kind, nowMs))
  }

  summingUses(query: string, kind: UseKind, nowMs: number = Date.now()): InTurns<UseSums> {
    return this.#answers.summingUses(query, kind, nowMs)
  }

  /** The runs of a query against those of another. */
  diffSets(a: string, b: string, nowMs?: number): SetDiff {
    return finish(this.diffingSets(a, b, nowMs))
  }

  diffingSets(a: string, b: string, nowMs: number = Date.now()): InTurns<SetDiff> {
    return this.#answers.diffingSets(a, b, nowMs)
  }

  listing(query: string, page: Page, nowMs: number = Date.now()): InTurns<RunList> {
    return this.#answers.listing(query, page, nowMs)
  }

  /** Whether another viewer has changed the file since this was last asked. */
  changedElsewhere(): boolean {
    const { data_version: version } = this.#version.get() as { data_version: number }
    const isChanged = version !== this.#seenVersion
    this.#seenVersion = version
    return isChanged
  }

  /** Runs that were shown as they stood before, and are summed by now: whoever sees them may ask again. Each is told once. */
  takeCaughtUp(): Set<string> {
    return this.#answers.takeCaughtUp()
  }

  run(traceId: string, sinceSeq = 0, nowMs?: number): StoredRunSpans | undefined {
    return finish(this.reading(traceId, sinceSeq, nowMs))
  }

  *reading(traceId: string, sinceSeq = 0, nowMs: number = Date.now()): InTurns<StoredRun | undefined> {
    const run = this.#reader.findRun(traceId)
    return (
      run &&
      (yield* readingRun(
        { reader: this.#reader, spans: this.#spans, summaries: this.#summaries },
        run,
        sinceSeq,
        nowMs,
      ))
    )
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

  /** By call id, the trace in which that tool call waits for a person, as far as it was sent. */
  waitingTraces(callIds: ReadonlySet<string>): InTurns<Map<string, string>> {
    return this.#reader.waitingTraces(callIds)
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

  /** How much a run is, unpacked: of one category of spans or all, counted no further than past `most`; 0 for an unknown run. */
  *sizing(traceId: string, category: SpanCategory | undefined, most: number): InTurns<number> {
    const run = this.#reader.findRun(traceId)
    return run ? yield* this.#spans.size(yield* this.#spans.spansOf(run.id), category, most) : 0
  }

  *exportingRun(traceId: string): InTurns<OtlpTraces | undefined> {
    const run = this.#reader.findRun(traceId)
    return run && (yield* exportingRun(this.#spans, run.id))
  }

  search(typed: string, limit: number, traceId?: string): SearchResult {
    return finish(this.searching(typed, limit, traceId))
  }

  searching(typed: string, limit: number, traceId?: string, lookMs?: number): InTurns<SearchResult> {
    return this.#answers.searching(typed, limit, traceId, lookMs)
  }

  /** Where the words of a query are in each of these runs, by trace id; what is not indexed is not found. */
  findingSnippets(query: string, traceIds: readonly string[]): InTurns<Record<string, Snippet>> {
    return this.#answers.findingSnippets(query, traceIds)
  }

  /** Somebody waits for a search, which looks through what is not indexed by itself: the index had better wait. */
  get isSearched(): boolean {
    return this.#answers.isSearched
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

  /** Spans that were replaced count until they are gone. */
  counts(): { runs: number; spans: number; bytes: number } {
    const one = (sql: string) =>
      Number(Object.values(this.#db.prepare(sql).get() as Record<string, number>)[0] ?? 0)
    return {
      runs: one('SELECT count(*) FROM run'),
      spans: one("SELECT value FROM meta WHERE key = 'spans'"),
      bytes: one('PRAGMA page_count') * one('PRAGMA page_size'),
    }
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
}
