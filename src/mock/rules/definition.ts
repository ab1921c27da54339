import type { Address } from './address.ts'
import type { Answer } from './answer.ts'
import type { MockedCall } from './mocked-call.ts'

/** When a rule answers. */
export type Condition =
  | { readonly kind: 'args'; readonly expected: unknown; readonly mode: 'exact' | 'partial' }
  | { readonly kind: 'predicate'; readonly test: (args: unknown, call: MockedCall) => boolean }

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
