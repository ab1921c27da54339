import { describeValue, errorMessage, HookspanError } from '../../internal/errors.ts'
import type { ExportResult, ReadableSpan, SpanExporter, SpanProcessor } from './types.ts'

export interface SpanQueueOptions {
  /** Spans kept in memory while the collector is away; past it the oldest are dropped and counted. @default 50_000 */
  maxQueueSpans?: number
  /** Spans per request. @default 512 */
  maxBatchSpans?: number
  /** Characters of attribute text per request, so that no request outgrows a collector's limit. @default 2_000_000 */
  maxBatchChars?: number
  /** Milliseconds between a span's end and its sending. @default 1_000 */
  delayMs?: number
  /** Milliseconds one request may take, the exporter's own retries included. @default 5_000 */
  requestTimeoutMs?: number
  /** Told, once per outage, that sending fails, and when it works again. */
  onTrouble?: (message: string) => void
}

/** Says quickly that nobody listens, before a batch is handed to the exporter. */
export type Probe = () => Promise<Error | undefined>

export interface ExportStats {
  /** Spans that wait to be sent. */
  readonly queued: number
  readonly exported: number
  /** Spans that were given up: the queue was full, or the collector refused them for good. */
  readonly dropped: number
  /** The last failure, until something was sent again. */
  readonly lastError?: string
}

/** What each queued span is told of, to keep a copy elsewhere. */
export interface SpanSink {
  started(span: ReadableSpan): void
  ended(span: ReadableSpan): void
  /** The span's run was parked: another process ends it. */
  handedOver(span: ReadableSpan): void
  /** Everything that ended until now has been sent. */
  allSent(): void
}

const FIRST_BACKOFF_MS = 500
const LONGEST_BACKOFF_MS = 15_000
const SUCCESS = 0

/**
 * Sends spans in batches and keeps them while the collector is away: the stock processor drops a batch whose
 * sending failed. Never throws and never blocks whoever ends a span.
 */
export class SpanQueue implements SpanProcessor {
  readonly #exporter: SpanExporter
  readonly #options: Required<Omit<SpanQueueOptions, 'onTrouble'>> & Pick<SpanQueueOptions, 'onTrouble'>
  readonly #sinks: readonly SpanSink[]
  readonly #probe: Probe | undefined
  /** Somebody answered the last time. */
  #healthy = false
  #queue: ReadableSpan[] = []
  #timer: NodeJS.Timeout | undefined
  #sending: Promise<boolean> | undefined
  /** Spans at the head of the queue that are on their way. */
  #inFlight = 0
  #neverSent = 0
  #backoffMs = 0
  /** Smaller than `maxBatchSpans` while a span is searched that the collector refuses. */
  #batchLimit = Number.POSITIVE_INFINITY
  #exported = 0
  #dropped = 0
  #lastError: string | undefined
  #closed = false

  constructor(
    exporter: SpanExporter,
    options: SpanQueueOptions = {},
    sinks: readonly SpanSink[] = [],
    probe?: Probe,
  ) {
    this.#exporter = exporter
    this.#probe = probe
    this.#sinks = sinks
    this.#options = {
      maxQueueSpans: 50_000,
      maxBatchSpans: 512,
      maxBatchChars: 2_000_000,
      delayMs: 1_000,
      requestTimeoutMs: 5_000,
      ...Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)),
    }
    for (const [name, value] of Object.entries(this.#options)) {
      if (name !== 'onTrouble') assertAmount(`queue.${name}`, value, name === 'delayMs' ? 0 : 1)
    }
  }

  onStart(span: ReadableSpan): void {
    for (const sink of this.#sinks) guard(() => sink.started(span))
  }

  onEnd(span: ReadableSpan): void {
    if (this.#closed || (span.spanContext().traceFlags & 1) === 0) return
    for (const sink of this.#sinks) guard(() => sink.ended(span))
    this.#queue.push(span)
    const excess = this.#queue.length - this.#inFlight - this.#options.maxQueueSpans
    if (excess > 0) {
      this.#queue.splice(this.#inFlight, excess)
      this.#dropped += excess
    }
    const full = this.#queue.length >= this.#options.maxBatchSpans && this.#backoffMs === 0
    this.#schedule(full ? 0 : this.#options.delayMs)
  }

  /** Tells whoever keeps open spans that another process ends this one. */
  handOver(span: ReadableSpan): void {
    for (const sink of this.#sinks) guard(() => sink.handedOver(span))
  }

  stats(): ExportStats {
    const { length: queued } = this.#queue
    return {
      queued,
      exported: this.#exported,
      dropped: this.#dropped,
      ...(this.#lastError !== undefined && { lastError: this.#lastError }),
    }
  }

  /** Sends what waits, once; gives up at the first failure. Never rejects. */
  async forceFlush(): Promise<void> {
    while (this.#queue.length > 0 && (await this.#sendNext())) {}
    await this.#sending
  }

  async shutdown(): Promise<void> {
    clearTimeout(this.#timer)
    await this.forceFlush()
    this.#closed = true
    clearTimeout(this.#timer)
    this.#neverSent = this.#queue.length
    this.#dropped += this.#neverSent
    this.#queue = []
    await this.#exporter.shutdown().catch(() => {})
  }

  /** Spans that wait, and those that waited at the end. */
  get undelivered(): number {
    return this.#neverSent + this.#queue.length
  }

  /** Takes out all that waits, a request's worth each, for whoever can still send it while the process exits. */
  takeBatches(): ReadableSpan[][] {
    this.#closed = true
    const batches: ReadableSpan[][] = []
    while (this.#queue.length > 0) {
      const batch = this.#nextBatch()
      batches.push(batch)
      this.#queue.splice(0, batch.length)
    }
    return batches
  }

  /** Counts what could not be sent as undelivered. */
  giveBack(batches: readonly ReadableSpan[][]): void {
    for (const batch of batches) this.#neverSent += batch.length
  }

  #schedule(delayMs: number): void {
    if (this.#sending !== undefined || this.#closed) return
    if (this.#timer !== undefined) {
      if (delayMs > 0) return
      clearTimeout(this.#timer)
    }
    const wait = Math.max(delayMs, this.#backoffMs)
    this.#timer = setTimeout(() => void this.#run(), wait)
    // A process that is done is not held by spans; beforeExit sends them.
    this.#timer.unref()
  }

  async #run(): Promise<void> {
    this.#timer = undefined
    await this.#sendNext()
    if (this.#queue.length > 0) this.#schedule(this.#options.delayMs)
  }

  /** Sends one batch. True when it left the queue, sent or given up. */
  #sendNext(): Promise<boolean> {
    this.#sending ??= this.#send().finally(() => {
      this.#sending = undefined
    })
    return this.#sending
  }

  async #send(): Promise<boolean> {
    const batch = this.#nextBatch()
    if (batch.length === 0) return false
    this.#inFlight = batch.length
    await batch[0]?.resource.waitForAsyncAttributes?.()
    const away = this.#healthy ? undefined : await this.#probe?.()
    const result = away === undefined ? await this.#export(batch) : { code: 1, error: away }
    this.#inFlight = 0
    this.#healthy = result.code === SUCCESS
    if (result.code === SUCCESS) {
      this.#sent(batch.length)
      return true
    }
    return this.#failed(batch, result.error)
  }

  #nextBatch(): ReadableSpan[] {
    const { maxBatchSpans, maxBatchChars } = this.#options
    const batch: ReadableSpan[] = []
    let chars = 0
    for (const span of this.#queue) {
      if (batch.length >= Math.min(maxBatchSpans, this.#batchLimit)) break
      chars += sizeOf(span)
      if (batch.length > 0 && chars > maxBatchChars) break
      batch.push(span)
    }
    return batch
  }

  #export(batch: ReadableSpan[]): Promise<ExportResult> {
    return new Promise((resolve) => {
      // An exporter that never answers must not hold the queue for ever.
      const timer = setTimeout(
        () => resolve({ code: 1, error: new Error(`no answer within ${this.#options.requestTimeoutMs} ms`) }),
        this.#options.requestTimeoutMs + 1_000,
      )
      timer.unref()
      const done = (result: ExportResult) => {
        clearTimeout(timer)
        resolve(result)
      }
      try {
        this.#exporter.export(batch, done)
      } catch (error) {
        done({ code: 1, error: error as Error })
      }
    })
  }

  #sent(count: number): void {
    this.#queue.splice(0, count)
    this.#exported += count
    this.#backoffMs = 0
    this.#batchLimit *= 2
    if (this.#lastError !== undefined) this.#tell('Spans are delivered again.')
    this.#lastError = undefined
    if (this.#queue.length === 0) for (const sink of this.#sinks) guard(() => sink.allSent())
  }

  #failed(batch: ReadableSpan[], error: Error | undefined): boolean {
    const status = (error as { code?: unknown } | undefined)?.code
    const refused = status === 400 || status === 413 || status === 422
    if (refused && batch.length > 1) return this.#sendHalves(batch)
    if (refused) {
      this.#queue.shift()
      this.#dropped++
    } else {
      this.#backoffMs = Math.min(Math.max(this.#backoffMs * 2, FIRST_BACKOFF_MS), LONGEST_BACKOFF_MS)
    }
    if (this.#lastError === undefined) this.#tell(this.#trouble(status, error))
    this.#lastError = `${status === undefined ? '' : `${status} `}${errorMessage(error)}`
    return refused
  }

  /** One span the collector refuses must not take its neighbours along. */
  #sendHalves(batch: ReadableSpan[]): boolean {
    this.#batchLimit = Math.max(Math.floor(batch.length / 2), 1)
    return true
  }

  #trouble(status: unknown, error: Error | undefined): string {
    const kept = `${this.#queue.length} spans are kept in memory and sent later.`
    if (status === 401 || status === 403)
      return `The collector refuses the credentials (${status}): check its headers. ${kept}`
    if (status === 404) return `The collector has no OTLP endpoint there (404): check the URL. ${kept}`
    if (status === 413)
      return 'A span is too large for the collector (413) and was dropped: lower `maxContentBytes`.'
    if (status === 400 || status === 422)
      return `The collector refused a span (${status}) and it was dropped: ${errorMessage(error)}`
    return `Spans cannot be delivered: ${errorMessage(error)}. ${kept}`
  }

  #tell(message: string): void {
    guard(() => this.#options.onTrouble?.(message))
  }
}

/** @throws HookspanError `INVALID_OPTION`. */
function assertAmount(name: string, value: unknown, least: number): void {
  if (typeof value === 'number' && value >= least) return
  throw new HookspanError(
    'INVALID_OPTION',
    `Expected \`${name}\` to be a number >= ${least}, got ${describeValue(value)}.`,
  )
}

/** About how much text a span carries; exact sizes would cost a serialization. */
function sizeOf(span: ReadableSpan): number {
  let chars = 500
  for (const value of Object.values(span.attributes)) if (typeof value === 'string') chars += value.length
  return chars
}

function guard(fn: () => void): void {
  try {
    fn()
  } catch {
    // What watches spans must not reach whoever ends them; the queue's own counters tell what was lost.
  }
}
