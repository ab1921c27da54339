import {
  type ApprovalOptions,
  type Gate,
  type GateContext,
  type GatePoint,
  requireApproval,
} from '../gates/index.ts'
import { assertKnown, assertLimit, common, type ReadyGateOptions } from './options.ts'

export interface RequireHumanOptions extends ReadyGateOptions, ApprovalOptions {
  /** @default 'beforeToolCall' */
  point?: GatePoint | readonly GatePoint[]
  /** Globs over the tools that a human has to approve. @default all */
  match?: string | readonly string[]
  /** Which calls need it. One that throws denies. @default all */
  when?: (ctx: GateContext) => boolean
}

/**
 * Has a human decide. The approver asks; where there is none, the call is denied.
 *
 * @example
 * requireHuman({ match: ['delete_*', 'send_mail'], timeoutMs: 3_600_000, instructions: 'Does the customer want it?' })
 */
export function requireHuman(options: RequireHumanOptions = {}): Gate {
  const gate = common(options, 'require-human')
  const known = [
    'id',
    'priority',
    'shadow',
    'point',
    'match',
    'when',
    'timeoutMs',
    'instructions',
    'approvers',
    'allow',
  ]
  assertKnown(options, known, `gate "${gate.id}"`)
  assertLimit(options.timeoutMs, 'timeoutMs', `gate "${gate.id}"`, 1)
  const { point = 'beforeToolCall', match, when, timeoutMs, instructions, approvers, allow } = options
  const decision = requireApproval({
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(instructions !== undefined && { instructions }),
    ...(approvers !== undefined && { approvers }),
    ...(allow !== undefined && { allow }),
  })
  return {
    ...gate,
    point,
    ...(match !== undefined && { match }),
    decide: (ctx) => (when === undefined || when(ctx) ? decision : undefined),
  }
}
