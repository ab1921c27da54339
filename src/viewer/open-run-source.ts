/** Runs for the command line: from the viewer that runs, or, when none does, from the file it left; or from a Jaeger. */

import { existsSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { HookspanError } from '../internal/errors.ts'
import { a, assertFields, type Fields } from '../internal/expect.ts'
import { defined } from '../internal/objects.ts'
import { fromColumns, type RowColumns } from './model/columns.ts'
import type { Conversation } from './model/conversation-items.ts'
import type { RunContent } from './model/data-set.ts'
import { finish } from './model/in-turns.ts'
import type { LintReport } from './model/lint.ts'
import { NEWEST_FIRST } from './model/query-keys.ts'
import type { RunDiff } from './model/run-diff.ts'
import type { RunNumbers } from './model/run-numbers.ts'
import type { UseKind, UseSums } from './model/run-uses.ts'
import type { SetDiff } from './model/set-diff.ts'
import type { Snippet } from './model/snippet.ts'
import type { RunSummary, SpanRecord } from './model/span.ts'
import { receivingTraces } from './otlp/receive.ts'
import type { RunSource, RunWithRows } from './run-source.ts'
import type { SearchResult } from './store/answers.ts'
import { defaultDatabaseFile } from './store/open-database.ts'
import type { RunList } from './store/reader.ts'
import { Store } from './store/store.ts'
import { StoreSource } from './store-source.ts'
import { noViewerAt, whoAnswers } from './who-answers.ts'

/** A terminal waits so long for a search to be whole; then what is missing is told. */
const WHOLE_MS = 10_000
const AGAIN_MS = 50

export interface RunSourceOptions {
  /** Reads this file instead of asking a viewer. */
  db?: string
  /**
   * Where a viewer may be running.
   *
   * @default 'http://127.0.0.1:4318'
   */
  url?: string
  /** Reads from this Jaeger instead: `jaeger=http://jaeger:16686`. */
  from?: string
  /**
   * Of each service, so many runs at most are fetched from there, the newest; 1,500 at most.
   *
   * @default 100
   */
  most?: number
}

const FIELDS: Fields<RunSourceOptions> = { db: a.name, url: a.name, from: a.string, most: a.integer(1) }

/** @throws when neither a viewer nor its file can be found, saying how to start one. */
export async function openRunSource(options: RunSourceOptions = {}): Promise<RunSource> {
  assertFields<RunSourceOptions>(options, FIELDS, 'openRunSource')
  if (options.from !== undefined) return openJaeger(options as RunSourceOptions & { from: string })
  if (options.db) return fileSource(options.db)
  const url = (options.url ?? 'http://127.0.0.1:4318').replace(/\/$/, '')
  // One that is named is there; it may have much to do.
  if (await isViewer(url, options.url === undefined ? 1_000 : 10_000)) return new ViewerSource(url)
  if (options.url) throw noViewerAt(url)
  return fileSource(defaultDatabaseFile())
}

/** Its code is loaded only where it is asked for. */
async function openJaeger({ from, most, db, url }: RunSourceOptions & { from: string }): Promise<RunSource> {
  if (db !== undefined || url !== undefined)
    throw new HookspanError(
      'INVALID_OPTION',
      `Expected \`from\` or \`${db === undefined ? 'url' : 'db'}\`, got both.`,
    )
  const { JaegerSource } = await import('./jaeger/jaeger-source.ts')
  return JaegerSource.open(from, defined({ most }))
}

function fileSource(file: string): RunSource {
  if (!existsSync(file)) {
    throw new Error(
      `No viewer is running and ${file} is not there. Start one with \`hookspan view\`, then run your agent.`,
    )
  }
  return new StoreSource(new Store({ file, answerMs: WHOLE_MS, onlyReads: true }), file)
}

async function isViewer(url: string, timeoutMs: number): Promise<boolean> {
  const { name } = (await whoAnswers(url, timeoutMs)) ?? {}
  // The second shows runs that are elsewhere.
  return name === 'hookspan-viewer' || name === 'hookspan-page'
}

class ViewerSource implements RunSource {
  readonly from: string

  constructor(url: string) {
    this.from = url
  }

  async listRuns(query: string, limit: number, sort = NEWEST_FIRST, offset = 0): Promise<RunList> {
    const page = `limit=${limit}&offset=${offset}&sort=${sort}`
    return (await this.#whole<RunList>(`/api/runs?q=${encodeURIComponent(query)}&${page}`))!
  }

  async search(words: string, limit: number, run?: string): Promise<SearchResult> {
    const inRun = run === undefined ? '' : `&run=${plain(run)}`
    return (await this.#whole<SearchResult>(
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
    return this.#whole(`/api/uses/${kind}?q=${encodeURIComponent(query)}`)
  }

  diffSets(a: string, b: string): Promise<SetDiff | undefined> {
    return this.#whole(`/api/sets?a=${encodeURIComponent(a)}&b=${encodeURIComponent(b)}`)
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

  /** A viewer answers with what it has found so far; asked again, it searches on. */
  async #whole<T extends { indexing: number }>(path: string): Promise<T | undefined> {
    const untilMs = performance.now() + WHOLE_MS
    for (;;) {
      const answer = await this.#get<T>(path)
      if (!answer?.indexing || performance.now() > untilMs) return answer
      await sleep(AGAIN_MS)
    }
  }

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

/** What is no id asks for nothing rather than for another address. */
function plain(id: string): string {
  return /^[0-9a-f]{1,32}$/i.test(id) ? id.toLowerCase() : '0'.repeat(32)
}
