import { APPROVAL_FIELDS } from '../gates/decision.ts'
import { POINTS } from '../gates/gate.ts'
import {
  type ApprovalOptions,
  type Gate,
  type GateContext,
  type GatePoint,
  requireApproval,
} from '../gates/index.ts'
import { a, type Fields, yesOrNo } from '../internal/expect.ts'
import { GLOBS } from '../internal/glob.ts'
import { defined } from '../internal/objects.ts'
import { common, READY, type ReadyGateOptions } from './options.ts'

export interface RequireHumanOptions extends ReadyGateOptions, ApprovalOptions {
  /** @default 'beforeToolCall' */
  point?: GatePoint | readonly GatePoint[]
  /** Globs over the tools that a human has to approve. @default all */
  match?: string | readonly string[]
  /** Which calls need it. One that throws denies. @default all */
  when?: (ctx: GateContext) => boolean
}

export const REQUIRE_HUMAN: Fields<RequireHumanOptions> = {
  ...READY,
  point: POINTS,
  match: GLOBS,
  when: a.function,
  ...APPROVAL_FIELDS,
}

/**
 * Has a human decide. The approver asks; where there is none, the call is denied.
 *
 * @example
 * requireHuman({ match: ['delete_*', 'send_mail'], timeoutMs: 3_600_000, instructions: 'Does the customer want it?' })
 */
export function requireHuman(options: RequireHumanOptions = {}): Gate {
  const gate = common(options, REQUIRE_HUMAN, 'require-human')
  const { point = 'beforeToolCall', match, when, timeoutMs, instructions, approvers, allow } = options
  const decision = requireApproval(defined({ timeoutMs, instructions, approvers, allow }))
  return {
    ...gate,
    ...defined({ match }),
    point,
    decide: (ctx) =>
      when === undefined || yesOrNo(when(ctx), `\`when\` of gate "${gate.id}"`) ? decision : undefined,
  }
}
