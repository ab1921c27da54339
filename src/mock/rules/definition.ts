import type { Address } from './address.ts'
import type { Answer } from './answer.ts'

/** When a rule answers. */
export type Condition =
  | { readonly kind: 'args'; readonly expected: unknown; readonly mode: 'exact' | 'partial' }
  | { readonly kind: 'predicate'; readonly test: (args: unknown, call: MockedCall) => boolean }

/** What a rule's functions are told of a call. */
export interface MockedCall {
  readonly apiName: string
  readonly identifier: string
  readonly args: unknown
  readonly toolCallId: string
  readonly operationId: string
  readonly rootOperationId: string
  /** Agent names from the root to the calling agent. */
  readonly agentPath: readonly string[]
  readonly stepIndex: number
  /** How often the rule has answered before; with `perRun()`, in this run. */
  readonly callNumber: number
  /** Aborted when the run is aborted. */
  readonly signal: AbortSignal | undefined
}

/** What was said of a rule. */
export interface RuleDefinition {
  readonly address: Address
  readonly conditions: readonly Condition[]
  readonly answer: Answer | undefined
  readonly delayMs: number
  /** How many calls it answers; undefined for as many as come. */
  readonly times: number | undefined
  readonly optional: boolean
  readonly perRun: boolean
  readonly name: string | undefined
}

/** How many calls the rule answers before the next rule is asked. */
export function limitOf({ times, answer }: RuleDefinition): number {
  return times ?? (answer?.kind === 'sequence' ? answer.items.length : Number.POSITIVE_INFINITY)
}
