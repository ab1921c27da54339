import type { GatePoint } from '../hooks/index.ts'
import { describeValue } from '../internal/errors.ts'
import { a, assertFields, didYouMean, type Fields } from '../internal/expect.ts'
import { copyOrProblem } from '../internal/json-copy.ts'
import { isRecord } from '../internal/objects.ts'

export type ApprovalChoice = 'approve' | 'edit' | 'reject'

/** How a gate asks a human. */
export interface ApprovalOptions {
  /** Milliseconds from asking; on expiry the call is denied, never allowed. Absent: the approver's own limit. */
  readonly timeoutMs?: number
  /** What the human should know. */
  readonly instructions?: string
  /** Who may answer; empty or absent: whoever the approver lets in. */
  readonly approvers?: readonly string[]
  /** Which answers are taken. @default ['approve', 'edit', 'reject'] */
  readonly allow?: readonly ApprovalChoice[]
}

export const APPROVAL_FIELDS: Fields<ApprovalOptions> = {
  timeoutMs: a.milliseconds,
  instructions: a.string,
  approvers: a.strings,
  allow: a.someOf('approve', 'edit', 'reject'),
}

/** Version of the decision's shape and of its published JSON Schema. */
export const DECISION_SCHEMA_VERSION = '1.0'

/**
 * Why a call did not happen. A gate may use codes of its own; these are the ones the package gives.
 *
 * - `policy_denied`: a gate refused and gave no code of its own
 * - `gate_error`, `gate_timeout`, `gate_invalid`: a gate failed, and failing means no
 * - `no_approver`, `approval_error`, `approval_timeout`: nobody could be asked, asking failed, nobody answered
 * - `rejected`: a human said no
 * - `approval_mismatch`: the answer was given for other arguments
 * - `not_json`: somebody is to decide on arguments that JSON cannot carry whole
 * - `execution_unknown`: the process ended while the approved tool ran, and it is not run twice
 * - `not_capable`: the adapter of the SDK that makes the call cannot do what was asked for
 * - `hookspan_failed`: an adapter failed, where somebody was to decide on the call
 * - `budget_exceeded`, `loop_detected`, `tool_not_allowed`, `argument_denied`: the ready gates
 */
export type ReasonCode =
  | 'policy_denied'
  | 'gate_error'
  | 'gate_timeout'
  | 'gate_invalid'
  | 'no_approver'
  | 'approval_error'
  | 'approval_timeout'
  | 'approval_mismatch'
  | 'rejected'
  | 'execution_unknown'
  | 'not_json'
  | 'not_capable'
  | 'hookspan_failed'
  | 'budget_exceeded'
  | 'loop_detected'
  | 'tool_not_allowed'
  | 'argument_denied'
  | (string & {})

/** Why a gate decided as it did: recorded with every decision, and told to the model with a `deny`. */
export interface Why {
  readonly reason?: string
  readonly code?: ReasonCode
}

/** What a gate answers: plain JSON, the same for functions, commands and endpoints. */
export type Decision =
  | ({ readonly decision: 'proceed' } & Why)
  | ({ readonly decision: 'mutate'; readonly payload: unknown } & Why)
  | ({ readonly decision: 'skip'; readonly result?: unknown } & Why)
  | ({ readonly decision: 'deny'; readonly stop?: boolean } & Why)
  | ({ readonly decision: 'require_approval' } & ApprovalOptions & Why)

/** Lets it happen as it is. The same as answering nothing. */
export function proceed(): Decision {
  return { decision: 'proceed' }
}

/** Replaces what is about to happen: tool arguments, model request fields, a result, by point. */
export function mutate(payload: unknown): Decision {
  return { decision: 'mutate', payload }
}

/** Answers in place of the real thing, which is not run. */
export function skip(result?: unknown): Decision {
  return { decision: 'skip', result }
}

/**
 * Refuses. The model is told `{ denied, code, reason }` and the run goes on, unless `stop` ends it.
 *
 * @param options.code stable reason code, `policy_denied` by default.
 * @param options.stop ends the run with reason `denied`.
 */
export function deny(reason: string, options: { code?: ReasonCode; stop?: boolean } = {}): Decision {
  assertFields<{ code?: string; stop?: boolean }>(options, DENY_FIELDS, 'deny()')
  return { decision: 'deny', reason, ...options }
}

/** Asks the plugged-in approver; where there is none, the call is denied with `no_approver`. */
export function requireApproval(options: ApprovalOptions = {}): Decision {
  assertFields<ApprovalOptions>(options, APPROVAL_FIELDS, 'requireApproval()')
  return { decision: 'require_approval', ...options }
}

const DENY_FIELDS: Fields<{ code?: string; stop?: boolean }> = { code: a.string, stop: a.boolean }

const FIELDS: Record<Decision['decision'], readonly string[]> = {
  proceed: ['reason', 'code'],
  mutate: ['payload', 'reason', 'code'],
  skip: ['result', 'reason', 'code'],
  deny: ['reason', 'code', 'stop'],
  require_approval: ['timeoutMs', 'instructions', 'approvers', 'allow', 'reason', 'code'],
}

/** What has no meaning at a point is a mistake in the gate, not something to overlook. */
const NOT_AT: Partial<Record<GatePoint, readonly Decision['decision'][]>> = {
  onStart: ['skip'],
  beforeCompact: ['mutate'],
  afterStep: ['mutate', 'skip'],
}

/** What JSON cannot carry: a gate that computes nothing must not run a tool without arguments. */
const NO_JSON: ReadonlySet<string> = new Set(['undefined', 'function', 'symbol'])

const CHOICES: ReadonlySet<unknown> = new Set(['approve', 'edit', 'reject'])

/** Why `value` is no valid decision at `point`, or undefined when it is one. Unknown fields are refused. */
export function decisionProblem(value: unknown, point?: GatePoint): string | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return `expected a decision object, got ${describeValue(value)}`
  }
  const { decision, ...rest } = value as Record<string, unknown>
  if (typeof decision !== 'string' || !Object.hasOwn(FIELDS, decision)) {
    return `expected \`decision\` to be one of ${Object.keys(FIELDS).join(', ')}, got ${describeValue(decision)}`
  }
  const allowed = FIELDS[decision as Decision['decision']]
  const unknown = Object.keys(rest).find((key) => !allowed.includes(key))
  if (unknown !== undefined)
    return `unknown field \`${unknown}\` in a "${decision}" decision.${didYouMean(unknown, allowed)}`
  if (point !== undefined && NOT_AT[point]?.includes(decision as Decision['decision'])) {
    return `"${decision}" has no meaning at ${point}`
  }
  if (decision === 'mutate' && NO_JSON.has(typeof rest.payload)) {
    return `a "mutate" decision needs a \`payload\`, got ${describeValue(rest.payload)}`
  }
  if (decision === 'mutate' && point === 'beforeToolCall') {
    const judged = copyOrProblem(rest.payload)
    if ('problem' in judged) return `the arguments of a "mutate" decision: ${judged.problem}`
  }
  if (decision === 'mutate' && point === 'beforeLlmCall' && !isRecord(rest.payload)) {
    return `a model request is mutated with an object of fields, got ${describeValue(rest.payload)}`
  }
  if (decision === 'mutate' && point === 'beforeComplete' && !isRecord(rest.payload)) {
    return `an outcome is mutated with an object of fields, got ${describeValue(rest.payload)}`
  }
  if (decision === 'mutate' && point === 'beforeCallAgent' && typeof rest.payload !== 'string') {
    return `an agent's instruction is mutated with a string, got ${describeValue(rest.payload)}`
  }
  if (decision === 'mutate' && point === 'afterLlmCall' && !isRecord(rest.payload)) {
    return `a model reply is mutated with an object of its fields, got ${describeValue(rest.payload)}`
  }
  return fieldProblem(rest)
}

function fieldProblem(fields: Record<string, unknown>): string | undefined {
  for (const key of ['reason', 'code', 'instructions']) {
    if (fields[key] !== undefined && typeof fields[key] !== 'string') {
      return `expected \`${key}\` to be a string, got ${describeValue(fields[key])}`
    }
  }
  const { stop, timeoutMs, approvers, allow } = fields
  if (stop !== undefined && typeof stop !== 'boolean') {
    return `expected \`stop\` to be a boolean, got ${describeValue(stop)}`
  }
  if (timeoutMs !== undefined && !(typeof timeoutMs === 'number' && timeoutMs >= 1)) {
    return `expected \`timeoutMs\` to be a number of milliseconds >= 1, got ${describeValue(timeoutMs)}`
  }
  if (
    approvers !== undefined &&
    !(Array.isArray(approvers) && approvers.every((a) => typeof a === 'string'))
  ) {
    return `expected \`approvers\` to be a list of strings, got ${describeValue(approvers)}`
  }
  if (
    allow !== undefined &&
    !(Array.isArray(allow) && allow.length > 0 && allow.every((a) => CHOICES.has(a)))
  ) {
    return `expected \`allow\` to be a list of approve, edit, reject, got ${describeValue(allow)}`
  }
  return undefined
}
