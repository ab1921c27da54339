import { hash } from 'node:crypto'
import { nonZero, type OperationIds } from '../internal/operation-ids.ts'

export { idsOfOperation, type OperationIds } from '../internal/operation-ids.ts'

/** Structural twin of the SDK's `IdGenerator`. */
export interface IdGenerator {
  generateTraceId(): string
  generateSpanId(): string
}

/** The ids for the next root span; set and taken within one synchronous call. */
let next: { traceId: string | undefined; spanId: string | undefined } | undefined

/** Lets the root span that `fn` starts have these ids, where the SDK uses {@link operationIdGenerator}. */
export function withIds<T>(ids: Partial<OperationIds>, fn: () => T): T {
  next = { traceId: ids.traceId, spanId: ids.spanId }
  try {
    return fn()
  } finally {
    next = undefined
  }
}

/** The span id that follows from a text, the same in every process. */
export function spanIdOf(spanKey: string): string {
  return nonZero(hash('sha256', `hookspan:span:${spanKey}`, 'hex').slice(0, 16))
}

const SLOTS = 0x10000

/**
 * Remembers which root spans there were, so that an operation id that is used again, for the next turn of a conversation
 * or another try of a job, does not give two spans of a trace one id. Takes 256 KB, and forgets rather than grows.
 */
export class RootSpans {
  readonly #last = new Int32Array(SLOTS)

  /** It was another process's all along, or is to be begun anew. */
  forget(spanId: string): void {
    this.#last[Number.parseInt(spanId.slice(0, 4), 16)] = 0
  }

  /** Whether a root span of this id has not been seen before. */
  isNew(spanId: string): boolean {
    const slot = Number.parseInt(spanId.slice(0, 4), 16)
    const rest = Number.parseInt(spanId.slice(4, 12), 16) | 0
    const isNew = this.#last[slot] !== rest
    this.#last[slot] = rest
    return isNew
  }
}

/**
 * An id generator for the OpenTelemetry SDK that gives an operation's root span the ids derived from the
 * operation's id, and random ids to everything else. `startTracing` uses it; pass it as `idGenerator` to an SDK of
 * your own.
 */
export function operationIdGenerator(): IdGenerator {
  return {
    generateTraceId() {
      const id = next?.traceId
      if (next !== undefined) next.traceId = undefined
      return id ?? randomHex(16)
    },
    generateSpanId() {
      const id = next?.spanId
      if (next !== undefined) next.spanId = undefined
      return id ?? randomHex(8)
    },
  }
}

/** Random bytes are drawn in blocks, and made digits in one call: ids are parts of that text. */
const BLOCK_BYTES = 4_096
let digits = ''
let offset = 0

function randomHex(bytes: number): string {
  const length = 2 * bytes
  for (;;) {
    if (offset + length > digits.length) {
      digits = Buffer.from(crypto.getRandomValues(new Uint8Array(BLOCK_BYTES))).toString('hex')
      offset = 0
    }
    const id = digits.slice(offset, offset + length)
    offset += length
    if (id !== NO_ID.slice(0, length)) return id
  }
}

const NO_ID = '0'.repeat(32)
