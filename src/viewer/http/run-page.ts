/** The page of one run, with the rows that are in sight first: they are painted with it, not after it. */
import type { IncomingMessage } from 'node:http'
import { toColumns } from '../model/columns.ts'
import { findingFirstRows } from '../model/first-rows.ts'
import type { InTurns } from '../model/in-turns.ts'
import type { Store } from '../store/store.ts'
import { inert } from './inert.ts'
import { writingJson } from './json-pieces.ts'

/** More than a high screen shows. */
const ROWS_IN_SIGHT = 80

/** Only for who may read without the token: where reading needs it, the page has to ask. */
export function* runPage(page: Buffer, url: URL, request: IncomingMessage, store: Store): InTurns<Buffer> {
  const traceId = /^\/run\/([0-9a-f]{4,32})$/.exec(url.pathname)?.[1]
  if (!traceId) return page
  const data = isOpened(request) && needsFirstRows(url) ? yield* runInSight(store, traceId) : undefined
  const ahead = data
    ? `<script type="application/json" id="run-in-sight">${(yield* writingJson(data, inert)).toString()}</script>`
    : `<link rel="preload" as="fetch" crossorigin href="/api/runs/${traceId}?since=0" />`
  return Buffer.from(page.toString().replace('</head>', () => `${ahead}</head>`))
}

/** A view that is of use before all rows are there, and no row in it that may be further down. */
function needsFirstRows({ search }: URL): boolean {
  return search === '' || search === '?view=conversation'
}

/** As a page, not as a part of another one. */
function isOpened(request: IncomingMessage): boolean {
  return (request.headers['sec-fetch-dest'] ?? 'document') === 'document'
}

function* runInSight(store: Store, traceId: string): InTurns<object | undefined> {
  const run = yield* store.reading(traceId)
  if (!run) return undefined
  const { summary, rows, seq } = run
  if (rows.length <= ROWS_IN_SIGHT) return { summary, seq, columns: toColumns(rows) }
  const first = yield* findingFirstRows(rows, ROWS_IN_SIGHT)
  // Nothing counts as known yet: the page asks for all of it once it has painted.
  return first && { summary, seq: 0, columns: toColumns(first.rows), totalRows: first.totalRows }
}
