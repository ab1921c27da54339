/**
 * What a person typed, as an FTS5 query. SQLite itself cuts the text into words, by the index's own rules: its tables
 * of letters are older than those of JavaScript, and one word here that is two there is an error in a query.
 */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { TOKENIZER } from './schema.ts'
import type { SearchedWords } from './snippets.ts'

/** The last word may go on. */
const isOpen = (typed: string): boolean => /[\p{L}\p{M}\p{N}]$/u.test(typed)

export class TypedWords {
  readonly #insert: StatementSync
  readonly #delete: StatementSync
  readonly #words: StatementSync

  constructor(db: DatabaseSync) {
    db.exec(`
      CREATE VIRTUAL TABLE temp.typed USING fts5 (body, tokenize = '${TOKENIZER}');
      CREATE VIRTUAL TABLE temp.typed_word USING fts5vocab (temp, typed, instance);`)
    this.#insert = db.prepare('INSERT INTO temp.typed (body) VALUES (?)')
    this.#delete = db.prepare('DELETE FROM temp.typed')
    this.#words = db.prepare('SELECT term FROM temp.typed_word ORDER BY offset')
  }

  /** Every word must occur, the last one may go on. Empty when there is no word in `typed`. */
  query(typed: string): string {
    const words = this.words(typed)
    if (words.length === 0) return ''
    return `${words.map((word) => `"${word}"`).join(' AND ')}${isOpen(typed) ? ' *' : ''}`
  }

  /** `undefined` when there is no word in `typed`. */
  searched(typed: string): SearchedWords | undefined {
    const match = this.query(typed)
    return match ? { match, words: this.words(typed), isOpen: isOpen(typed) } : undefined
  }

  words(typed: string): string[] {
    if (typed.trim() === '') return []
    this.#insert.run(typed)
    const words = (this.#words.all() as { term: string }[]).map((row) => row.term)
    this.#delete.run()
    return words
  }
}
