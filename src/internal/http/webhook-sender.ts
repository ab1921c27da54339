import { channel } from 'node:diagnostics_channel'
import { appendFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { MAX_TIMER_MS, timeoutSignal, unref } from '../async.ts'
import { errorMessage } from '../errors.ts'
import { a, assertFields, type Fields, required } from '../expect.ts'
import { makeFolder } from '../make-folder.ts'
import { defined } from '../objects.ts'
import { assertSecret } from '../signature.ts'
import { type DeliverySpan, deliverySpan } from './delivery-span.ts'
import { assertHeaders, assertTarget, postJson } from './post-json.ts'
import { retryAfter } from './retry-after.ts'

export interface WebhookOptions {
  url: string
  /** Signs each request with HMAC-SHA256. Warned of when shorter than 16 bytes. */
  secret?: string
  headers?: Readonly<Record<string, string>>
  /** @default false */
  allowPrivateAddresses?: boolean
  /** Milliseconds for one attempt. @default 10_000 */
  timeoutMs?: number
  /** Attempts in all before a delivery is given up. @default 8 */
  maxAttempts?: number
  /** Milliseconds before the second attempt; doubled each time, less a random part. @default 500 */
  baseDelayMs?: number
  /** @default 60_000 */
  maxDelayMs?: number
  /** Deliveries that wait or are under way; past it a new one is given up at once. @default 1_000 */
  maxQueued?: number
  /** Requests at once. @default 4 */
  concurrency?: number
  /** Where deliveries that were given up are written, one JSON object a line. In a config file, a path from the file's folder. */
  deadLetterPath?: string
}

export const WEBHOOK_FIELDS: Fields<WebhookOptions> = {
  url: required(a.value),
  secret: a.value,
  headers: a.value,
  allowPrivateAddresses: a.boolean,
  timeoutMs: a.number(1),
  maxAttempts: a.number(1),
  baseDelayMs: a.number(1),
  maxDelayMs: a.number(1),
  maxQueued: a.number(1),
  concurrency: a.number(1),
  deadLetterPath: a.name,
}

/** Published on `node:diagnostics_channel` for each attempt's end. */
export interface WebhookMessage {
  readonly status: 'delivered' | 'retrying' | 'dead'
  readonly webhookId: string
  /** The idempotency id, the same for each attempt. */
  readonly deliveryId: string
  /** Without query: it may hold a secret. */
  readonly url: string
  readonly attempt: number
  readonly durationMs: number
  readonly statusCode?: number
  readonly error?: string
}

const WEBHOOK_CHANNEL = 'hookspan:webhook'
const outcomes = channel(WEBHOOK_CHANNEL)

export interface Delivery {
  readonly id: string
  readonly body: string
  /** Of what is told about: the delivery is a span of that trace, and the receiver gets the span's context. */
  readonly traceparent?: string
}

/** Since the sender was made; `pending` wait or are under way. */
export interface DeliveryCounts {
  readonly delivered: number
  readonly givenUp: number
  readonly pending: number
}

interface QueuedDelivery extends Delivery {
  attempts: number
  signedAtMs: number
  lastError: string
  readonly span: DeliverySpan
  readonly queuedAt: number
  readonly done: (delivered: boolean) => void
}

/**
 * Delivers JSON to one endpoint: signed, in a bounded queue, again after failures that may pass (no connection, 408,
 * 429, 5xx), with a dead-letter file for the rest. Never throws for what the endpoint does.
 */
export class WebhookSender {
  readonly #id: string
  readonly #options: Required<Omit<WebhookOptions, 'secret' | 'deadLetterPath' | 'url'>>
  readonly #url: URL
  readonly #secret: string | undefined
  readonly #deadLetterPath: string | undefined
  readonly #waiting = new Set<QueuedDelivery>()
  readonly #ready: QueuedDelivery[] = []
  #running = 0
  #delivered = 0
  #givenUp = 0
  readonly #onExit = () => this.#buryAll('the process ended')

  /** @throws HookspanError `INVALID_OPTION`. */
  constructor(id: string, options: WebhookOptions) {
    const owner = `webhook "${id}"`
    assertFields<WebhookOptions>(options, WEBHOOK_FIELDS, owner)
    const { secret, deadLetterPath, headers = {}, allowPrivateAddresses = false } = options
    const { timeoutMs = 10_000, maxAttempts = 8, baseDelayMs = 500, maxDelayMs = 60_000 } = options
    const { maxQueued = 1_000, concurrency = 4 } = options
    const numbers = { timeoutMs, maxAttempts, baseDelayMs, maxDelayMs, maxQueued, concurrency }
    this.#url = assertTarget(options.url, owner, allowPrivateAddresses)
    if (secret !== undefined) assertSecret(secret, owner)
    assertHeaders(headers, owner)
    this.#id = id
    this.#secret = secret
    this.#deadLetterPath = deadLetterPath && resolve(deadLetterPath)
    this.#options = { ...numbers, headers, allowPrivateAddresses }
  }

  get counts(): DeliveryCounts {
    return { delivered: this.#delivered, givenUp: this.#givenUp, pending: this.#waiting.size }
  }

  /** Without query: it may hold a secret. */
  get shownUrl(): string {
    return `${this.#url.origin}${this.#url.pathname}`
  }

  /** Resolves once it was delivered (true) or given up (false). */
  send(delivery: Delivery): Promise<boolean> {
    return new Promise((done) => {
      const span = deliverySpan(this.#id, this.shownUrl, delivery)
      const waiting: QueuedDelivery = {
        ...delivery,
        ...span,
        attempts: 0,
        signedAtMs: 0,
        lastError: '',
        queuedAt: Date.now(),
        done,
      }
      if (this.#waiting.size >= this.#options.maxQueued) return this.#bury(waiting, 'the queue was full')
      if (this.#waiting.size === 0) process.on('exit', this.#onExit)
      this.#waiting.add(waiting)
      this.#ready.push(waiting)
      this.#next()
    })
  }

  #next(): void {
    while (this.#running < this.#options.concurrency) {
      const one = this.#ready.shift()
      if (one === undefined) return
      this.#running++
      this.#attempt(one).finally(() => {
        this.#running--
        this.#next()
      })
    }
  }

  async #attempt(one: QueuedDelivery): Promise<void> {
    const startedAt = performance.now()
    const { timeoutMs, headers, allowPrivateAddresses, maxAttempts } = this.#options
    one.attempts++
    // Signatures count in seconds: of two in the same one, a receiver takes the second for a replay of the first.
    one.signedAtMs = Math.max(Date.now(), one.signedAtMs + 1_000)
    let statusCode: number | undefined
    let retryAfterMs = 0
    try {
      const reply = await postJson({
        url: this.#url,
        body: one.body,
        id: one.id,
        ...defined({ secret: this.#secret }),
        signedAtMs: one.signedAtMs,
        headers: { ...headers, ...defined({ traceparent: one.traceparent }) },
        signal: timeoutSignal(timeoutMs),
        maxBodyBytes: 65_536,
        allowPrivateAddresses,
      })
      statusCode = reply.status
      if (statusCode >= 200 && statusCode < 300) {
        this.#publish(one, 'delivered', startedAt, statusCode)
        return this.#finish(one, true)
      }
      one.lastError = `status ${statusCode}`
      retryAfterMs = retryAfter(reply.headers['retry-after']) ?? 0
    } catch (error) {
      one.lastError = errorMessage(error)
      if ((error as { code?: unknown }).code === 'PRIVATE_ADDRESS') statusCode = 0
    }
    const mayPass = statusCode === undefined || statusCode === 408 || statusCode === 429 || statusCode >= 500
    if (!mayPass || one.attempts >= maxAttempts) {
      this.#publish(one, 'dead', startedAt, statusCode)
      return this.#bury(one, one.lastError)
    }
    this.#publish(one, 'retrying', startedAt, statusCode)
    const timer = setTimeout(
      () => {
        this.#ready.push(one)
        this.#next()
      },
      Math.min(
        Math.max(Math.min(retryAfterMs, this.#options.maxDelayMs), this.#backoffMs(one.attempts)),
        MAX_TIMER_MS,
      ),
    )
    // A process that has nothing else to do ends; what waits goes to the dead-letter file.
    unref(timer)
  }

  #backoffMs(attempts: number): number {
    const { baseDelayMs, maxDelayMs } = this.#options
    const full = Math.min(maxDelayMs, baseDelayMs * 2 ** (attempts - 1))
    return full * (0.5 + Math.random() / 2)
  }

  #finish(one: QueuedDelivery, delivered: boolean): void {
    one.span.end(delivered, one.attempts, one.lastError)
    if (delivered) this.#delivered++
    else this.#givenUp++
    this.#waiting.delete(one)
    if (this.#waiting.size === 0) process.off('exit', this.#onExit)
    one.done(delivered)
  }

  #bury(one: QueuedDelivery, why: string): void {
    const { id, body, attempts, queuedAt } = one
    if (this.#deadLetterPath !== undefined) {
      const line = {
        webhookId: this.#id,
        url: this.shownUrl,
        id,
        at: new Date().toISOString(),
        queuedAt,
        attempts,
        why,
        body,
      }
      try {
        makeFolder(dirname(this.#deadLetterPath), { mode: 0o700 })
        appendFileSync(this.#deadLetterPath, `${JSON.stringify(line)}\n`, { mode: 0o600 })
      } catch (error) {
        console.warn(
          `[hookspan] webhook "${this.#id}": the dead-letter file cannot be written: ${errorMessage(error)}`,
        )
      }
    } else {
      console.warn(`[hookspan] webhook "${this.#id}": a delivery was given up: ${why}`)
    }
    this.#finish(one, false)
  }

  #buryAll(why: string): void {
    for (const one of [...this.#waiting])
      this.#bury(one, one.lastError === '' ? why : `${why}; ${one.lastError}`)
  }

  #publish(
    one: QueuedDelivery,
    status: WebhookMessage['status'],
    startedAt: number,
    statusCode: number | undefined,
  ): void {
    if (!outcomes.hasSubscribers) return
    outcomes.publish({
      status,
      webhookId: this.#id,
      deliveryId: one.id,
      url: this.shownUrl,
      attempt: one.attempts,
      durationMs: performance.now() - startedAt,
      ...defined({ statusCode }),
      ...(status !== 'delivered' && { error: one.lastError }),
    } satisfies WebhookMessage)
  }
}
