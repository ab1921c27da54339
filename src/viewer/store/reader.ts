/** Finds runs and spans. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { InTurns } from '../model/in-turns.ts'
import { NEWEST_FIRST } from '../model/query-keys.ts'
import type { RunNumbers } from '../model/run-numbers.ts'
import type { UseKind, UseSums } from '../model/run-uses.ts'
import type { Snippet } from '../model/snippet.ts'
import type { RunSummary, SpanCategory } from '../model/span.ts'
import { joined, orderOf, parseFilter } from './filter.ts'
import { FoundRuns, type RunSlice } from './found-runs.ts'
import type { KeptSums } from './kept-sums.ts'
import { type RunFigures, SELECTED_COLUMNS, SELECTED_FIGURES, summaryOf } from './run-columns.ts'
import { RunCounter } from './run-numbers.ts'
import { RunUses, type SummingUses, usesInOrder } from './run-uses.ts'
import { IS_OPEN } from './schema.ts'
import { Snippets } from './snippets.ts'
import type { SpanReader } from './span-reader.ts'
import type { WordSearch } from './word-search.ts'
import { wordQuery } from './words.ts'

/** Runs with the words of a query. */
const MANY_FOUND = 10_000

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

export interface FoundByWords {
  runs: number[]
  /** Spans that may have the words, and were not looked through. */
  unsearched: number
}

/** Of a list, so many are read in some milliseconds. */
const ROWS_AT_ONCE = 512

export class Reader {
  readonly #db: DatabaseSync
  readonly #spans: SpanReader
  readonly #runs: FoundRuns
  readonly #uses: RunUses
  readonly #kept: KeptSums
  readonly #pending: StatementSync
  readonly #search: WordSearch
  readonly #snippets: Snippets
  readonly #findRun: StatementSync
  readonly #waiting: StatementSync
  readonly #traceId: StatementSync
  readonly #resum: StatementSync
  readonly #rows: StatementSync

  constructor(db: DatabaseSync, spans: SpanReader, search: WordSearch, kept: KeptSums) {
    this.#db = db
    this.#kept = kept
    this.#spans = spans
    this.#search = search
    this.#runs = new FoundRuns(db)
    this.#uses = new RunUses(db)
    this.#snippets = new Snippets(spans, search)
    this.#pending = db.prepare('SELECT count(*) AS runs FROM run WHERE dirty = 1')
    this.#findRun = db.prepare(
      'SELECT id, trace_id, received_ms, dirty FROM run WHERE trace_id >= ? AND trace_id < ? LIMIT 2',
    )
    this.#waiting = db.prepare(
      `SELECT id, trace_id FROM run WHERE ${IS_OPEN} AND status = 'waiting' ORDER BY id DESC`,
    )
    this.#resum = db.prepare('UPDATE run SET dirty = 1 WHERE trace_id = ?')
    this.#traceId = db.prepare('SELECT trace_id FROM run WHERE id = ?')
    this.#rows = db.prepare(
      `SELECT ${SELECTED_COLUMNS} FROM (SELECT key AS place, value AS shown FROM json_each(?))
         CROSS JOIN run ON run.id = shown ORDER BY place`,
    )
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

  *waitingTraces(callIds: ReadonlySet<string>): InTurns<Map<string, string>> {
    const found = new Map<string, string>()
    for (const run of this.#waiting.all() as { id: number; trace_id: string }[]) {
      if (found.size === callIds.size) break
      const spans = yield* this.#spans.spansOf(run.id)
      for (const { row } of spans.ordered())
        if (callIds.has(row.callId) && !found.has(row.callId)) found.set(row.callId, run.trace_id)
    }
    return found
  }

  /** What the words of a query find; `undefined` for a query without words. */
  *withWords(query: string, lookMs: number): InTurns<FoundByWords | undefined> {
    const words = wordQuery(parseFilter(query).text)
    return words && (yield* this.#search.runs(words, lookMs))
  }

  /** `found`: what the words of the query find, where it has any. */
  *listRuns(query: string, page: Page, found: FoundByWords | undefined): InTurns<Omit<RunList, 'indexing'>> {
    const { condition, params, problems, words } = this.#condition(query, found)
    const total = this.#db.prepare(`SELECT count(*) AS count FROM run ${condition}`).get(...params) as {
      count: number
    }
    // Of a hundred thousand runs either takes longer than a turn.
    yield
    const order = orderOf(page.sort ?? NEWEST_FIRST)
    // Which ones is told by an index mostly; whole rows are read only of those.
    const shown = this.#db
      .prepare(`SELECT id FROM run ${condition} ORDER BY ${order} LIMIT ? OFFSET ?`)
      .all(...params, page.limit, page.offset) as { id: number }[]
    const runs = yield* this.#summariesOf(shown.map(({ id }) => id))
    return { runs, total: total.count, problems, words }
  }

  /** In the order of `ids`, without those that were removed meanwhile. */
  *#summariesOf(ids: readonly number[]): InTurns<RunSummary[]> {
    const runs: RunSummary[] = []
    for (let from = 0; from < ids.length; from += ROWS_AT_ONCE) {
      if (from > 0) yield
      const rows = this.#rows.all(JSON.stringify(ids.slice(from, from + ROWS_AT_ONCE)))
      for (const row of rows) runs.push(summaryOf(row))
    }
    return runs
  }

  /** Of all runs that a query finds. */
  *numbers(query: string, found: FoundByWords | undefined): InTurns<RunNumbers> {
    if (isOfAll(query)) return yield* (yield* this.#kept.numbers()).numbers()
    const counter = new RunCounter()
    yield* this.figures(query, found, (runs) => counter.add(runs))
    return yield* counter.numbers()
  }

  /** Has `read` read what is summed over all runs that a query finds, some at a time. */
  *figures(
    query: string,
    found: FoundByWords | undefined,
    read: (runs: RunFigures[]) => void,
  ): InTurns<void> {
    yield* this.#found(query, found, ({ condition, params }) => {
      const runs = this.#db.prepare(`SELECT ${SELECTED_FIGURES} FROM run WHERE ${condition}`).all(...params)
      read(runs as unknown as RunFigures[])
    })
  }

  /** Of one kind, over all runs that a query finds. */
  *uses(query: string, found: FoundByWords | undefined, kind: UseKind): InTurns<Omit<UseSums, 'indexing'>> {
    const areKept = isOfAll(query)
    let sums: SummingUses = new Map()
    if (areKept) sums = yield* this.#kept.uses(kind)
    else yield* this.#found(query, found, (slice) => this.#uses.addTo(sums, kind, slice))
    const { runs: pending } = this.#pending.get() as { runs: number }
    return { kind, ...(yield* usesInOrder(sums, areKept)), pending }
  }

  *#found(query: string, found: FoundByWords | undefined, read: (slice: RunSlice) => void): InTurns<void> {
    const { where, params } = parseFilter(query)
    yield* this.#runs.inTurns({ where, params, ids: found?.runs }, read)
  }

  #condition(
    query: string,
    found: FoundByWords | undefined,
  ): {
    condition: string
    params: (string | number)[]
    problems: string[]
    words: string
  } {
    const { where, params, text, problems } = parseFilter(query)
    if (found) {
      // Few are looked up and put in order. Of many the first are there sooner by going through all in order: `+` has it so.
      const id = found.runs.length < MANY_FOUND ? 'id' : '+id'
      where.push(`${id} IN (SELECT value FROM json_each(?))`)
      params.push(JSON.stringify(found.runs))
    }
    const condition = where.length > 0 ? `WHERE ${joined(where, 'AND')}` : ''
    return { condition, params, problems, words: found ? text : '' }
  }

  summary(run: RunKey): RunSummary | undefined {
    const row = this.#db.prepare(`SELECT ${SELECTED_COLUMNS} FROM run WHERE id = ?`).get(run.id)
    return row && summaryOf(row)
  }

  /** Spans that hold every word of what was typed, newest first; in one run when `run` is given. */
  *search(
    typed: string,
    limit: number,
    run: RunKey | undefined,
    lookMs: number,
  ): InTurns<{ hits: SearchHit[]; unsearched: number }> {
    const query = wordQuery(typed)
    if (!query) return { hits: [], unsearched: 0 }
    const { spans, logs, unsearched } = yield* this.#search.spans(query, limit, run?.id, lookMs)
    const hits = new Map<string, SearchHit>()
    const add = (run: number, { spanId, name, category, startUs }: Omit<SearchHit, 'traceId'>) =>
      hits.set(`${run} ${spanId}`, { traceId: this.#traceIdOf(run), spanId, name, category, startUs })
    for (const { run, chunk, index } of spans) {
      yield
      const facts = this.#spans.chunk(chunk)?.facts(index)
      if (facts) add(run, { ...facts, category: facts.digest.category })
    }
    for (const { run, spanId } of logs) {
      if (hits.has(`${run} ${spanId}`)) continue
      const span = (yield* this.#spans.spansOf(run)).get(spanId)
      if (span) add(run, span.row)
    }
    return { hits: [...hits.values()].slice(0, limit), unsearched }
  }

  /** By trace id; of those runs in which the words of a query are found in a span. */
  *snippets(query: string, runs: readonly RunKey[]): InTurns<Record<string, Snippet>> {
    const words = wordQuery(parseFilter(query).text)
    const found: Record<string, Snippet> = {}
    if (!words) return found
    for (const run of runs) {
      const snippet = yield* this.#snippets.of(run.id, words)
      if (snippet) found[run.traceId] = snippet
    }
    return found
  }

  #traceIdOf(run: number): string {
    return (this.#traceId.get(run) as { trace_id: string } | undefined)?.trace_id ?? ''
  }
}

/** Whether every run there is fulfils it. */
function isOfAll(query: string): boolean {
  const { where, text } = parseFilter(query)
  return where.length === 0 && wordQuery(text) === undefined
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
