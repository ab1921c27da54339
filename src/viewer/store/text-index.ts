/**
 * Which words are in which chunks and logs. The index follows what is stored in slices, so that taking spans in never
 * waits for it: the last of it in memory, the rest in segments. Several viewers of one file each follow, and one of them
 * keeps a segment.
 */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { OtlpLogRecord } from '../../internal/otlp/types.ts'
import type { InTurns } from '../model/in-turns.ts'
import { type ChunkBody, openChunk, unless } from './chunk.ts'
import { logText } from './searchable-text.ts'
import { SpanWords } from './span-words.ts'
import { blocksOf } from './word-blocks.ts'
import { MAX_WORDS, WordBuilder, type WordDocument } from './word-builder.ts'
import { type IndexMark, WordSegments } from './word-segments.ts'
import { type WordQuery, WordScanner } from './words.ts'

const LOGS_AT_ONCE = 64
/** What is not in a segment is read again by who opens the file. */
const SEGMENT_BYTES = 16 * 1024 * 1024
const SEGMENT_DOCUMENTS = 10_000
const SEGMENT_WORDS = MAX_WORDS / 2
const BLOCKS_AT_ONCE = 4
/** Of what it has not come to, so much is told at a time. */
const UNINDEXED_AT_ONCE = 512

/** Words of what came after `from`, up to `to`. */
class Part {
  readonly builder = new WordBuilder()
  readonly from: IndexMark
  to: IndexMark

  constructor(from: IndexMark) {
    this.from = from
    this.to = from
  }

  isFull(mostDocuments: number): boolean {
    const { bytes, words, documents } = this.builder
    return bytes >= SEGMENT_BYTES || words >= SEGMENT_WORDS || documents.length >= mostDocuments
  }
}

export class TextIndex {
  readonly #segments: WordSegments
  readonly #nextChunk: StatementSync
  readonly #nextLogs: StatementSync
  readonly #countAfter: StatementSync
  readonly #newest: StatementSync
  readonly #newestLogs: StatementSync
  readonly #words: SpanWords
  readonly #segmentDocuments: number
  #part: Part
  /** A part that is being kept; it can be searched all the while. */
  #full: Part | undefined
  #isKeeping = false
  #remaining: number

  constructor(db: DatabaseSync, segmentDocuments: number = SEGMENT_DOCUMENTS) {
    this.#segmentDocuments = segmentDocuments
    this.#segments = new WordSegments(db)
    this.#nextChunk = db.prepare('SELECT id, run, spans, body FROM chunk WHERE id > ? ORDER BY id LIMIT 1')
    this.#nextLogs = db.prepare('SELECT id, run, payload FROM log WHERE id > ? ORDER BY id LIMIT ?')
    this.#countAfter = db.prepare('SELECT coalesce(sum(spans), 0) AS count FROM chunk WHERE id > ?')
    this.#newest = db.prepare(
      `SELECT id, run, spans FROM chunk WHERE id > ? AND id < ? ORDER BY id DESC LIMIT ${UNINDEXED_AT_ONCE}`,
    )
    this.#newestLogs = db.prepare(
      `SELECT -id AS id, run, 0 AS spans FROM log WHERE id > ? AND id < ? ORDER BY id DESC LIMIT ${UNINDEXED_AT_ONCE}`,
    )
    const scanner = new WordScanner((hash, length) => this.#part.builder.add(scanner.word, hash, length))
    this.#words = new SpanWords(scanner)
    this.#part = new Part(this.#segments.mark())
    this.#remaining = this.#count()
  }

  /** How many spans cannot be found yet. */
  get remaining(): number {
    return this.#remaining
  }

  added(spans: number): void {
    this.#remaining += spans
  }

  removed(chunk: number, spans: number): void {
    if (chunk > this.#part.to.chunk) this.#remaining = Math.max(0, this.#remaining - spans)
  }

  /** Indexes for about `budgetMs`, in the order in which things came; says whether there is more to do. */
  *work(budgetMs: number): InTurns<boolean> {
    const untilMs = performance.now() + budgetMs
    do {
      if (this.#part.isFull(this.#segmentDocuments) && !this.#full) {
        this.#full = this.#part
        this.#part = new Part(this.#full.to)
      }
      if (this.#full && !this.#isKeeping) yield* this.#keep(this.#full)
      if (!this.#step()) return false
      yield
    } while (performance.now() < untilMs)
    // What other viewers stored was not counted.
    if (this.#remaining === 0) this.#remaining = this.#count()
    return true
  }

  /** Documents in which every word is, in some span or other. Chunks may have gone since they were indexed. */
  *find(query: WordQuery): InTurns<WordDocument[]> {
    const found = new Map<number, WordDocument>()
    const add = (documents: WordDocument[]) => {
      for (const document of documents) found.set(document.id, document)
    }
    for (const part of [this.#part, this.#full]) if (part) add(documentsIn(part.builder, query))
    yield* this.#segments.find(query, add)
    return [...found.values()]
  }

  /** How far it has come. To be asked before `find`: what another viewer of the file has kept is not kept here, too. */
  mark(): IndexMark {
    this.#startOverIfKept()
    return this.#part.to
  }

  /** What the index had not come to at `mark`, the newest first: chunks, and logs. */
  unindexed({ chunk, log }: IndexMark): Iterable<WordDocument>[] {
    return [documentsAfter(this.#newest, chunk), documentsAfter(this.#newestLogs, log)]
  }

  #step(): boolean {
    const chunk = this.#nextChunk.get(this.#part.to.chunk) as StoredChunk | undefined
    if (chunk) this.#addChunk(chunk)
    this.#remaining = chunk ? Math.max(0, this.#remaining - chunk.spans) : 0
    const logs = this.#nextLogs.all(this.#part.to.log, LOGS_AT_ONCE) as unknown as StoredLog[]
    for (const log of logs) this.#addLog(log)
    return chunk !== undefined || logs.length > 0
  }

  #addChunk({ id, run, spans, body }: StoredChunk): void {
    const { builder } = this.#part
    const chunk = openChunk(body)
    builder.begin({ id, run, spans })
    for (let index = 0; index < chunk.length; index++) chunk.scan(index, this.#words)
    builder.bytes += chunk.size
    this.#part.to = { ...this.#part.to, chunk: id }
  }

  #addLog({ id, run, payload }: StoredLog): void {
    const { builder } = this.#part
    builder.begin({ id: -id, run, spans: 0 })
    this.#words.scanText(unless(() => logText(JSON.parse(payload) as OtlpLogRecord)) ?? '')
    builder.bytes += payload.length
    this.#part.to = { ...this.#part.to, log: id }
  }

  *#keep(part: Part): InTurns<void> {
    const { builder, from, to } = part
    this.#isKeeping = true
    try {
      const blocks = []
      for (const block of blocksOf(builder.sorted())) {
        blocks.push(block)
        if (blocks.length % BLOCKS_AT_ONCE === 0) yield
      }
      this.#segments.save(from, to, builder.documents, blocks)
      if (this.#full === part) this.#full = undefined
      this.#startOverIfKept()
    } finally {
      this.#isKeeping = false
    }
  }

  /** Another viewer of the file has kept what came: what is removed of it since is noted with the segments alone. */
  #startOverIfKept(): void {
    const mark = this.#segments.mark()
    const { from } = this.#full ?? this.#part
    if (mark.chunk === from.chunk && mark.log === from.log) return
    this.#full = undefined
    this.#part = new Part(mark)
    this.#remaining = this.#count()
  }

  #count(): number {
    return (this.#countAfter.get(this.#part.to.chunk) as { count: number }).count
  }
}

function* documentsAfter(newest: StatementSync, after: number): Generator<WordDocument> {
  for (let before = Number.MAX_SAFE_INTEGER; ; ) {
    const some = newest.all(after, before) as unknown as WordDocument[]
    yield* some
    if (some.length < UNINDEXED_AT_ONCE) return
    before = Math.abs(some.at(-1)!.id)
  }
}

function documentsIn(builder: WordBuilder, { bytes, isOpen }: WordQuery): WordDocument[] {
  let places: number[] | undefined
  for (const [at, word] of bytes.entries()) {
    const found = builder.find(word, isOpen && at === bytes.length - 1)
    const some: ReadonlySet<number> | undefined = places && new Set(places)
    places = some ? found.filter((place) => some.has(place)) : found
  }
  return (places ?? []).map((place) => builder.documents[place]!)
}

interface StoredChunk {
  id: number
  run: number
  spans: number
  body: ChunkBody
}

interface StoredLog {
  id: number
  run: number
  payload: string
}
