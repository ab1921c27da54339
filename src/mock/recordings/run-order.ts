import type { HookEvent } from '../../hooks/index.ts'
import { defined } from '../../internal/objects.ts'
import { callNumber } from '../call-number.ts'

/** Where a call stands in its run. */
export interface Position {
  /** Operations in the order in which they started. */
  readonly operation: number
  /** Of the call in its operation; absent where the runtime has keys of its own. */
  readonly call?: number
  readonly step: number
  readonly index: number
}

interface Placed {
  readonly callKey?: string
  readonly stepIndex?: number
  readonly callIndex: number
}

export function positionOf(
  operation: number,
  { callKey, stepIndex = 0, callIndex: index }: Placed,
): Position {
  return { operation, ...defined({ call: callNumber(callKey) }), step: stepIndex, index }
}

/** Knows the operations of a dispatcher by the order in which they started, which parallel calls do not disturb. */
export class RunOrder {
  readonly #operations = new Map<string, { ordinal: number; path: string; run: number }>()
  readonly #runs = new Map<string, number>()

  /** Whether any has run. */
  get seen(): boolean {
    return this.#operations.size > 0
  }

  /** Told by `onStart`; later for operations that were running already. */
  note({
    operationId,
    agentName,
    parentOperationId,
  }: Pick<HookEvent, 'operationId' | 'agentName' | 'parentOperationId'>) {
    const known = this.#operations.get(operationId)
    if (known !== undefined) return known
    const parent = this.#operations.get(parentOperationId ?? '')?.path
    const name = agentName ?? (parentOperationId === undefined ? 'agent' : 'sub-agent')
    const path = parent === undefined ? name : `${parent} > ${name}`
    const run = this.#runs.get(path) ?? 0
    this.#runs.set(path, run + 1)
    const entry = { ordinal: this.#operations.size, path, run }
    this.#operations.set(operationId, entry)
    return entry
  }
}

export function comparePositions(a: Position, b: Position): number {
  if (a.operation !== b.operation) return a.operation - b.operation
  // A call that is made outside of steps has no place among them.
  if (a.call !== undefined && b.call !== undefined) return a.call - b.call
  return a.step - b.step || a.index - b.index
}
