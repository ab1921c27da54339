/** The index of the text: what it takes for words, how it keeps them, and that it finds what a plain search finds. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import fc from 'fast-check'
import { afterEach, expect, it } from 'vitest'
import { receiveTraces } from '../../src/viewer/otlp/receive.ts'
import { openChunk } from '../../src/viewer/store/chunk.ts'
import { spanText } from '../../src/viewer/store/searchable-text.ts'
import { SpanWords } from '../../src/viewer/store/span-words.ts'
import { Store } from '../../src/viewer/store/store.ts'
import { blocksOf, findInBlock } from '../../src/viewer/store/word-blocks.ts'
import { WordBuilder } from '../../src/viewer/store/word-builder.ts'
import { foldedWord, hashOf, WordScanner, wordQuery } from '../../src/viewer/store/words.ts'
import { id, otlp, type TestSpan } from './support.ts'

const folder = mkdtempSync(join(tmpdir(), 'hookspan-words-'))
const stores: Store[] = []
afterEach(() => {
  for (const store of stores.splice(0)) store.close()
})

function wordsBy(scan: (words: SpanWords) => void): Set<string> {
  const found = new Set<string>()
  const scanner = new WordScanner((hash, length) => {
    expect(hash).toBe(hashOf(scanner.word, length))
    found.add(Buffer.from(scanner.word.subarray(0, length)).toString())
  })
  scan(new SpanWords(scanner))
  return found
}

const UNSPACED =
  /([\p{sc=Han}\p{sc=Hira}\p{sc=Kana}\p{sc=Bopo}\p{sc=Thai}\p{sc=Laoo}\p{sc=Khmr}\p{sc=Mymr}\p{sc=Tibt}\u3000-\u303f\u3099\u309a\u30fc\uff70\uff9e\uff9f]+)/u
const charsAndPairs = (piece: string) =>
  [...piece].flatMap((char, at, chars) => [char, char + (chars[at + 1] ?? '')])
const plainWords = (text: string): Set<string> =>
  new Set(
    [...text.matchAll(/[\p{L}\p{N}\p{M}\p{Co}]+/gu)]
      .flatMap(([run]) => foldedWord(run).split(UNSPACED))
      .flatMap((piece) => (UNSPACED.test(piece) ? charsAndPairs(piece) : piece))
      .filter(Boolean),
  )

/** A protobuf field of bytes. */
function field(number: number, body: Buffer): Buffer {
  const varint = (value: number): number[] =>
    value < 128 ? [value] : [(value % 128) | 128, ...varint(Math.floor(value / 128))]
  return Buffer.concat([Buffer.from([...varint(number * 8 + 2), ...varint(body.length)]), body])
}
const text = (number: number, value: string) => field(number, Buffer.from(value))
const attribute = (number: number, value: Buffer) =>
  field(number, Buffer.concat([text(1, 'key'), field(2, value)]))

const anyText = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 20 }),
  fc.string({
    unit: fc.constantFrom(
      'a',
      'B',
      '9',
      ' ',
      'é',
      'e\u0301',
      'İ',
      'ß',
      '—',
      '中',
      '文',
      'ガ',
      'ー',
      'ก',
      '한',
      'ि',
      '𝒳',
      '🙂',
    ),
  }),
  fc.constantFrom(
    '[{"content":"a\\n\\"walrus\\"\\tpen\\\\nguin \\u00e9"}]',
    ' {"a":1}',
    'Straße K Ω',
    'x'.repeat(60),
  ),
)

it('finds in the bytes of a span the words of its text', () => {
  const spans = fc.record({ name: anyText, values: fc.array(anyText), event: anyText, message: anyText })
  fc.assert(
    fc.property(spans, ({ name, values, event, message }) => {
      const body = Buffer.concat([
        field(1, Buffer.from('ab'.repeat(16), 'hex')),
        field(2, Buffer.from('cd'.repeat(8), 'hex')),
        text(5, name),
        ...values.map((value) => attribute(9, text(1, value))),
        attribute(9, field(5, Buffer.concat(values.map((value) => field(1, text(1, value)))))),
        attribute(9, field(6, attribute(1, text(1, event)))),
        attribute(9, Buffer.from([24, 0xe7, 0x24])),
        attribute(9, Buffer.from([24, 0xfb, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01])),
        field(11, Buffer.concat([text(2, event), attribute(3, text(1, name))])),
        field(15, text(2, message)),
      ])
      const chunk = openChunk(field(2, body))
      const found = wordsBy((words) => chunk.scan(0, words))
      expect(found).toEqual(plainWords(spanText(chunk.span(0)!)))
      expect(found).toContain('4711')
      expect(found).toContain('5')
      expect(found).toContain('ab'.repeat(16))
    }),
  )
})

it.each([
  ['Straße', ['straße']],
  ['CAFÉ crème e\u0301te\u0301', ['cafe', 'creme', 'ete']],
  ['हिन्दी', ['हिन्दी']],
  ['İstanbul', ['istanbul']],
  ['a-b_c d’e', ['a', 'b', 'c', 'd', 'e']],
  ['東京 タワー', ['東京', 'タワ', 'ワー']],
  ['東 v2部署', ['東', 'v2', '部署']],
  ['หมอ', ['หม', 'มอ']],
  ['한국어 서비스', ['한국어', '서비스']],
  ['x'.repeat(100), ['x'.repeat(64)]],
])('reads %s as words', (typed, words) => {
  expect(wordQuery(typed)?.words).toEqual(words.map((word) => word.normalize('NFD')))
})

it('keeps words with their documents in blocks, and finds them whole or by their beginning', () => {
  const documents = fc.array(fc.array(fc.string({ unit: fc.constantFrom('a', 'b', 'c', 'd'), minLength: 1 })))
  fc.assert(
    fc.property(documents, (all) => {
      const builder = new WordBuilder()
      for (const [at, words] of all.entries()) {
        builder.begin({ id: at + 1, run: 1, spans: 1 })
        for (const word of words) {
          const bytes = Buffer.from(word)
          builder.add(bytes, hashOf(bytes, bytes.length), bytes.length)
        }
      }
      const blocks = [...blocksOf(builder.sorted())]
      for (const wanted of ['a', 'ab', 'abc', 'd', 'zz', ...all.flat()]) {
        for (const isBeginning of [false, true]) {
          const places = all.flatMap((words, at) =>
            words.some((word) => (isBeginning ? word.startsWith(wanted) : word === wanted)) ? [at] : [],
          )
          const found = blocks.flatMap(
            ({ body }) => findInBlock(body, Buffer.from(wanted), isBeginning).places,
          )
          expect([...new Set(found)].sort((a, b) => a - b)).toEqual(places)
          expect(builder.find(Buffer.from(wanted), isBeginning)).toEqual(places)
        }
      }
    }),
  )
})

const trace = (at: number) => at.toString(16).padStart(32, 'f')
const span = (at: number, note: string): TestSpan => ({
  traceId: trace(at),
  spanId: id(at + 1),
  name: `span ${at}`,
  attributes: { note },
})

function open(file: string): Store {
  const store = new Store({ file })
  stores.push(store)
  return store
}

function add(store: Store, spans: TestSpan[]): void {
  store.addSpans(receiveTraces(Buffer.from(JSON.stringify(otlp(spans))), 'json').items)
}

/** Asked until nothing is left to look through. */
function runsWith(store: Store, query: string): string[] {
  for (;;) {
    const { runs, indexing } = store.listRuns(query, { limit: 1000, offset: 0 })
    if (indexing === 0) return runs.map(({ traceId }) => traceId).sort()
  }
}

function spansWith(store: Store, words: string, limit: number): string[] {
  for (;;) {
    const { hits, indexing } = store.search(words, limit)
    if (indexing === 0) return hits.map(({ name }) => name)
  }
}

it('finds the same from segments, from memory, and after a restart, whoever of two viewers kept them', () => {
  const file = join(folder, 'two.db')
  const one = open(file)
  const other = open(file)
  // A segment is kept when it is full: of so many bytes.
  const filler = (at: number) =>
    Array.from({ length: 400 }, (_, word) => `w${(at * 400 + word).toString(36)}x`).join(' ')
  const text = filler(1).repeat(60)
  for (let at = 0; at < 300; at++)
    add(at % 2 ? one : other, [span(at, `${at % 50 === 7 ? 'Walrus in Öland' : 'nothing'} ${text} n${at}n`)])
  const wanted = [7, 57, 107, 157, 207, 257].map(trace).sort()
  const check = (store: Store) => {
    expect(runsWith(store, 'walrus')).toEqual(wanted)
    expect(runsWith(store, 'walr')).toEqual(wanted)
    expect(runsWith(store, 'oland walrus')).toEqual(wanted)
    expect(runsWith(store, 'n123n')).toEqual([trace(123)])
    expect(runsWith(store, 'n123n walrus')).toEqual([])
    expect(spansWith(store, 'walrus', 100)).toHaveLength(6)
    expect(spansWith(store, 'nothing', 5)).toEqual([299, 298, 297, 296, 295].map((at) => `span ${at}`))
  }
  check(one)
  while (one.work(1000) || other.work(1000)) {}
  const db = new DatabaseSync(file)
  const { segments } = db.prepare('SELECT count(*) AS segments FROM word_segment').get() as {
    segments: number
  }
  expect(segments).toBeGreaterThan(0)
  check(one)
  check(other)
  const third = open(file)
  check(third)
  third.removeRun(trace(7))
  expect(runsWith(one, 'walrus')).toEqual(wanted.filter((traceId) => traceId !== trace(7)))
  // What came later may have the number of a run that is gone, and is not found for it.
  third.removeRun(trace(299))
  add(third, [span(500, 'penguin')])
  expect(runsWith(third, 'n299n')).toEqual([])
  for (let at = 0; at < 300; at++) third.removeRun(trace(at))
  expect(db.prepare('SELECT id FROM word_segment UNION ALL SELECT id FROM word_block').all()).toEqual([])
  expect(runsWith(third, 'penguin')).toEqual([trace(500)])
  db.close()
  for (const store of stores.splice(0)) store.close()
  rmSync(folder, { recursive: true })
})

it('finds what has no spaces between its words by any part of it, and by no parts in another order', () => {
  const store = open(':memory:')
  const said = [
    '部署失敗了，請檢查伺服器的設定。',
    '{"q":"\\u90e8\\u7f72 v2\\u4f3a\\u670d\\u5668"}',
    '東京タワーへ行きました',
    '京都から東京へ',
    'สวัสดีชาวโลก',
    `${'很'.repeat(100)}長的一句話`,
    '서비스배포 실패',
  ]
  add(
    store,
    said.map((note, at) => span(at, note)),
  )
  const found = (typed: string) => {
    const runs = runsWith(store, typed)
    return said.flatMap((_, at) => (runs.includes(trace(at)) ? [at] : []))
  }
  const expected: [string, number[]][] = [
    ['失敗', [0]],
    ['失敗了 部署', [0]],
    ['敗', [0]],
    ['伺服器', [0, 1]],
    ['設定 伺服器 的', [0]],
    ['v2', [1]],
    ['v2伺服', [1]],
    ['東京', [2, 3]],
    ['東京へ', [3]],
    ['京都東', []],
    ['たわー', []],
    ['タワー', [2]],
    ['行きまし', [2]],
    ['ชาวโลก', [4]],
    ['一句話', [5]],
    ['실패', [6]],
    ['서비스', [6]],
  ]
  for (const [typed, runs] of expected) expect.soft(found(typed), typed).toEqual(runs)
})

it('is made again for a file whose words were other ones, and no run is summed again', () => {
  const file = join(mkdtempSync(join(tmpdir(), 'hookspan-words-')), 'old.db')
  add(open(file), [span(1, '部署失敗了')])
  runsWith(stores.at(-1)!, '失敗')
  stores.pop()!.close()
  const old = new DatabaseSync(file)
  old.exec(`DELETE FROM word_block; DELETE FROM word_segment; UPDATE run SET dirty = 0;
    INSERT OR REPLACE INTO meta VALUES ('words of chunks', (SELECT max(id) FROM chunk)); PRAGMA user_version = 8`)
  old.close()
  const store = open(file)
  expect(store.setAside).toBeUndefined()
  const db = new DatabaseSync(file)
  expect(db.prepare('SELECT count(*) AS dirty FROM run WHERE dirty = 1').get()).toEqual({ dirty: 0 })
  db.close()
  expect(runsWith(store, '失敗')).toEqual([trace(1)])
})

it('is made again for a file of the version before, whose runs stay', () => {
  const file = join(mkdtempSync(join(tmpdir(), 'hookspan-words-')), 'old.db')
  add(open(file), [span(1, 'Walrus'), span(2, 'penguin')])
  stores.pop()!.close()
  const old = new DatabaseSync(file)
  old.exec(`DROP TABLE word_segment; DROP TABLE word_block; DROP TABLE gone; DROP TABLE worn; DELETE FROM meta;
    CREATE TABLE ahead (id INTEGER PRIMARY KEY);
    INSERT INTO meta VALUES ('indexed', 1);
    CREATE VIRTUAL TABLE text USING fts5 (body, content = '', contentless_delete = 1, detail = none);
    INSERT INTO text (rowid, body) VALUES (4096, 'walrus');
    PRAGMA user_version = 6`)
  old.close()
  const store = open(file)
  expect(store.setAside).toBeUndefined()
  expect(runsWith(store, 'walrus')).toEqual([trace(1)])
  expect(runsWith(store, 'penguin')).toEqual([trace(2)])
  const db = new DatabaseSync(file)
  expect(
    db.prepare("SELECT name FROM sqlite_schema WHERE name LIKE 'text%' OR name = 'ahead'").all(),
  ).toEqual([])
  db.close()
})
