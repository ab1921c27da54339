/** A page of runs that are elsewhere: what a request asks for is fetched before it is answered, and nothing is changed. */
import { errorMessage } from '../../internal/errors.ts'
import { FRESH_MS, isWholeTraceId, type JaegerFeed } from '../jaeger/feed.ts'
import type { Store } from '../store/store.ts'
import { HttpError } from './body.ts'

/** While a page is open. */
const EVERY_MS = 5_000
/** Runs that are brought for one request. */
const MOST_AT_ONCE = 20
const IS_HERE = Number.POSITIVE_INFINITY

export class FetchedRuns {
  readonly #feed: JaegerFeed
  readonly #store: Store
  readonly #changed: (traceIds: Set<string>) => void
  #timer: NodeJS.Timeout | undefined
  #isRefreshing = false

  constructor(feed: JaegerFeed, store: Store, changed: (traceIds: Set<string>) => void) {
    this.#feed = feed
    this.#store = store
    this.#changed = changed
  }

  /** Where they are, for people. */
  get name(): string {
    return this.#feed.name
  }

  /** Looks for news as long as somebody looks. */
  start(isWatched: () => boolean): void {
    this.#timer = setInterval(() => isWatched() && void this.#refresh(), EVERY_MS)
    this.#timer.unref()
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  /** What the answer to a query is not. */
  notes(query: string): string[] {
    return this.#feed.notes(query)
  }

  /** @throws HttpError 403 for what would change something, or asks what no Jaeger knows. */
  assertReads(method: string, path: string): void {
    const isRead = method === 'GET' || method === 'HEAD'
    if (path.startsWith('/v1/'))
      throw new HttpError(
        403,
        `This page shows ${this.name} and takes no spans. Send them to your collector.`,
      )
    if (path.startsWith('/api/approvals'))
      throw new HttpError(
        403,
        `This page shows ${this.name}, read only: approvals are answered where they are kept.`,
      )
    if (!isRead)
      throw new HttpError(
        403,
        `This page shows ${this.name}, read only: nothing can be marked, imported or removed.`,
      )
  }

  /** @throws HttpError 502 when what is asked for cannot be fetched, and is not here. */
  async before(path: string, query: URLSearchParams): Promise<void> {
    const [, id, rest] = /^\/(?:api\/runs|run)\/([0-9a-f]{4,32})(\/.*)?$/.exec(path) ?? []
    const runs = [id, ...namedRuns(path, query)].filter((one) => one !== undefined)
    for (const run of runs.slice(0, MOST_AT_ONCE))
      await this.#bring(run, rest === undefined ? FRESH_MS : IS_HERE)
    for (const asked of runs.length > 0 ? [] : queries(path, query)) await this.#reach(asked)
  }

  async #reach(query: string): Promise<void> {
    try {
      this.#tell(await this.#feed.reach(query))
    } catch (error) {
      throw new HttpError(502, errorMessage(error))
    }
  }

  /** One that is here is shown at once, and what came to it later is told. */
  async #bring(id: string, maxAgeMs: number): Promise<void> {
    if (!isWholeTraceId(id)) {
      if (!this.#store.hasRun(id)) await this.#reach('')
      return
    }
    const opening = this.#feed.open(id, maxAgeMs).then((isNew) => isNew && this.#tell(new Set([id])))
    if (this.#store.hasRun(id)) return void opening.catch(() => {})
    await opening.catch((error) => {
      throw new HttpError(502, errorMessage(error))
    })
  }

  #tell(changed: Set<string>): void {
    if (changed.size > 0) this.#changed(changed)
  }

  async #refresh(): Promise<void> {
    if (this.#isRefreshing) return
    this.#isRefreshing = true
    // What cannot be fetched is told by `notes`.
    const changed = await this.#feed.refresh().catch(() => new Set<string>())
    this.#isRefreshing = false
    this.#tell(changed)
  }
}

function namedRuns(path: string, query: URLSearchParams): string[] {
  const given =
    path === '/api/diff'
      ? [query.get('a'), query.get('b')]
      : path === '/api/search'
        ? [query.get('run')]
        : path === '/api/acts' || path === '/api/export'
          ? (query.get('runs') ?? '').split(',')
          : []
  return given.filter((id) => id !== null && id !== '') as string[]
}

function queries(path: string, query: URLSearchParams): string[] {
  if (path === '/api/sets') return [query.get('a') ?? '', query.get('b') ?? '']
  if (
    path === '/api/runs' ||
    path === '/api/numbers' ||
    path === '/api/export' ||
    path.startsWith('/api/uses/')
  )
    return [query.get('q') ?? '']
  return path === '/api/search' ? [''] : []
}
