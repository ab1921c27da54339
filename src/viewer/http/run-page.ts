/** The page of one run, with the rows that are in sight first: they are painted with it, not after it. */
import type { IncomingMessage } from 'node:http'
import { toColumns } from '../model/columns.ts'
import { conversing } from '../model/conversation.ts'
import { FIRST_ITEMS } from '../model/conversation-items.ts'
import { findingFirstRows } from '../model/first-rows.ts'
import type { InTurns } from '../model/in-turns.ts'
import type { Store } from '../store/store.ts'
import type { StoredRun } from '../store/stored-run.ts'
import { inert } from './inert.ts'
import { writingJson } from './json-pieces.ts'

/** More than a high screen shows. */
const ROWS_IN_SIGHT = 80
/** More would hold up the page that it comes with: it is asked for after. */
const MOST_WORDS_BYTES = 512 * 1024
const CONVERSATION = '?view=conversation'

/** A page in two pieces: what is the same for all of them, for the browser to begin with, and the rest once it is made. */
export interface PageInPieces {
  readonly beginning: string
  readonly rest: InTurns<string>
  /** The rest without the run, which the page asks for then. */
  readonly plain: string
}

/**
 * Undefined where the page is no run's. Only for who may read without the token: where reading needs it, the page has to
 * ask.
 */
export function runPage(
  page: Buffer,
  url: URL,
  request: IncomingMessage,
  store: Store,
): PageInPieces | undefined {
  const traceId = /^\/run\/([0-9a-f]{4,32})$/.exec(url.pathname)?.[1]
  if (!traceId) return undefined
  const html = page.toString()
  const head = html.indexOf('</head>')
  return {
    beginning: html.slice(0, head),
    plain: html.slice(head),
    rest: withRun(html.slice(head), traceId, url, isOpened(request) ? store : undefined),
  }
}

function* withRun(rest: string, traceId: string, url: URL, store: Store | undefined): InTurns<string> {
  const run = store && needsFirstRows(url) ? yield* store.reading(traceId) : undefined
  const data = run && (yield* runInSight(run))
  const ahead = data
    ? yield* inPage('run-in-sight', data)
    : `<link rel="preload" as="fetch" crossorigin href="/api/runs/${traceId}?since=0" />`
  const words = data && url.search === CONVERSATION ? yield* firstWords(run) : ''
  return `${ahead}${words}${rest}`
}

function* inPage(id: string, data: object, mostBytes = Number.POSITIVE_INFINITY): InTurns<string> {
  const json = yield* writingJson(data, inert)
  return json.length > mostBytes
    ? ''
    : `<script type="application/json" id="${id}">${json.toString()}</script>`
}

function* firstWords({ rows, open }: StoredRun): InTurns<string> {
  return yield* inPage('first-words', yield* conversing(rows, open, FIRST_ITEMS), MOST_WORDS_BYTES)
}

/** It knows from the start that nothing can be changed, and where its runs are. */
export function readOnlyPage(page: Buffer, from: string): Buffer {
  const name = from.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`)
  return Buffer.from(
    page.toString().replace('</head>', () => `<meta name="read-only" content="${name}"></head>`),
  )
}

/** A view that is of use before all rows are there, and no row in it that may be further down. */
function needsFirstRows({ search }: URL): boolean {
  return search === '' || search === CONVERSATION
}

/** As a page, not as a part of another one. */
function isOpened(request: IncomingMessage): boolean {
  return (request.headers['sec-fetch-dest'] ?? 'document') === 'document'
}

function* runInSight({ summary, rows, seq }: StoredRun): InTurns<object | undefined> {
  if (rows.length <= ROWS_IN_SIGHT) return { summary, seq, columns: toColumns(rows) }
  const first = yield* findingFirstRows(rows, ROWS_IN_SIGHT)
  // Nothing counts as known yet: the page asks for all of it once it has painted.
  return first && { summary, seq: 0, columns: toColumns(first.rows), totalRows: first.totalRows }
}
