/** Finds runs and spans. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { InTurns } from '../model/in-turns.ts'
import { NEWEST_FIRST } from '../model/query-keys.ts'
import type { RunNumbers } from '../model/run-numbers.ts'
import type { UseKind, UseSums } from '../model/run-uses.ts'
import type { Snippet } from '../model/snippet.ts'
import type { RunSummary, SpanCategory } from '../model/span.ts'
import { MAX_CHUNK_SPANS } from '../otlp/incoming.ts'
import { placeOf } from './chunk.ts'
import { orderOf, parseFilter } from './filter.ts'
import { FoundRuns, type RunSlice } from './found-runs.ts'
import { type RunFigures, SELECTED_COLUMNS, SELECTED_FIGURES, summaryOf } from './run-columns.ts'
import { RunCounter } from './run-numbers.ts'
import { RunUses, type SummingUses, usesInOrder } from './run-uses.ts'
import { Snippets } from './snippets.ts'
import type { SpanReader } from './span-reader.ts'
import { TypedWords } from './typed-words.ts'

export interface RunKey {
  id: number
  traceId: string
  receivedMs: number
  /** Spans came since the run was last summarised. */
  dirty: boolean
}

export interface Page {
  limit: number
  offset: number
  /** A key of `SORT_KEYS`, `-` before it for the greatest first. @default '-started' */
  sort?: string
}

export interface RunList {
  runs: RunSummary[]
  total: number
  /** When words were searched for: spans that were not, as they are still being indexed. */
  indexing: number
  /** What of the query was not understood, and so searched for as words: a sentence each. */
  problems: string[]
  /** What of the query is searched for in the spans. */
  words: string
}

export interface SearchHit {
  traceId: string
  spanId: string
  name: string
  category: SpanCategory
  startUs: number
}

/** Runs with a span, or a log of a span, in which every word occurs. */
const RUNS_WITH_WORDS = `
  SELECT run FROM chunk WHERE id IN (SELECT rowid / ${MAX_CHUNK_SPANS} FROM text WHERE text MATCH ? AND rowid > 0)
  UNION SELECT run FROM log WHERE id IN (SELECT -rowid FROM text WHERE text MATCH ? AND rowid < 0)`

export class Reader {
  readonly #db: DatabaseSync
  readonly #spans: SpanReader
  readonly #typed: TypedWords
  readonly #runs: FoundRuns
  readonly #uses: RunUses
  readonly #pending: StatementSync
  readonly #snippets: Snippets
  readonly #withWords: StatementSync
  readonly #findRun: StatementSync
  readonly #waiting: StatementSync
  readonly #traceId: StatementSync
  readonly #resum: StatementSync

  constructor(db: DatabaseSync, spans: SpanReader) {
    this.#db = db
    this.#spans = spans
    this.#typed = new TypedWords(db)
    this.#runs = new FoundRuns(db)
    this.#uses = new RunUses(db)
    this.#snippets = new Snippets(db, spans)
    this.#pending = db.prepare('SELECT count(*) AS runs FROM run WHERE dirty = 1')
    this.#withWords = db.prepare(RUNS_WITH_WORDS)
    this.#findRun = db.prepare(
      'SELECT id, trace_id, received_ms, dirty FROM run WHERE trace_id >= ? AND trace_id < ? LIMIT 2',
    )
    this.#waiting = db.prepare("SELECT id, trace_id FROM run WHERE status = 'waiting' ORDER BY id DESC")
    this.#resum = db.prepare('UPDATE run SET dirty = 1 WHERE trace_id = ?')
    this.#traceId = db.prepare('SELECT trace_id FROM run WHERE id = ?')
  }

  /** By the whole trace id or the unambiguous beginning of one. */
  findRun(traceId: string): RunKey | undefined {
    const prefix = traceId.toLowerCase()
    if (!/^[0-9a-f]{4,32}$/.test(prefix)) return undefined
    const found = this.#findRun.all(prefix, `${prefix}g`) as unknown as StoredKey[]
    return found.length === 1 ? runKey(found[0]!) : undefined
  }

  /** Has the runs summed again before they are shown. */
  resum(traceIds: readonly string[]): void {
    for (const traceId of traceIds) this.#resum.run(traceId)
  }

  *waitingTraceOf(callId: string): InTurns<string | undefined> {
    for (const run of this.#waiting.all() as { id: number; trace_id: string }[]) {
      const spans = yield* this.#spans.spansOf(run.id)
      if (spans.ordered().some((span) => span.row.callId === callId)) return run.trace_id
    }
    return undefined
  }

  /** What was typed, as the index cuts it into words. */
  words(typed: string): string[] {
    return this.#typed.words(typed)
  }

  listRuns(query: string, page: Page): Omit<RunList, 'indexing'> {
    const { condition, params, problems, words } = this.#condition(query)
    const total = this.#db.prepare(`SELECT count(*) AS count FROM run ${condition}`).get(...params) as {
      count: number
    }
    const order = orderOf(page.sort ?? NEWEST_FIRST)
    const rows = this.#db
      .prepare(`SELECT ${SELECTED_COLUMNS} FROM run ${condition} ORDER BY ${order} LIMIT ? OFFSET ?`)
      .all(...params, page.limit, page.offset)
    return { runs: rows.map(summaryOf), total: total.count, problems, words }
  }

  /** Of all runs that a query finds. */
  *numbers(query: string): InTurns<RunNumbers> {
    const counter = new RunCounter()
    yield* this.figures(query, (runs) => counter.add(runs))
    return yield* counter.numbers()
  }

  /** Has `read` read what is summed over all runs that a query finds, some at a time. */
  *figures(query: string, read: (runs: RunFigures[]) => void): InTurns<void> {
    yield* this.#found(query, ({ condition, params }) => {
      const runs = this.#db.prepare(`SELECT ${SELECTED_FIGURES} FROM run WHERE ${condition}`).all(...params)
      read(runs as unknown as RunFigures[])
    })
  }

  /** Of one kind, over all runs that a query finds. */
  *uses(query: string, kind: UseKind): InTurns<Omit<UseSums, 'indexing'>> {
    const sums: SummingUses = new Map()
    yield* this.#found(query, (slice) => this.#uses.addTo(sums, kind, slice))
    const { runs: pending } = this.#pending.get() as { runs: number }
    return { kind, ...(yield* usesInOrder(sums)), pending }
  }

  *#found(query: string, read: (slice: RunSlice) => void): InTurns<void> {
    const { where, params, text } = parseFilter(query)
    const match = this.#typed.query(text)
    const found = match ? (this.#withWords.all(match, match) as { run: number }[]) : undefined
    yield* this.#runs.inTurns({ where, params, ids: found?.map(({ run }) => run) }, read)
  }

  #condition(query: string): {
    condition: string
    params: (string | number)[]
    problems: string[]
    words: string
  } {
    const { where, params, text, problems } = parseFilter(query)
    const match = this.#typed.query(text)
    if (match) {
      where.push(`id IN (${RUNS_WITH_WORDS})`)
      params.push(match, match)
    }
    const condition = where.length > 0 ? `WHERE ${where.join(' AND ')}` : ''
    return { condition, params, problems, words: match ? text : '' }
  }

  summary(run: RunKey): RunSummary | undefined {
    const row = this.#db.prepare(`SELECT ${SELECTED_COLUMNS} FROM run WHERE id = ?`).get(run.id)
    return row && summaryOf(row)
  }

  /** Spans that hold every word of what was typed, newest first; in one run when `run` is given. */
  *search(typed: string, limit: number, run?: RunKey): InTurns<SearchHit[]> {
    const match = this.#typed.query(typed)
    if (!match) return []
    const inRun = run ? 'AND run = ?' : ''
    const params = run ? [match, run.id, limit] : [match, limit]
    const spans = this.#db
      .prepare(
        `SELECT text.rowid AS document, run FROM text JOIN chunk ON chunk.id = text.rowid / ${MAX_CHUNK_SPANS}
         WHERE text MATCH ? AND text.rowid > 0 ${inRun} ORDER BY text.rowid DESC LIMIT ?`,
      )
      .all(...params) as { document: number; run: number }[]
    const logs = this.#db
      .prepare(
        `SELECT span_id AS spanId, run FROM text JOIN log ON log.id = -text.rowid
         WHERE text MATCH ? AND text.rowid < 0 ${inRun} ORDER BY text.rowid LIMIT ?`,
      )
      .all(...params) as { spanId: string; run: number }[]
    const hits = new Map<string, SearchHit>()
    const add = (run: number, { spanId, name, category, startUs }: Omit<SearchHit, 'traceId'>) =>
      hits.set(`${run} ${spanId}`, { traceId: this.#traceIdOf(run), spanId, name, category, startUs })
    for (const { document, run } of spans) {
      yield
      const { chunk, index } = placeOf(document)
      const facts = this.#spans.chunk(chunk)?.facts(index)
      if (facts) add(run, { ...facts, category: facts.digest.category })
    }
    for (const { run, spanId } of logs) {
      if (hits.has(`${run} ${spanId}`)) continue
      const span = (yield* this.#spans.spansOf(run)).get(spanId)
      if (span) add(run, span.row)
    }
    return [...hits.values()].slice(0, limit)
  }

  /** By trace id; of those runs in which the words of a query are found in a span. */
  *snippets(query: string, runs: readonly RunKey[]): InTurns<Record<string, Snippet>> {
    const searched = this.#typed.searched(parseFilter(query).text)
    const found: Record<string, Snippet> = {}
    if (!searched) return found
    for (const run of runs) {
      const snippet = yield* this.#snippets.of(run.id, searched)
      if (snippet) found[run.traceId] = snippet
    }
    return found
  }

  #traceIdOf(run: number): string {
    return (this.#traceId.get(run) as { trace_id: string } | undefined)?.trace_id ?? ''
  }
}

export interface StoredKey {
  id: number
  trace_id: string
  received_ms: number
  dirty: number
}

export function runKey(row: StoredKey): RunKey {
  return { id: row.id, traceId: row.trace_id, receivedMs: row.received_ms, dirty: row.dirty === 1 }
}
