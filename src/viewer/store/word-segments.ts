/** The kept part of the text index: segments of documents that came one after the other, with their words in blocks. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { append } from '../../internal/append.ts'
import { allOrNothing } from '../../internal/sqlite.ts'
import type { InTurns } from '../model/in-turns.ts'
import { findInBlock, packDocuments, unpackDocuments, type WordBlock } from './word-blocks.ts'
import type { WordDocument } from './word-builder.ts'
import type { WordQuery } from './words.ts'

/** How far the index has come: the last chunk and the last log that are in it. */
export interface IndexMark {
  readonly chunk: number
  readonly log: number
}

const MARKS = { chunk: 'words of chunks', log: 'words of logs' } as const
/** Of those that something was removed from. */
const EMPTY = `SELECT id, after_chunk AS afterChunk, last_chunk AS lastChunk, after_log AS afterLog, last_log AS lastLog
  FROM word_segment
  WHERE ((last_chunk >= :firstChunk AND after_chunk < :lastChunk) OR (last_log >= :firstLog AND after_log < :lastLog))
    AND NOT EXISTS (SELECT 1 FROM chunk WHERE id > after_chunk AND id <= last_chunk)
    AND NOT EXISTS (SELECT 1 FROM log WHERE id > after_log AND id <= last_log)`
const FORGET_GONE = `DELETE FROM gone
  WHERE (id > :afterChunk AND id <= :lastChunk) OR (id < -:afterLog AND id >= -:lastLog)`

/** What of the chunks and of the logs is in it. */
interface Segment {
  id: number
  afterChunk: number
  lastChunk: number
  afterLog: number
  lastLog: number
}

export class WordSegments {
  readonly #db: DatabaseSync
  readonly #insert: StatementSync
  readonly #insertBlock: StatementSync
  readonly #saveMark: StatementSync
  readonly #mark: StatementSync
  readonly #ids: StatementSync
  readonly #documents: StatementSync
  readonly #block: StatementSync
  readonly #nextBlock: StatementSync
  readonly #empty: StatementSync
  readonly #removeBlocks: StatementSync
  readonly #remove: StatementSync
  readonly #forgetGone: StatementSync

  constructor(db: DatabaseSync) {
    this.#db = db
    this.#insert = db.prepare(
      'INSERT INTO word_segment (after_chunk, last_chunk, after_log, last_log, documents) VALUES (?, ?, ?, ?, ?)',
    )
    this.#insertBlock = db.prepare('INSERT INTO word_block (segment, first, body) VALUES (?, ?, ?)')
    this.#saveMark = db.prepare('INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)')
    this.#mark = db.prepare('SELECT value FROM meta WHERE key = ?')
    this.#ids = db.prepare('SELECT id FROM word_segment ORDER BY id DESC')
    this.#documents = db.prepare('SELECT documents FROM word_segment WHERE id = ?')
    this.#block = db.prepare(
      'SELECT first, body FROM word_block WHERE segment = ? AND first <= ? ORDER BY first DESC LIMIT 1',
    )
    this.#empty = db.prepare(EMPTY)
    this.#removeBlocks = db.prepare('DELETE FROM word_block WHERE segment = ?')
    this.#remove = db.prepare('DELETE FROM word_segment WHERE id = ?')
    this.#forgetGone = db.prepare(FORGET_GONE)
    this.#nextBlock = db.prepare(
      'SELECT first, body FROM word_block WHERE segment = ? AND first > ? ORDER BY first LIMIT 1',
    )
  }

  mark(): IndexMark {
    const saved = (key: string) => (this.#mark.get(key) as { value: number } | undefined)?.value ?? 0
    return { chunk: saved(MARKS.chunk), log: saved(MARKS.log) }
  }

  /** Nothing is kept when another viewer has been faster. */
  save(
    from: IndexMark,
    to: IndexMark,
    documents: readonly WordDocument[],
    blocks: readonly WordBlock[],
  ): void {
    allOrNothing(this.#db, () => {
      const mark = this.mark()
      if (mark.chunk === from.chunk && mark.log === from.log) {
        const packed = packDocuments(documents)
        const { lastInsertRowid } = this.#insert.run(from.chunk, to.chunk, from.log, to.log, packed)
        for (const { first, body } of blocks) this.#insertBlock.run(lastInsertRowid, first, body)
        // All of it may have been removed meanwhile.
        const [firstLog, lastLog] = [from.log + 1, to.log]
        this.dropEmpty({ firstChunk: from.chunk + 1, lastChunk: to.chunk, firstLog, lastLog })
        this.#saveMark.run(MARKS.chunk, to.chunk)
        this.#saveMark.run(MARKS.log, to.log)
      }
    })
  }

  /** Tells `found` of the documents of each segment that hold every word, those of the newest segment first. */
  *find(query: WordQuery, found: (documents: WordDocument[]) => void): InTurns<void> {
    for (const { id } of this.#ids.all() as { id: number }[]) {
      yield
      let places: Set<number> | undefined
      for (const [at, word] of query.bytes.entries()) {
        const with_ = this.#placesIn(id, word, query.isOpen && at === query.bytes.length - 1)
        places = places ? intersection(places, with_) : new Set(with_)
        if (places.size === 0) break
      }
      if (!places || places.size === 0) continue
      // A segment may have gone meanwhile, with all that was in it.
      const stored = this.#documents.get(id) as { documents: Uint8Array } | undefined
      if (!stored) continue
      const documents = unpackDocuments(stored.documents)
      found([...places].flatMap((place) => documents[place] ?? []))
    }
  }

  /** Removes what has nothing left of what was between these; to be called in a transaction. */
  dropEmpty(removed: { firstChunk: number; lastChunk: number; firstLog?: number; lastLog?: number }): void {
    const empty = this.#empty.all({ firstLog: 0, lastLog: 0, ...removed }) as unknown as Segment[]
    for (const { id, ...bounds } of empty) {
      this.#removeBlocks.run(id)
      this.#remove.run(id)
      this.#forgetGone.run({ ...bounds })
    }
  }

  #placesIn(segment: number, word: Buffer, isBeginning: boolean): number[] {
    const places: number[] = []
    let block = (this.#block.get(segment, word) ?? this.#nextBlock.get(segment, Buffer.alloc(0))) as
      | StoredBlock
      | undefined
    while (block) {
      const found = findInBlock(block.body, word, isBeginning)
      append(places, found.places)
      if (!found.goesOn || !isBeginning) break
      block = this.#nextBlock.get(segment, block.first) as StoredBlock | undefined
    }
    return places
  }
}

interface StoredBlock {
  first: Uint8Array
  body: Uint8Array
}

function intersection(some: ReadonlySet<number>, others: readonly number[]): Set<number> {
  return new Set(others.filter((other) => some.has(other)))
}
