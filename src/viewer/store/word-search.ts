/** What the words of a query find: runs, and spans. The index tells where to look, the spans themselves whether it is so. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { append } from '../../internal/append.ts'
import type { OtlpLogRecord } from '../../internal/otlp/types.ts'
import type { InTurns } from '../model/in-turns.ts'
import { documentOf, unless } from './chunk.ts'
import { logText } from './searchable-text.ts'
import type { SpanReader } from './span-reader.ts'
import type { TextIndex } from './text-index.ts'
import type { WordDocument } from './word-builder.ts'
import { WordMatch } from './word-match.ts'
import type { IndexMark } from './word-segments.ts'
import type { WordQuery } from './words.ts'

/** Of the time there is, so much is kept for what the index found. */
const FOUND_SHARE = 0.25
/** So many of the newest are looked through all the same: on a busy machine all time may be gone before the first. */
const LOOKED_AT_LEAST = 4
/** Queries of which it is remembered what was looked through: who asks again goes on. */
const KEPT_QUERIES = 8
/** More are not looked up one by one. */
const FEW = 1000

export interface FoundSpan {
  run: number
  chunk: number
  index: number
}

export interface FoundLog {
  run: number
  spanId: string
}

/** What of the documents was looked through for a query. */
interface Looked {
  readonly isIn: Map<number, boolean>
  /** Of chunks, which spans match, the last first. */
  readonly places: Map<number, number[]>
}

const KNOWN = 0
const ENOUGH = 1
const NO_TIME = 2

/** One search, within its time. */
class Turn {
  readonly match: WordMatch
  readonly looked: Looked
  /** How far the index had come when it began, and how many spans there were after that. */
  readonly mark: IndexMark
  readonly waiting: number
  readonly #endMs: number
  #untilMs: number
  #looks = 0
  #told = 0

  constructor(match: WordMatch, looked: Looked, mark: IndexMark, waiting: number, lookMs: number) {
    this.match = match
    this.looked = looked
    this.mark = mark
    this.waiting = waiting
    this.#endMs = performance.now() + lookMs
    this.#untilMs = this.#endMs - lookMs * FOUND_SHARE
  }

  mayLook(): boolean {
    if (this.#looks >= LOOKED_AT_LEAST && performance.now() > this.#untilMs) return false
    this.#looks++
    return true
  }

  /** Since it was last asked. */
  get hasLooked(): boolean {
    const before = this.#told
    this.#told = this.#looks
    return this.#looks > before
  }

  /** With what was found by the index. */
  goOn(): void {
    this.#looks = 0
    this.#untilMs = this.#endMs
  }
}

export class WordSearch {
  readonly #db: DatabaseSync
  readonly #spans: SpanReader
  readonly #index: TextIndex
  readonly #superseded: StatementSync
  readonly #log: StatementSync
  readonly #chunksOf: StatementSync
  readonly #logsOf: StatementSync
  readonly #gone: StatementSync
  readonly #looked = new Map<string, Looked>()

  constructor(db: DatabaseSync, spans: SpanReader, index: TextIndex) {
    this.#db = db
    this.#spans = spans
    this.#index = index
    this.#superseded = db.prepare('SELECT id FROM superseded WHERE id BETWEEN ? AND ?')
    this.#gone = db.prepare('SELECT 1 FROM gone WHERE id = ?')
    this.#log = db.prepare('SELECT run, span_id AS spanId, payload FROM log WHERE id = ?')
    this.#chunksOf = db.prepare('SELECT id, run, spans FROM chunk WHERE run = ? ORDER BY id')
    this.#logsOf = db.prepare('SELECT -id AS id, run, 0 AS spans FROM log WHERE run = ? ORDER BY id DESC')
  }

  /** To be called when spans were replaced or removed: what was looked through may be another now. */
  forget(): void {
    this.#looked.clear()
  }

  /** Runs with a span, or a log of a span, that holds every word; and how many spans could not be looked through. */
  *runs(query: WordQuery, lookMs: number): InTurns<{ runs: number[]; unsearched: number }> {
    const turn = this.#turn(query, lookMs)
    const documents = yield* this.#index.find(query)
    const runs = new Set<number>()
    const rest: WordDocument[] = []
    if (query.bytes.length > 1) append(rest, documents)
    else {
      // One word: where it is in the chunk, it is in a span of it.
      const gone = this.#among('gone', documents)
      const worn = this.#among('worn', documents)
      for (const document of documents) {
        if (worn.has(document.id)) rest.push(document)
        else if (!gone.has(document.id)) runs.add(document.run)
      }
    }
    const { looked, match } = turn
    const unsearched = yield* this.#through(turn, rest, true, ({ id, run }) => {
      if (runs.has(run)) return KNOWN
      let isIn = looked.isIn.get(id)
      if (isIn === undefined) {
        if (!turn.mayLook()) return NO_TIME
        isIn = id > 0 ? !this.#placesIn(id, match).next().done : this.#logWith(id, match) !== undefined
        looked.isIn.set(id, isIn)
      }
      if (isIn) runs.add(run)
      return KNOWN
    })
    return { runs: [...runs], unsearched }
  }

  /** Spans and logs that hold every word, the newest first; in one run when `run` is given. */
  *spans(
    query: WordQuery,
    limit: number,
    run: number | undefined,
    lookMs: number,
  ): InTurns<{ spans: FoundSpan[]; logs: FoundLog[]; unsearched: number }> {
    const turn = this.#turn(query, lookMs)
    const documents = run === undefined ? yield* this.#index.find(query) : this.#documentsOf(run)
    const { looked, match } = turn
    const spans: FoundSpan[] = []
    const logs: FoundLog[] = []
    const unsearched = yield* this.#through(turn, documents, run === undefined, ({ id, run }) => {
      if (id > 0 ? spans.length >= limit : logs.length >= limit) return ENOUGH
      if (looked.isIn.get(id) === false) return KNOWN
      let places = looked.places.get(id)
      if (!places && !turn.mayLook()) return NO_TIME
      if (id > 0) {
        places ??= [...this.#placesIn(id, match)].reverse()
        looked.isIn.set(id, places.length > 0)
        if (places.length > 0) looked.places.set(id, places)
        for (const index of places) spans.push({ run, chunk: id, index })
      } else {
        const log = this.#logWith(id, match)
        looked.isIn.set(id, log !== undefined)
        if (log) logs.push(log)
      }
      return KNOWN
    })
    spans.sort((a, b) => b.chunk - a.chunk || b.index - a.index)
    return { spans: spans.slice(0, limit), logs, unsearched }
  }

  /** The first spans of a run that hold every word, `most` of them. */
  *firstIn(run: number, query: WordQuery, most: number): InTurns<FoundSpan[]> {
    const match = new WordMatch(query)
    const found: FoundSpan[] = []
    for (const { id } of this.#chunksOf.all(run) as unknown as WordDocument[]) {
      yield
      for (const index of this.#placesIn(id, match)) {
        found.push({ run, chunk: id, index })
        if (found.length === most) return found
      }
    }
    return found
  }

  /** Has `look` look at what is not indexed, which is newer, and then at `documents`; gives how many spans it left out. */
  *#through(
    turn: Turn,
    documents: WordDocument[],
    isEverywhere: boolean,
    look: (document: WordDocument) => typeof KNOWN | typeof ENOUGH | typeof NO_TIME,
  ): InTurns<number> {
    let left = 0
    let waiting = turn.waiting
    for (const some of isEverywhere ? this.#index.unindexed(turn.mark) : []) {
      for (const document of some) {
        const seen = look(document)
        if (seen === NO_TIME) left = Math.max(1, waiting)
        if (seen !== KNOWN) break
        waiting -= document.spans
        if (turn.hasLooked) yield
      }
    }
    turn.goOn()
    for (const document of documents.sort(newestFirst)) {
      if (look(document) === NO_TIME) left += Math.max(1, document.spans)
      if (turn.hasLooked) yield
    }
    return left
  }

  #turn(query: WordQuery, lookMs: number): Turn {
    const mark = this.#index.mark()
    return new Turn(new WordMatch(query), this.#lookedFor(query), mark, this.#index.remaining, lookMs)
  }

  /** Of a chunk, which spans match. None of one that is gone. */
  *#placesIn(id: number, match: WordMatch): Generator<number> {
    const chunk = this.#gone.get(id) ? undefined : this.#spans.chunk(id)
    if (!chunk) return
    if (!match.mayBeIn(chunk)) return
    let superseded: Set<number> | undefined
    for (let index = 0; index < chunk.length; index++) {
      if (!match.isIn(chunk, index)) continue
      superseded ??= this.#supersededIn(id, chunk.length)
      if (!superseded.has(documentOf(id, index))) yield index
    }
  }

  #supersededIn(chunk: number, spans: number): Set<number> {
    const rows = this.#superseded.all(documentOf(chunk, 0), documentOf(chunk, spans - 1)) as { id: number }[]
    return new Set(rows.map(({ id }) => id))
  }

  #logWith(id: number, match: WordMatch): FoundLog | undefined {
    const stored = this.#log.get(-id) as (FoundLog & { payload: string }) | undefined
    const text = stored && unless(() => logText(JSON.parse(stored.payload) as OtlpLogRecord))
    return text !== undefined && match.isInText(text) ? stored : undefined
  }

  #documentsOf(run: number): WordDocument[] {
    return [...this.#chunksOf.all(run), ...this.#logsOf.all(run)] as unknown as WordDocument[]
  }

  #among(table: 'gone' | 'worn', documents: readonly WordDocument[]): Set<number> {
    const wanted = documents.length < FEW ? JSON.stringify(documents.map(({ id }) => id)) : undefined
    const rows = wanted
      ? this.#db.prepare(`SELECT id FROM ${table} WHERE id IN (SELECT value FROM json_each(?))`).all(wanted)
      : this.#db.prepare(`SELECT id FROM ${table}`).all()
    return new Set((rows as { id: number }[]).map(({ id }) => id))
  }

  #lookedFor({ words, pieces, isOpen }: WordQuery): Looked {
    const key = `${words.join(' ')} ${pieces.join(' ')}${isOpen ? '*' : ''}`
    const looked = this.#looked.get(key) ?? { isIn: new Map(), places: new Map() }
    this.#looked.delete(key)
    this.#looked.set(key, looked)
    if (this.#looked.size > KEPT_QUERIES) this.#looked.delete(this.#looked.keys().next().value!)
    return looked
  }
}

/** Those of logs after all others. */
function newestFirst(a: WordDocument, b: WordDocument): number {
  return a.id > 0 && b.id > 0 ? b.id - a.id : a.id > 0 ? -1 : b.id > 0 ? 1 : a.id - b.id
}
