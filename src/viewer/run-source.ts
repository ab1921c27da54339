/** Runs for the command line: from the viewer that runs, or, when none does, from the file it left. */

import { existsSync } from 'node:fs'
import { a, assertFields } from '../internal/expect.ts'
import { exportingRuns, writingMarkdown } from './http/export-runs.ts'
import { fromColumns, type RowColumns } from './model/columns.ts'
import { buildConversation } from './model/conversation.ts'
import type { Conversation } from './model/conversation-items.ts'
import type { RunContent } from './model/data-set.ts'
import { finish } from './model/in-turns.ts'
import { type LintReport, lintRun } from './model/lint.ts'
import { NEWEST_FIRST } from './model/query-keys.ts'
import { diffRuns, type RunDiff } from './model/run-diff.ts'
import type { RunNumbers } from './model/run-numbers.ts'
import type { UseKind, UseSums } from './model/run-uses.ts'
import type { SetDiff } from './model/set-diff.ts'
import type { Snippet } from './model/snippet.ts'
import type { RunSummary, SpanRecord, SpanRow } from './model/span.ts'
import { receivingTraces } from './otlp/receive.ts'
import { defaultDatabaseFile } from './store/open-database.ts'
import type { RunList } from './store/reader.ts'
import { type SearchResult, Store } from './store/store.ts'

export interface RunSourceOptions {
  /** Reads this file instead of asking a viewer. */
  db?: string
  /**
   * Where a viewer may be running.
   *
   * @default 'http://127.0.0.1:4318'
   */
  url?: string
}

export interface RunWithRows {
  summary: RunSummary
  rows: SpanRow[]
  /** Ask with it for what changed since. */
  seq: number
}

export interface RunSource {
  /** What is read, for people. */
  readonly from: string
  /** `sort`: a key of `SORT_KEYS`, such as cost; `-` before it: the greatest first. @default '-started' */
  listRuns(query: string, limit: number, sort?: string, offset?: number): Promise<RunList>
  /** Spans that hold every word, newest first; of one run when `run` is given. */
  search(words: string, limit: number, run?: string): Promise<SearchResult>
  /** What stands around the words of a query in these runs, by trace id. */
  snippets(query: string, traceIds: readonly string[]): Promise<Readonly<Record<string, Snippet>>>
  /** Sums over all runs that the query finds. `undefined` from a viewer that is too old for it. */
  numbers(query: string): Promise<RunNumbers | undefined>
  /** What each tool, model, agent, gate or person did in them. `undefined` likewise. */
  uses(query: string, kind: UseKind): Promise<UseSums | undefined>
  /** The runs of one query against those of another. `undefined` likewise. */
  diffSets(a: string, b: string): Promise<SetDiff | undefined>
  /** `undefined` when there is no such run. `traceId` may be the beginning of one. */
  run(traceId: string, sinceSeq?: number): Promise<RunWithRows | undefined>
  span(traceId: string, spanId: string): Promise<SpanRecord | undefined>
  conversation(traceId: string): Promise<Conversation | undefined>
  /** What fills the context of its model calls without need. */
  findings(traceId: string): Promise<LintReport | undefined>
  /** These runs as one file; where there are no ids, those of the query. */
  exportRuns(format: 'otlp' | 'jsonl', query: string, ids: readonly string[]): Promise<Uint8Array>
  /** For a language model, of at most so many characters. */
  markdown(traceId: string, maxChars: number): Promise<string | undefined>
  /** All of it, in memory. */
  content(traceId: string): Promise<RunContent | undefined>
  diff(a: string, b: string): Promise<RunDiff | undefined>
  close(): void
}

/** @throws when neither a viewer nor its file can be found, saying how to start one. */
export async function openRunSource(options: RunSourceOptions = {}): Promise<RunSource> {
  assertFields<RunSourceOptions>(options, { db: a.string, url: a.string }, 'openRunSource')
  if (options.db) return new FileSource(options.db)
  const url = (options.url ?? 'http://127.0.0.1:4318').replace(/\/$/, '')
  // One that is named is there; it may have much to do.
  if (await isViewer(url, options.url === undefined ? 1_000 : 10_000)) return new ViewerSource(url)
  if (options.url)
    throw new Error(
      `No hookspan viewer answers at ${url}. Start one with \`hookspan view\`, or leave --url out.`,
    )
  return new FileSource(defaultDatabaseFile())
}

async function isViewer(url: string, timeoutMs: number): Promise<boolean> {
  try {
    const response = await fetch(`${url}/v1/hookspan`, { signal: AbortSignal.timeout(timeoutMs) })
    return ((await response.json()) as { name?: unknown }).name === 'hookspan-viewer'
  } catch {
    return false
  }
}

class ViewerSource implements RunSource {
  readonly from: string

  constructor(url: string) {
    this.from = url
  }

  async listRuns(query: string, limit: number, sort = NEWEST_FIRST, offset = 0): Promise<RunList> {
    const page = `limit=${limit}&offset=${offset}&sort=${sort}`
    return (await this.#get<RunList>(`/api/runs?q=${encodeURIComponent(query)}&${page}`))!
  }

  async search(words: string, limit: number, run?: string): Promise<SearchResult> {
    const inRun = run === undefined ? '' : `&run=${plain(run)}`
    return (await this.#get<SearchResult>(
      `/api/search?q=${encodeURIComponent(words)}&limit=${limit}${inRun}`,
    ))!
  }

  async snippets(query: string, traceIds: readonly string[]): Promise<Readonly<Record<string, Snippet>>> {
    const runs = traceIds.map(plain).join(',')
    const path = `/api/snippets?q=${encodeURIComponent(query)}&runs=${runs}`
    return (await this.#get<{ snippets: Record<string, Snippet> }>(path))?.snippets ?? {}
  }

  numbers(query: string): Promise<RunNumbers | undefined> {
    return this.#get(`/api/numbers?q=${encodeURIComponent(query)}`)
  }

  uses(query: string, kind: UseKind): Promise<UseSums | undefined> {
    return this.#get(`/api/uses/${kind}?q=${encodeURIComponent(query)}`)
  }

  diffSets(a: string, b: string): Promise<SetDiff | undefined> {
    return this.#get(`/api/sets?a=${encodeURIComponent(a)}&b=${encodeURIComponent(b)}`)
  }

  async run(traceId: string, sinceSeq = 0): Promise<RunWithRows | undefined> {
    const reply = await this.#get<{ summary: RunSummary; seq: number; columns: RowColumns }>(
      `/api/runs/${plain(traceId)}?since=${sinceSeq}`,
    )
    return reply && { summary: reply.summary, seq: reply.seq, rows: fromColumns(reply.columns) }
  }

  async span(traceId: string, spanId: string): Promise<SpanRecord | undefined> {
    return (
      await this.#get<{ span: SpanRecord }>(`/api/runs/${plain(traceId)}/spans/${plain(spanId)}?full=1`)
    )?.span
  }

  conversation(traceId: string): Promise<Conversation | undefined> {
    return this.#get(`/api/runs/${plain(traceId)}/conversation`)
  }

  findings(traceId: string): Promise<LintReport | undefined> {
    return this.#get(`/api/runs/${plain(traceId)}/lint`)
  }

  async exportRuns(format: 'otlp' | 'jsonl', query: string, ids: readonly string[]): Promise<Uint8Array> {
    const which = `q=${encodeURIComponent(query)}&runs=${ids.map(plain).join(',')}`
    const response = await this.#ask(`/api/export?format=${format}&${which}`)
    if (!response)
      throw new Error('No run matches, or the viewer is too old to export. Restart `hookspan view`.')
    return new Uint8Array(await response.arrayBuffer())
  }

  async markdown(traceId: string, maxChars: number): Promise<string | undefined> {
    const path = `/api/runs/${plain(traceId)}/markdown?chars=${maxChars}`
    return (await this.#get<{ markdown: string }>(path))?.markdown
  }

  async content(traceId: string): Promise<RunContent | undefined> {
    const run = await this.run(traceId)
    if (!run) return undefined
    // As it was sent, and read here as the viewer reads it: one request instead of one for each span.
    const sent = await this.exportRuns('otlp', '', [run.summary.traceId])
    const store = new Store({ file: ':memory:' })
    try {
      store.addSpans(finish(receivingTraces(Buffer.from(sent), 'json')).items)
      const records = [...store.records(run.summary.traceId)]
      const byId = new Map(records.map((record) => [record.spanId, record]))
      return { summary: run.summary, rows: run.rows, open: (spanId) => byId.get(spanId) }
    } finally {
      store.close()
    }
  }

  diff(a: string, b: string): Promise<RunDiff | undefined> {
    return this.#get(`/api/diff?a=${plain(a)}&b=${plain(b)}`)
  }

  close(): void {}

  async #get<T>(path: string): Promise<T | undefined> {
    return (await (await this.#ask(path))?.json()) as T | undefined
  }

  async #ask(path: string): Promise<Response | undefined> {
    const response = await fetch(this.from + path)
    if (response.status === 404) return undefined
    if (!response.ok) throw new Error(`The viewer answered ${response.status}: ${await response.text()}`)
    return response
  }
}

class FileSource implements RunSource {
  readonly from: string
  readonly #store: Store

  constructor(file: string) {
    if (!existsSync(file)) {
      throw new Error(
        `No viewer is running and ${file} is not there. Start one with \`hookspan view\`, then run your agent.`,
      )
    }
    this.from = file
    this.#store = new Store({ file })
  }

  listRuns = async (query: string, limit: number, sort = NEWEST_FIRST, offset = 0) =>
    this.#store.listRuns(query, { limit, offset, sort })
  search = async (words: string, limit: number, run?: string) => this.#store.search(words, limit, run)
  snippets = async (query: string, traceIds: readonly string[]) =>
    finish(this.#store.findingSnippets(query, traceIds))
  numbers = async (query: string) => this.#store.numbers(query)
  uses = async (query: string, kind: UseKind) => this.#store.uses(query, kind)
  diffSets = async (a: string, b: string) => this.#store.diffSets(a, b)
  run = async (traceId: string, sinceSeq = 0) => this.#store.run(traceId, sinceSeq)
  span = async (traceId: string, spanId: string) => this.#store.span(traceId, spanId)

  async conversation(traceId: string): Promise<Conversation | undefined> {
    const side = this.#side(traceId)
    return side && buildConversation(side.rows, side.open)
  }

  async findings(traceId: string): Promise<LintReport | undefined> {
    const side = this.#side(traceId)
    return side && lintRun(side.rows, side.open)
  }

  exportRuns = async (format: 'otlp' | 'jsonl', query: string, ids: readonly string[]) =>
    finish(exportingRuns(this.#store, { format, query, ids })).file
  markdown = async (traceId: string, maxChars: number) =>
    finish(writingMarkdown(this.#store, traceId, maxChars))
  content = async (traceId: string): Promise<RunContent | undefined> => this.#side(traceId)

  async diff(a: string, b: string): Promise<RunDiff | undefined> {
    const sideA = this.#side(a)
    const sideB = this.#side(b)
    return sideA && sideB && diffRuns(sideA, sideB)
  }

  close(): void {
    this.#store.close()
  }

  #side(traceId: string) {
    const run = this.#store.run(traceId)
    return run && { ...run, open: (spanId: string) => this.#store.span(run.summary.traceId, spanId) }
  }
}

/** What is no id asks for nothing rather than for another address. */
function plain(id: string): string {
  return /^[0-9a-f]{1,32}$/i.test(id) ? id.toLowerCase() : '0'.repeat(32)
}
