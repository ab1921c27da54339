/** Fills a store from Jaeger: with the runs that are asked for, and with what came to them since. */
import { createHash } from 'node:crypto'
import { errorMessage } from '../../internal/errors.ts'
import { tellsOfAgents } from '../model/digest.ts'
import type { IncomingSpans } from '../otlp/incoming.ts'
import type { Store } from '../store/store.ts'
import { takeTurns } from '../turns.ts'
import { type AskedRange, askedRange } from './asked-range.ts'
import { type JaegerClient, JaegerError, TooLarge } from './client.ts'
import { readingAnswer } from './read-answer.ts'

export interface JaegerFeedOptions {
  /** Runs of one service that are fetched at most, the newest. */
  most: number
}

/** As many as Jaeger's own page shows at most. */
export const MOST_RUNS = 1_500
export const USUAL_RUNS = 100
/** What was asked a moment ago is not asked again. */
export const FRESH_MS = 2_000
/** Spans come that much later than they started, and what looked for them must find them: batches, queues, sampling. */
const OVERLAP_MS = 120_000
/** The clocks of those who sent may be ahead. */
const AHEAD_MS = 300_000
const MOST_SERVICES = 200
const MOST_LOADS = 100
const AT_ONCE = 4

/** What was asked for once, and is kept up to date as often as it is asked for again. */
interface Load {
  range: AskedRange
  most: number
  askedMs: number
  /** Of which there are more runs than were fetched. */
  cut: string[]
  /** That were not asked after. */
  servicesLeft: number
  /** That had traces, and none of them of an agent. */
  strangers: string[]
}

export class JaegerFeed {
  readonly #client: JaegerClient
  readonly #store: Store
  readonly #most: number
  readonly #loads = new Map<string, Load>()
  readonly #running = new Map<string, Promise<Set<string>>>()
  /** Of each run, its batches that are stored, and when it was last fetched and last heard of. */
  readonly #runs = new Map<string, { digests: Set<string>; fetchedMs: number; heardMs: number }>()
  /** At so many, those are forgotten that are in the store no more. */
  #mostKnown = 10_000
  #lastKey = ''
  #failure: { message: string; sinceMs: number } | undefined
  #rejected = ''

  constructor(client: JaegerClient, store: Store, { most }: JaegerFeedOptions) {
    this.#client = client
    this.#store = store
    this.#most = most
  }

  get name(): string {
    return this.#client.name
  }

  /**
   * Fetches what a query may find; gives the runs that changed.
   *
   * @param most Runs of one service; default: as many as the feed was made for.
   * @throws JaegerError when nothing was fetched for it yet. Later, what was fetched stays, and `notes` tells why it is old.
   */
  async reach(query: string, most = this.#most): Promise<Set<string>> {
    const range = askedRange(query, Date.now())
    this.#lastKey = range.key
    return this.#once(`reach ${range.key}`, () => this.#bring(range, most))
  }

  /** What was asked for last is brought up to date, and runs that were not over are. */
  async refresh(): Promise<Set<string>> {
    const changed = new Set<string>()
    const last = this.#loads.get(this.#lastKey)
    if (last) for (const id of await this.reach(last.range.key, last.most)) changed.add(id)
    const { runs } = this.#store.listRuns('status:running', { limit: 20, offset: 0 })
    for (const { traceId } of runs) {
      if (await this.open(traceId, FRESH_MS).catch(() => false)) changed.add(traceId)
    }
    return changed
  }

  /**
   * Fetches a run by its whole id, unless that was done less than `maxAgeMs` ago. Says whether anything came.
   *
   * @throws JaegerError
   */
  async open(traceId: string, maxAgeMs: number = FRESH_MS): Promise<boolean> {
    const run = this.#runs.get(traceId)
    // It may have been removed to make room.
    if (run && Date.now() - run.fetchedMs < maxAgeMs && this.#store.hasRun(traceId)) return false
    const changed = await this.#once(`open ${traceId}`, () => this.#fetchRun(traceId))
    return changed.size > 0
  }

  /** What the answer to a query is not: a sentence each. */
  notes(query: string): string[] {
    const range = askedRange(query, Date.now())
    const load = this.#loads.get(range.key)
    const notes: string[] = []
    if (this.#failure)
      notes.push(
        `${this.#failure.message} What is shown was fetched before ${new Date(this.#failure.sinceMs).toISOString().slice(0, 19)}Z.`,
      )
    if (!load) return notes
    if (range.isDefault)
      notes.push(
        'Jaeger searches within a time: these runs are of 24 hours. since:7d, or after: and before:, say another.',
      )
    if (load.cut.length > 0)
      notes.push(
        `Of ${listed(load.cut)} Jaeger has more runs in this time than the ${load.most} newest, which were fetched: sums are over those. ` +
          `Say a shorter time or service:NAME${load.most < MOST_RUNS ? `, or fetch more with --most, up to ${MOST_RUNS}` : ''}.`,
      )
    if (load.servicesLeft > 0)
      notes.push(
        `Jaeger knows ${load.servicesLeft + MOST_SERVICES} services, and ${load.servicesLeft} were not asked after. Say service:NAME.`,
      )
    if (load.strangers.length > 0)
      notes.push(
        `Of ${listed(load.strangers)} the newest traces have no span of an agent, a model or a tool: such traces are left out unless service:NAME names theirs.`,
      )
    if (range.hasWords)
      notes.push('Jaeger cannot search for words: they were looked for in the runs that were fetched.')
    if (this.#rejected) notes.push(this.#rejected)
    return notes
  }

  /** Who asks meanwhile for the same waits for the same answer. */
  #once(key: string, work: () => Promise<Set<string>>): Promise<Set<string>> {
    const running = this.#running.get(key)
    if (running) return running
    const done = work().finally(() => this.#running.delete(key))
    this.#running.set(key, done)
    return done
  }

  async #bring(range: AskedRange, most: number): Promise<Set<string>> {
    const before = this.#loads.get(range.key)
    const known = before && before.most >= most ? before : undefined
    const nowMs = Date.now()
    // What lies in the past changes no more.
    if (known && (nowMs - known.askedMs < FRESH_MS || (range.toMs ?? nowMs) < known.askedMs - OVERLAP_MS))
      return new Set()
    const fromMs = known ? Math.max(range.fromMs, known.askedMs - OVERLAP_MS) : range.fromMs
    try {
      const load = await this.#search({ ...range, fromMs }, known?.most ?? most, nowMs)
      // What was cut of the last minutes alone says nothing of the whole.
      const kept = known ? { ...known, range, askedMs: nowMs } : load.load
      this.#remember(range.key, kept)
      this.#failure = undefined
      return load.changed
    } catch (error) {
      if (!before) throw error
      this.#failure ??= { message: errorMessage(error), sinceMs: before.askedMs }
      return new Set()
    }
  }

  /** The latest questions: who asks one of long ago again has all of it looked at. */
  #remember(key: string, load: Load): void {
    this.#loads.delete(key)
    this.#loads.set(key, load)
    for (const oldest of this.#loads.keys()) {
      if (this.#loads.size <= MOST_LOADS) break
      this.#loads.delete(oldest)
    }
  }

  async #search(
    range: AskedRange,
    most: number,
    nowMs: number,
  ): Promise<{ load: Load; changed: Set<string> }> {
    const services = (await this.#client.services()).filter(range.fits)
    const asked = services.slice(0, MOST_SERVICES)
    const load: Load = {
      range,
      most,
      askedMs: nowMs,
      cut: [],
      servicesLeft: services.length - asked.length,
      strangers: [],
    }
    const changed = new Set<string>()
    const rest = asked.values()
    const ask = async () => {
      for (const service of rest) {
        const found = await this.#searchService(service, range, most, nowMs)
        if (found.isStranger) load.strangers.push(service)
        else if (found.isCut) load.cut.push(service)
        for (const id of found.changed) changed.add(id)
      }
    }
    await Promise.all(Array.from({ length: AT_ONCE }, ask))
    return { load, changed }
  }

  /** Where the runs are too large for one answer, fewer of them. */
  async #searchService(
    service: string,
    { fromMs, toMs, namesServices }: AskedRange,
    most: number,
    nowMs: number,
  ): Promise<{ changed: Set<string>; isCut: boolean; isStranger: boolean }> {
    for (let limit = most; ; limit = Math.floor(limit / 4)) {
      try {
        const until = toMs ?? nowMs + AHEAD_MS
        const body = await this.#client.search({ service, fromMs, toMs: until, most: limit })
        const { traceIds, left, changed } = body
          ? await this.#take(body, namesServices)
          : { traceIds: 0, left: 0, changed: new Set<string>() }
        const isStranger = left > 0 && left === traceIds
        return { changed, isCut: limit < most || traceIds >= limit, isStranger }
      } catch (error) {
        if (!(error instanceof TooLarge) || limit < 4) throw error
      }
    }
  }

  async #fetchRun(traceId: string): Promise<Set<string>> {
    try {
      const body = await this.#client.trace(traceId)
      return body ? (await this.#take(body)).changed : new Set()
    } catch (error) {
      if (!(error instanceof TooLarge)) throw error
      throw new JaegerError(`Run ${traceId} is too large to be shown here. ${error.message}`)
    }
  }

  /**
   * Stores what is new of an answer.
   *
   * @param takesAll also traces of which no agent knows: Jaeger has those of all that a team runs, and its own.
   */
  async #take(
    body: Buffer,
    takesAll = true,
  ): Promise<{ traceIds: number; left: number; changed: Set<string> }> {
    const { items, rejected, reason } = await takeTurns(readingAnswer(body, this.name))
    if (rejected > 0) this.#rejected = `${rejected} spans that Jaeger gave could not be read: ${reason}`
    this.#forgetRemoved()
    const changed = new Set<string>()
    const byTrace = Map.groupBy(items, (item) => item.traceId)
    let left = 0
    for (const [traceId, all] of byTrace) {
      if (!takesAll && !this.#runs.has(traceId) && !all.some((item) => tellsOfAgents(item.body.toString()))) {
        left++
        continue
      }
      const run = this.#runs.get(traceId) ?? { digests: new Set<string>(), fetchedMs: 0, heardMs: 0 }
      // It was removed to make room.
      if (!this.#store.hasRun(traceId)) run.digests.clear()
      const fresh = all
        .map((item) => ({ item, digest: digestOf(item) }))
        .filter(({ digest }) => !run.digests.has(digest))
      run.fetchedMs = Date.now()
      this.#runs.set(traceId, run)
      if (fresh.length === 0) continue
      run.heardMs = Math.max(run.heardMs, ...fresh.map(({ item }) => lastEndMs(item)))
      // Heard of when it last ended something, not when it was fetched: else what died years ago would look alive.
      const heardMs = Math.min(run.heardMs, Date.now())
      const spans = fresh.map(({ item }) => item)
      // First: another answer may bring the same meanwhile.
      for (const { digest } of fresh) run.digests.add(digest)
      try {
        await takeTurns(this.#store.addingSpans(spans, heardMs))
      } catch (error) {
        for (const { digest } of fresh) run.digests.delete(digest)
        throw error
      }
      changed.add(traceId)
    }
    return { traceIds: byTrace.size, left, changed }
  }

  /** Of a page that is open for weeks, memory holds no more than the store does. */
  #forgetRemoved(): void {
    if (this.#runs.size <= this.#mostKnown) return
    for (const traceId of this.#runs.keys()) if (!this.#store.hasRun(traceId)) this.#runs.delete(traceId)
    this.#mostKnown = Math.max(10_000, 2 * this.#runs.size)
  }
}

function digestOf({ origin, body }: IncomingSpans): string {
  return createHash('sha1').update(origin.key).update('\0').update(body).digest('base64')
}

/** In a text that a span holds, the quotes would be escaped. */
function lastEndMs({ body, startUs }: IncomingSpans): number {
  let last = startUs / 1000
  for (const [, nanos] of body.toString().matchAll(/"endTimeUnixNano":\s*"?(\d+)/g))
    last = Math.max(last, Number(nanos) / 1e6)
  return last
}

function listed(names: readonly string[]): string {
  const some = names.slice(0, 3).join(', ')
  return names.length > 3 ? `${some} and ${names.length - 3} more services` : some
}

export function isWholeTraceId(text: string): boolean {
  return /^[0-9a-f]{32}$/i.test(text)
}
