/** What the words of a query find: runs, and spans. The index tells where to look, the spans themselves whether it is so. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { OtlpLogRecord } from '../../internal/otlp/types.ts'
import type { InTurns } from '../model/in-turns.ts'
import { documentOf, unless } from './chunk.ts'
import { logText } from './searchable-text.ts'
import type { SpanReader } from './span-reader.ts'
import type { TextIndex } from './text-index.ts'
import type { WordDocument } from './word-builder.ts'
import { WordMatch } from './word-match.ts'
import type { WordQuery } from './words.ts'

/** Nobody waits longer for what was found to be looked through. */
const LOOK_MS = 150
/** So many of the newest are looked through all the same: on a busy machine all time may be gone before the first. */
const LOOKED_AT_LEAST = 4
/** Queries of which it is remembered what was looked through: who asks again goes on. */
const KEPT_QUERIES = 4
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
  *runs(query: WordQuery): InTurns<{ runs: number[]; unsearched: number }> {
    const documents = yield* this.#index.find(query)
    const untilMs = performance.now() + LOOK_MS
    let looks = 0
    const runs = new Set<number>()
    const rest: WordDocument[] = []
    if (query.bytes.length > 1) rest.push(...documents)
    else {
      // One word: where it is in the chunk, it is in a span of it.
      const gone = this.#among('gone', documents)
      const worn = this.#among('worn', documents)
      for (const document of documents) {
        if (worn.has(document.id)) rest.push(document)
        else if (!gone.has(document.id)) runs.add(document.run)
      }
    }
    const match = new WordMatch(query)
    const looked = this.#lookedFor(query)
    // What is not indexed may have them too.
    const { documents: unindexed, spans: unseen } = this.#index.unindexed()
    let unsearched = unseen
    for (const { id, run, spans } of [...rest.sort(newestFirst), ...unindexed]) {
      if (runs.has(run)) continue
      let isIn = looked.isIn.get(id)
      if (isIn === undefined) {
        if (looks >= LOOKED_AT_LEAST && performance.now() > untilMs) {
          unsearched += spans
          continue
        }
        looks++
        isIn = id > 0 ? !this.#placesIn(id, match).next().done : this.#logWith(id, match) !== undefined
        looked.isIn.set(id, isIn)
        yield
      }
      if (isIn) runs.add(run)
    }
    return { runs: [...runs], unsearched }
  }

  /** Spans and logs that hold every word, the newest first; in one run when `run` is given. */
  *spans(
    query: WordQuery,
    limit: number,
    run?: number,
    lookMs: number = LOOK_MS,
  ): InTurns<{ spans: FoundSpan[]; logs: FoundLog[]; unsearched: number }> {
    const documents = run === undefined ? yield* this.#index.find(query) : this.#documentsOf(run)
    const untilMs = performance.now() + lookMs
    let looks = 0
    const match = new WordMatch(query)
    const looked = this.#lookedFor(query)
    const spans: FoundSpan[] = []
    const logs: FoundLog[] = []
    documents.sort(newestFirst)
    let unsearched = 0
    if (run === undefined) {
      const { documents: unindexed, spans: unseen } = this.#index.unindexed()
      documents.push(...unindexed)
      unsearched = unseen
    }
    for (const document of documents) {
      const { id } = document
      if (id > 0 ? spans.length >= limit : logs.length >= limit) continue
      if (looked.isIn.get(id) === false) continue
      let places = looked.places.get(id)
      if (!places && looks >= LOOKED_AT_LEAST && performance.now() > untilMs) {
        unsearched += document.spans
        continue
      }
      if (!places) looks++
      if (id > 0) {
        places ??= [...this.#placesIn(id, match)].reverse()
        looked.isIn.set(id, places.length > 0)
        if (places.length > 0) looked.places.set(id, places)
        for (const index of places) spans.push({ run: document.run, chunk: id, index })
      } else {
        const log = this.#logWith(id, match)
        looked.isIn.set(id, log !== undefined)
        if (log) logs.push(log)
      }
      yield
    }
    spans.sort((a, b) => b.chunk - a.chunk || b.index - a.index)
    return { spans: spans.slice(0, limit), logs, unsearched }
  }

  /** The first span of a run that holds every word. */
  *firstIn(run: number, query: WordQuery): InTurns<FoundSpan | undefined> {
    const match = new WordMatch(query)
    for (const { id } of this.#chunksOf.all(run) as unknown as WordDocument[]) {
      yield
      const place = this.#placesIn(id, match).next()
      if (!place.done) return { run, chunk: id, index: place.value }
    }
    return undefined
  }

  /** Of a chunk, which spans match. None of one that is gone. */
  *#placesIn(id: number, match: WordMatch): Generator<number> {
    const chunk = this.#gone.get(id) ? undefined : this.#spans.chunk(id)
    if (!chunk) return
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

  #lookedFor({ words, isOpen }: WordQuery): Looked {
    const key = `${words.join(' ')}${isOpen ? '*' : ''}`
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
