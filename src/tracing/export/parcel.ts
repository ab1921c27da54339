import { errorMessage } from '../../internal/errors.ts'
import { type SpanBytes, spanBytes } from './span-bytes.ts'
import { spanOfBytes } from './span-of-bytes.ts'
import type { ReadableSpan } from './types.ts'

/** Where a record is in the spool, in bytes of one of its files. Records are delivered in the order of their places. */
export interface Place {
  readonly segment: number
  readonly start: number
  readonly end: number
}

/** How much goes into one request. */
export interface RequestLimits {
  readonly spans: number
  readonly chars: number
}

/** A span on its way to the collector: as the SDK made it, as the bytes that the spool wrote, or both. */
export interface Parcel {
  readonly span?: ReadableSpan
  readonly bytes?: SpanBytes
  /** About how many bytes are sent. */
  readonly size: number
  /** Where it is on disk. Without it, memory has the only copy. */
  place?: Place
}

export function bytesOf({ bytes, span }: Parcel): SpanBytes {
  return bytes ?? spanBytes(span as ReadableSpan)
}

/** @throws RangeError for bytes that are not those of a span: the disk changed them. */
export function spanOf({ bytes, span }: Parcel): ReadableSpan {
  return span ?? spanOfBytes(bytes as SpanBytes)
}

/** About how much text a span carries; exact sizes would cost a serialization. */
export function sizeOf(span: ReadableSpan): number {
  const { attributes } = span
  let chars = 500
  for (const key in attributes) {
    const value = attributes[key]
    if (typeof value === 'string') chars += value.length
  }
  return chars
}

/** What became of a request. */
export type Answer =
  /** `rejected`: how many of the spans were not taken, for good. */
  | { readonly state: 'accepted'; readonly rejected: number; readonly message?: string }
  /** One of these spans, or their number, is the reason: asked again, the answer is the same. */
  | { readonly state: 'refused'; readonly status: number; readonly message: string }
  /** No spans are taken there at all, or not like this. */
  | { readonly state: 'unwanted'; readonly status: number; readonly message: string }
  /** Nobody there, or busy, or not to be reached for now. */
  | Failure

export interface Failure {
  readonly state: 'failed'
  readonly message: string
  readonly status?: number
  /** The error's code, for example `ECONNREFUSED`. */
  readonly code?: string
  /** Milliseconds after which the collector wants to be asked again. */
  readonly retryAfterMs?: number
}

export interface SpanSender {
  /** Never rejects. */
  send(parcels: readonly Parcel[]): Promise<Answer>
  shutdown(): Promise<void>
}

/** What `fn` gives; or the answer as of a collector that refuses the spans, so that the one at fault is found. */
export function written<T>(fn: () => T): T | Extract<Answer, { state: 'refused' }> {
  try {
    return fn()
  } catch (error) {
    return { state: 'refused', status: 0, message: errorMessage(error) }
  }
}
