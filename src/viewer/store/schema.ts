import type { DatabaseSync } from 'node:sqlite'
import { DECLARATIONS, DECLARED_COLUMNS, FIGURE_COLUMNS } from './run-columns.ts'
import { DECLARED_USES } from './run-uses.ts'

/**
 * Raised when the tables change. A file of another version is set aside, not migrated: it holds traces, not records. One whose
 * tables only lack what can be made from the spans again is brought up.
 */
export const SCHEMA_VERSION = 9
/**
 * Versions that are brought up: what is new are tables and columns of sums, and every run is summed again; an index of the text,
 * which is made again; or what people add.
 */
export const BROUGHT_UP: ReadonlySet<number> = new Set([4, 5, 6, 7, 8])

/** What an index of words says that was made otherwise. */
const FORGET_WORDS = `DROP TABLE IF EXISTS text; DROP TABLE IF EXISTS ahead;
  DROP TABLE IF EXISTS word_segment; DROP TABLE IF EXISTS word_block; DROP TABLE IF EXISTS gone`
/** The last version whose sums were others. */
const OTHER_SUMS = 7

/**
 * Of an older version: the columns that are new, and an index that has them. Where its sums are others, every run is to be summed
 * again; the index of words is made again.
 */
export function bringUp(db: DatabaseSync, version: number): void {
  const columnsOf = (table: string) =>
    (db.prepare(`PRAGMA table_info(${table})`).all() as { name: string }[]).map(({ name }) => name)
  const there = new Set(columnsOf('run'))
  for (const [name, declared] of DECLARATIONS) {
    if (!there.has(name)) db.exec(`ALTER TABLE run ADD COLUMN ${name} ${declared}`)
  }
  if (version <= OTHER_SUMS) db.exec('DROP INDEX IF EXISTS run_figures; UPDATE run SET dirty = 1')
  db.exec(FORGET_WORDS)
  if (columnsOf('meta').length > 0) db.exec("DELETE FROM meta WHERE key LIKE 'words of %'")
}

/** As the index of open runs has it: a query must say it with these words to go by the index. */
export const IS_OPEN = "status IN ('running', 'waiting')"

export function createSchema(db: DatabaseSync): void {
  db.exec(`
    CREATE TABLE IF NOT EXISTS run (
      id INTEGER PRIMARY KEY, trace_id TEXT NOT NULL UNIQUE, received_ms INTEGER NOT NULL, dirty INTEGER NOT NULL DEFAULT 1,
      ${DECLARED_COLUMNS});
    -- Also for the order of the list. What is summed over all runs is in it, so that the rows need not be read.
    CREATE INDEX IF NOT EXISTS run_figures ON run (start_us, ${FIGURE_COLUMNS});
    DROP INDEX IF EXISTS run_by_start;
    CREATE INDEX IF NOT EXISTS run_dirty ON run (dirty) WHERE dirty = 1;
    CREATE INDEX IF NOT EXISTS run_open ON run (status) WHERE ${IS_OPEN};
    CREATE TABLE IF NOT EXISTS run_use (${DECLARED_USES}) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS origin (id INTEGER PRIMARY KEY, resource TEXT NOT NULL, scope TEXT NOT NULL);
    -- AUTOINCREMENT: the text index goes by these numbers, so that of a removed row is never given again.
    CREATE TABLE IF NOT EXISTS chunk (
      id INTEGER PRIMARY KEY AUTOINCREMENT, run INTEGER NOT NULL, origin INTEGER NOT NULL, spans INTEGER NOT NULL, body BLOB NOT NULL);
    CREATE INDEX IF NOT EXISTS chunk_by_run ON chunk (run);
    -- An origin goes with its last chunk.
    CREATE INDEX IF NOT EXISTS chunk_by_origin ON chunk (origin);
    CREATE TABLE IF NOT EXISTS log (
      id INTEGER PRIMARY KEY AUTOINCREMENT, run INTEGER NOT NULL, span_id TEXT NOT NULL, digest TEXT NOT NULL, payload TEXT NOT NULL,
      UNIQUE (run, span_id, digest));
    -- Spans that newer ones replaced, by the number of their chunk and their place in it; and the chunks that have some.
    CREATE TABLE IF NOT EXISTS superseded (id INTEGER PRIMARY KEY);
    CREATE TABLE IF NOT EXISTS worn (id INTEGER PRIMARY KEY);
    CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
    -- How many spans there are, whichever viewer of the file took or removed them.
    CREATE TRIGGER IF NOT EXISTS chunk_came AFTER INSERT ON chunk
      BEGIN UPDATE meta SET value = value + NEW.spans WHERE key = 'spans'; END;
    CREATE TRIGGER IF NOT EXISTS chunk_went AFTER DELETE ON chunk
      BEGIN UPDATE meta SET value = value - OLD.spans WHERE key = 'spans'; END;
    -- Earlier versions left origins behind.
    DELETE FROM origin WHERE NOT EXISTS (SELECT 1 FROM meta WHERE key = 'spans') AND id NOT IN (SELECT origin FROM chunk);
    INSERT INTO meta SELECT 'spans', (SELECT coalesce(sum(spans), 0) FROM chunk)
      WHERE NOT EXISTS (SELECT 1 FROM meta WHERE key = 'spans');
    -- Which words are in which chunks and logs: of those after one and up to another.
    CREATE TABLE IF NOT EXISTS word_segment (
      id INTEGER PRIMARY KEY AUTOINCREMENT, after_chunk INTEGER NOT NULL, last_chunk INTEGER NOT NULL,
      after_log INTEGER NOT NULL, last_log INTEGER NOT NULL, documents BLOB NOT NULL);
    CREATE TABLE IF NOT EXISTS word_block (id INTEGER PRIMARY KEY, segment INTEGER NOT NULL, first BLOB NOT NULL, body BLOB NOT NULL);
    CREATE INDEX IF NOT EXISTS word_block_first ON word_block (segment, first);
    -- Chunks, and logs with a minus, that were removed and are still in a segment.
    CREATE TABLE IF NOT EXISTS gone (id INTEGER PRIMARY KEY);
    PRAGMA user_version = ${SCHEMA_VERSION};
  `)
}
