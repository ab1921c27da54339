/** Runs of a Jaeger: each question has what it needs fetched first, and is answered out of what was fetched. */
import type { RunContent } from '../model/data-set.ts'
import type { UseKind } from '../model/run-uses.ts'
import type { RunSource, RunWithRows } from '../run-source.ts'
import { StoreSource } from '../store-source.ts'
import { JaegerError } from './client.ts'
import { FRESH_MS, isWholeTraceId, type JaegerFeed } from './feed.ts'
import { openFeed } from './open-feed.ts'

/** For what is asked about a run that was just opened. */
const IS_HERE_MS = Number.POSITIVE_INFINITY

export class JaegerSource implements RunSource {
  readonly from: string
  readonly #feed: JaegerFeed
  readonly #inner: StoreSource

  private constructor(feed: JaegerFeed, inner: StoreSource) {
    this.from = feed.name
    this.#feed = feed
    this.#inner = inner
  }

  /** @throws HookspanError for an address that is none. */
  static open(from: string, options: { most?: number } = {}): JaegerSource {
    const { feed, store } = openFeed(from, options)
    return new JaegerSource(feed, new StoreSource(store, feed.name))
  }

  async listRuns(query: string, limit: number, sort?: string, offset?: number) {
    // Who wants the newest run alone need not wait for others.
    const most = query === '' && limit === 1 && !offset ? 1 : undefined
    await this.#feed.reach(query, most)
    const list = await this.#inner.listRuns(query, limit, sort, offset)
    return { ...list, problems: [...list.problems, ...this.#feed.notes(query)] }
  }

  async search(words: string, limit: number, run?: string) {
    if (run === undefined) await this.#feed.reach('')
    return this.#inner.search(words, limit, run === undefined ? undefined : await this.#bring(run))
  }

  snippets = (query: string, traceIds: readonly string[]) => this.#inner.snippets(query, traceIds)

  async numbers(query: string) {
    await this.#feed.reach(query)
    return this.#inner.numbers(query)
  }

  async uses(query: string, kind: UseKind) {
    await this.#feed.reach(query)
    return this.#inner.uses(query, kind)
  }

  async diffSets(a: string, b: string) {
    for (const query of [a, b]) await this.#feed.reach(query)
    const diff = await this.#inner.diffSets(a, b)
    const notes = new Set([...this.#feed.notes(a), ...this.#feed.notes(b)])
    return { ...diff, problems: [...diff.problems, ...notes] }
  }

  async run(traceId: string, sinceSeq?: number): Promise<RunWithRows | undefined> {
    const id = await this.#bring(traceId, FRESH_MS)
    return this.#inner.run(id, sinceSeq)
  }

  async span(traceId: string, spanId: string) {
    return this.#inner.span(await this.#bring(traceId), spanId)
  }

  async conversation(traceId: string) {
    return this.#inner.conversation(await this.#bring(traceId))
  }

  async findings(traceId: string) {
    return this.#inner.findings(await this.#bring(traceId))
  }

  async exportRuns(format: 'otlp' | 'jsonl', query: string, ids: readonly string[]) {
    if (ids.length === 0) await this.#feed.reach(query)
    for (const id of ids) await this.#bring(id)
    return this.#inner.exportRuns(format, query, ids)
  }

  async markdown(traceId: string, maxChars: number) {
    return this.#inner.markdown(await this.#bring(traceId), maxChars)
  }

  async content(traceId: string): Promise<RunContent | undefined> {
    return this.#inner.content(await this.#bring(traceId))
  }

  async diff(a: string, b: string) {
    return this.#inner.diff(await this.#bring(a), await this.#bring(b))
  }

  close(): void {
    this.#inner.close()
  }

  /** Has the run here, if there is one; gives its id, or what was given. */
  async #bring(given: string, maxAgeMs = IS_HERE_MS): Promise<string> {
    const id = given.toLowerCase()
    if (isWholeTraceId(id)) {
      await this.#feed.open(id, maxAgeMs)
      return id
    }
    // Jaeger takes the beginning of an id for the whole of a short one.
    const known = await this.#inner.run(id)
    if (known) return known.summary.traceId
    await this.#feed.reach('')
    const found = await this.#inner.run(id)
    if (found) return found.summary.traceId
    throw new JaegerError(
      `No run whose id begins with "${given.slice(0, 40)}" is among those that were fetched from ${this.from}, or several are: ` +
        'the newest of the last 24 hours. Jaeger finds older ones only by their whole id of 32 digits.',
    )
  }
}
