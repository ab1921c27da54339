/** The spans of one run, put together from everything that came of it: repeated, late, out of order, begun and ended. */
import { installedPrices } from '../../wire/prices.ts'
import type { SpanRow } from '../model/span.ts'
import { rowOf } from '../model/span-row.ts'
import type { SpanFacts } from '../otlp/read-span.ts'
import { type Chunk, documentOf } from './chunk.ts'

export interface StoredSpan {
  /** Its state is `ended` or, for want of knowing better, `running`. */
  row: SpanRow
  /** Of a snapshot, since when it is so. */
  sentEndUs: number
  conversationId: string
  reason: string
  origin: number
  /** Where it is packed; a later chunk has a higher number. */
  chunk: number
  index: number
}

export class RunSpans {
  readonly #forSums: boolean
  readonly #byId = new Map<string, StoredSpan>()
  /** How many spans of a chunk are still shown, of how many. */
  readonly #shown = new Map<number, { left: number; spans: number }>()
  #ordered: StoredSpan[] | undefined
  /** The last chunk that was added. */
  seq = 0
  newestUs = 0
  /** Documents of spans that were replaced since `settle`, and chunks of which nothing is left. */
  superseded: number[] = []
  emptied: { chunk: number; spans: number }[] = []

  /** `forSums`: its rows are not shown, and may lack what no sum is made of. */
  constructor(forSums = false) {
    this.#forSums = forSums
  }

  get size(): number {
    return this.#byId.size
  }

  add(id: number, chunk: Pick<Chunk, 'length' | 'facts'>, origin: number, service: string): void {
    this.seq = id
    this.#ordered = undefined
    this.#shown.set(id, { left: chunk.length, spans: chunk.length })
    for (let index = 0; index < chunk.length; index++) {
      const facts = chunk.facts(index, this.#forSums)
      if (!facts) continue
      this.newestUs = Math.max(this.newestUs, facts.startUs, facts.endUs)
      const known = this.#byId.get(facts.spanId)
      // The ended span replaces its snapshots. One of those that comes late replaces neither it nor a later one.
      if (known && facts.endUs === 0 && (known.row.endUs > 0 || isOlder(facts, origin, known))) {
        this.#drop(id, index)
        continue
      }
      if (known) {
        this.#drop(known.chunk, known.index)
        // It comes where the chunk does that it is in: that of the other one may be gone when the run is read anew.
        this.#byId.delete(facts.spanId)
      }
      this.#byId.set(facts.spanId, {
        row: storedRow(facts, service),
        sentEndUs: facts.sentEndUs,
        conversationId: facts.digest.conversationId,
        reason: facts.digest.reason,
        origin,
        chunk: id,
        index,
      })
    }
  }

  get(spanId: string): StoredSpan | undefined {
    return this.#byId.get(spanId)
  }

  /** By start; those that start together as they came. */
  ordered(): readonly StoredSpan[] {
    this.#ordered ??= [...this.#byId.values()].sort((a, b) => a.row.startUs - b.row.startUs)
    return this.#ordered
  }

  /** The first that is told, in order of start. */
  get conversationId(): string {
    return this.ordered().find((span) => span.conversationId)?.conversationId ?? ''
  }

  /** Whether each span has ended, came once, and below a parent that came: then nothing but another span changes the run. */
  get isWhole(): boolean {
    if (this.superseded.length > 0) return false
    // Children come beside one another: their parent is looked for once.
    let parentOf = ''
    for (const { row } of this.#byId.values()) {
      if (row.endUs === 0) return false
      if (row.parentSpanId === parentOf) continue
      parentOf = row.parentSpanId
      if (parentOf !== '' && !this.#byId.has(parentOf)) return false
    }
    return true
  }

  /** To be called when what was superseded has been removed. */
  settle(): void {
    this.superseded = []
    this.emptied = []
  }

  #drop(chunk: number, index: number): void {
    this.superseded.push(documentOf(chunk, index))
    const shown = this.#shown.get(chunk)!
    if (--shown.left === 0) this.emptied.push({ chunk, spans: shown.spans })
  }
}

/** Of two states of a span that has not ended. That its process died is the last that is told of that process. */
function isOlder({ digest, sentEndUs }: SpanFacts, origin: number, known: StoredSpan): boolean {
  const knownDied = known.row.state === 'interrupted'
  if (origin === known.origin && digest.died !== knownDied) return knownDied
  return sentEndUs < known.sentEndUs
}

function storedRow(facts: SpanFacts, service: string): SpanRow {
  const { endUs, error } = facts
  const row = rowOf(facts, facts.digest, {
    endUs,
    state: endUs > 0 ? 'ended' : facts.digest.died ? 'interrupted' : 'running',
    error,
    service,
  })
  const costUsd = estimatedCost(facts, row)
  if (costUsd === undefined) return row
  row.costUsd = costUsd
  row.costEstimated = true
  return row
}

interface Counts {
  inputTokens: number
  outputTokens: number
  cachedInputTokens?: number
  cacheCreationInputTokens?: number
  cacheCreation1hInputTokens?: number
}

/** By the table of prices, as of the time of the call; of what its trace does not price. */
function estimatedCost({ digest: { unpriced } }: SpanFacts, row: SpanRow): number | undefined {
  const { inputTokens, outputTokens, cachedTokens, startUs } = row
  if (unpriced === undefined || unpriced.model === '' || inputTokens + outputTokens === 0) return undefined
  const { provider, model, cacheCreationTokens, cacheCreation1hTokens } = unpriced
  const usage: Counts = { inputTokens, outputTokens }
  if (cachedTokens > 0) usage.cachedInputTokens = cachedTokens
  if (cacheCreationTokens > 0) usage.cacheCreationInputTokens = cacheCreationTokens
  if (cacheCreation1hTokens > 0) usage.cacheCreation1hInputTokens = cacheCreation1hTokens
  const costUsd = installedPrices()?.({ provider, model, usage, atMs: startUs / 1000 })
  return costUsd !== undefined && costUsd > 0 ? costUsd : undefined
}
