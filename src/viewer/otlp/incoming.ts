/** What a request brings, ready to store. */
import { errorMessage } from '../../internal/errors.ts'
import type { OtlpLogRecord, OtlpResource, OtlpScope } from '../../internal/otlp/types.ts'
import { MAX_ITEMS, TooMany } from './limits.ts'
import type { NotedSpans } from './noted-spans.ts'

export interface Origin {
  /** Equal for equal resource and scope, to store each once. */
  key: string
  resource: OtlpResource
  scope: OtlpScope
}

/** Spans of one trace and one origin, packed as they came: what they hold is read when someone looks. */
export interface IncomingSpans {
  traceId: string
  origin: Origin
  /** At most `MAX_CHUNK_SPANS`. */
  count: number
  /** When the first of them started. */
  startUs: number
  /** Whether one of them has no parent: perhaps the run came whole. */
  hasRoot: boolean
  /** Protobuf spans, each with its tag and length; or the text of an array of OTLP/JSON spans. */
  body: Uint8Array | string
  /** What was noted of them while they were checked, for who reads them at once; not of JSON. */
  noted?: NotedSpans
}

/** More are split, so that opening one span never reads a whole run; a larger single span stays whole. */
export const MAX_CHUNK_SPANS = 4096
export const MAX_CHUNK_BYTES = 128 * 1024

export interface IncomingLog {
  traceId: string
  spanId: string
  record: OtlpLogRecord
}

export interface Received<T> {
  items: T[]
  /** Spans or log records taken; an item may hold many. */
  accepted: number
  rejected: number
  /** Why the first rejected one was rejected. */
  reason: string
  /** How many more may come. */
  left: number
}

export function nothingReceived<T>(): Received<T> {
  return { items: [], accepted: 0, rejected: 0, reason: '', left: MAX_ITEMS }
}

export function reject(received: Received<unknown>, error: unknown, count = 1): void {
  received.rejected += count
  received.reason ||= errorMessage(error)
}

/** One more of the request. @throws TooMany */
export function admit(received: Received<unknown>): void {
  if (--received.left < 0) throw new TooMany()
}
