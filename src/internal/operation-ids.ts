import { hash } from 'node:crypto'
import { expected } from './expect.ts'

export interface OperationIds {
  readonly traceId: string
  readonly spanId: string
}

/**
 * The trace and root span id of an operation, the same in every process: SHA-256 of its id. Processes that know
 * the operation's id write into one trace without a shared store.
 */
export function idsOfOperation(operationId: string): OperationIds {
  if (typeof operationId !== 'string') throw expected('the id of an operation to be a string', operationId)
  const digest = hash('sha256', `hookspan:operation:${operationId}`, 'hex')
  return { traceId: nonZero(digest.slice(0, 32)), spanId: nonZero(digest.slice(32, 48)) }
}

/** All zeros is the one value the W3C format forbids. */
export function nonZero(id: string): string {
  return /^0+$/.test(id) ? `${id.slice(0, -1)}1` : id
}
