import { createHmac, timingSafeEqual } from 'node:crypto'
import { describeValue, HookspanError } from './errors.ts'
import { a, assertFields, type Fields, refusing, required, secret, shape } from './expect.ts'

const invalid = refusing('INVALID_SIGNATURE', 'The signature is not valid')

/** What a signed request carries: the Standard Webhooks headers, so that its libraries can check it, too. */
export const SIGNATURE_HEADERS = {
  id: 'webhook-id',
  timestamp: 'webhook-timestamp',
  signature: 'webhook-signature',
} as const

/** Milliseconds by which sender's and receiver's clocks may differ. */
const DEFAULT_TOLERANCE_MS = 300_000

/**
 * Signs `id.timestamp.body` with HMAC-SHA256.
 *
 * @param message.timestampMs when it is sent, in epoch milliseconds; the header carries seconds.
 */
export function signatureHeaders(message: {
  secret: string
  id: string
  body: string
  timestampMs?: number
}): Record<string, string> {
  const timestamp = String(Math.floor((message.timestampMs ?? Date.now()) / 1_000))
  return {
    [SIGNATURE_HEADERS.id]: message.id,
    [SIGNATURE_HEADERS.timestamp]: timestamp,
    [SIGNATURE_HEADERS.signature]: `v1,${sign(keyOf(message.secret), message.id, timestamp, message.body)}`,
  }
}

export interface VerifyOptions {
  /** One secret, or several while they are rotated. `whsec_` before base64, or any text. */
  secret: string | readonly string[]
  /** The request's headers, in any case. */
  headers: HeadersLike
  /** The body as it came, before it was parsed. */
  body: string | Uint8Array
  /** Milliseconds the timestamp may be off. @default 300_000 */
  toleranceMs?: number
  /** Remembers what came already. `false` checks no replay. @default one for the process */
  replay?: ReplayGuard | false
  /** Epoch milliseconds. */
  now?: number
}

const VERIFY_FIELDS: Fields<VerifyOptions> = {
  secret: secret(
    required(
      shape('a string, or a list of strings', (value) => typeof value === 'string' || a.strings.fits(value)),
    ),
  ),
  headers: required(
    shape(
      a.object.words,
      (value) => a.object.fits(value) || typeof (value as { get?: unknown } | null)?.get === 'function',
    ),
  ),
  body: required(
    shape(
      'the body as it came, a string or bytes, before it was parsed',
      (value) => typeof value === 'string' || value instanceof Uint8Array,
    ),
  ),
  toleranceMs: a.number(0),
  replay: shape('a ReplayGuard or false', (value) => value === false || value instanceof ReplayGuard),
  now: a.finite,
}

export type HeadersLike =
  | { get(name: string): string | null }
  | Readonly<Record<string, string | readonly string[] | undefined>>

/**
 * Checks a signed request: the signature in constant time, its age, and that it did not come before.
 *
 * @returns the id and the time that were signed. A request that is sent again after a failure has the same id.
 * @throws HookspanError `INVALID_SIGNATURE`, so that a forgotten check of a result cannot let a request in.
 * @example
 * app.post('/guard', (req, res) => {
 *   verifySignature({ secret, headers: req.headers, body: req.rawBody })
 *   res.json({ decision: 'proceed' })
 * })
 */
export function verifySignature(options: VerifyOptions): { id: string; timestampMs: number } {
  assertFields<VerifyOptions>(options, VERIFY_FIELDS, 'verifySignature')
  const { headers, toleranceMs = DEFAULT_TOLERANCE_MS, replay = PROCESS_GUARD, now = Date.now() } = options
  const id = header(headers, SIGNATURE_HEADERS.id)
  const timestamp = header(headers, SIGNATURE_HEADERS.timestamp)
  const given = header(headers, SIGNATURE_HEADERS.signature)
  const secrets = typeof options.secret === 'string' ? [options.secret] : options.secret
  const keys = secrets.map(keyOf)
  // Anybody can sign with an empty key: what a variable that is not set leaves behind must open nothing.
  if (keys.length === 0 || keys.some((key) => key.length === 0)) throw invalid('no secret to check it with')
  const expected = keys.map((key) => Buffer.from(sign(key, id, timestamp, options.body)))
  const candidates = given.split(' ').flatMap((part) => (part.startsWith('v1,') ? [part.slice(3)] : []))
  let matches = false
  for (const candidate of candidates.slice(0, 8)) {
    const bytes = Buffer.from(candidate)
    for (const one of expected) {
      // No early exit: how long it takes tells nothing about which one was right.
      if (bytes.length === one.length && timingSafeEqual(bytes, one)) matches = true
    }
  }
  if (!matches) throw invalid('it does not match the body')
  const timestampMs = Number(timestamp) * 1_000
  if (!/^\d{1,12}$/.test(timestamp) || !(Math.abs(now - timestampMs) <= toleranceMs)) {
    throw invalid(`its timestamp ${describeValue(timestamp)} is more than ${toleranceMs} ms off`)
  }
  // The timestamp is part of it: one that is sent again after a failure is signed anew.
  if (replay !== false && !replay.accept(`${id}.${timestamp}`, now + 2 * toleranceMs, now)) {
    throw invalid(`the request ${describeValue(id)} came before`)
  }
  return { id, timestampMs }
}

/** Remembers what came until it is too old to pass anyway. Bounded: past `maxEntries` everything is refused. */
export class ReplayGuard {
  readonly #seen = new Map<string, number>()
  readonly #maxEntries: number

  constructor(options: { maxEntries?: number } = {}) {
    assertFields(options, { maxEntries: a.number(1) }, 'ReplayGuard')
    this.#maxEntries = options.maxEntries ?? 100_000
  }

  /** False when the key came before. */
  accept(key: string, expiresAt: number, now: number = Date.now()): boolean {
    if (this.#seen.has(key)) return false
    if (this.#seen.size >= this.#maxEntries) {
      for (const [old, end] of this.#seen) {
        if (end > now) break
        this.#seen.delete(old)
      }
      // Forgetting one that may still be replayed would open what this closes.
      if (this.#seen.size >= this.#maxEntries) return false
    }
    this.#seen.set(key, expiresAt)
    return true
  }
}

const PROCESS_GUARD = new ReplayGuard()

/**
 * Warns of a secret that is short enough to be guessed.
 *
 * @throws HookspanError `INVALID_OPTION` for a secret that protects nothing.
 */
export function assertSecret(secret: unknown, owner: string): asserts secret is string {
  const bytes = typeof secret === 'string' ? keyOf(secret).length : 0
  if (bytes === 0) {
    throw new HookspanError('INVALID_OPTION', `The secret of ${owner} must be a text that is not empty.`)
  }
  if (bytes < 16)
    console.warn(`[hookspan] the secret of ${owner} can be guessed: use 16 random bytes or more.`)
}

function sign(key: Buffer, id: string, timestamp: string, body: string | Uint8Array): string {
  return createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest('base64')
}

function keyOf(secret: string): Buffer {
  return secret.startsWith('whsec_') ? Buffer.from(secret.slice(6), 'base64') : Buffer.from(secret)
}

function header(headers: HeadersLike, name: string): string {
  const value =
    typeof headers.get === 'function' ? (headers.get(name) as string | null) : find(headers as never, name)
  if (typeof value !== 'string' || value === '') throw invalid(`the header ${name} is missing`)
  return value
}

function find(headers: Record<string, unknown>, name: string): unknown {
  const value = headers[name] ?? Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1]
  return Array.isArray(value) ? value[0] : value
}
