import { COMPLETION_REASONS, type GatePoint, type LlmResponse } from '../hooks/index.ts'
import { describeValue, errorMessage } from '../internal/errors.ts'
import { a, assertFields, didYouMean, type Fields } from '../internal/expect.ts'
import { copyOrProblem } from '../internal/json-copy.ts'
import { isRecord } from '../internal/objects.ts'
import { snapshot } from '../internal/snapshot.ts'

export type ApprovalChoice = 'approve' | 'edit' | 'reject'

/** How a gate asks a human. */
export interface ApprovalOptions {
  /** Milliseconds from asking; on expiry the call is denied, never allowed. Absent or `Infinity`: the approver's own limit. */
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

/**
 * A decision as it is enforced, or why `value` is none at `point`; unknown fields are refused. Each field is read once, and
 * what was looked at is what is given: an object may answer otherwise the next time, or keep a field where no copy has it.
 */
export function decisionOf(
  value: unknown,
  point?: GatePoint,
): { readonly decision: Decision } | { readonly problem: string } {
  if (!isRecord(value)) return { problem: `expected a decision object, got ${describeValue(value)}` }
  const { decision } = value
  if (typeof decision !== 'string' || !Object.hasOwn(FIELDS, decision)) {
    const known = Object.keys(FIELDS).join(', ')
    return { problem: `expected \`decision\` to be one of ${known}, got ${describeValue(decision)}` }
  }
  const allowed = FIELDS[decision as Decision['decision']]
  const unknown = Object.getOwnPropertyNames(value).find(
    (key) => key !== 'decision' && !allowed.includes(key),
  )
  if (unknown !== undefined) {
    return {
      problem: `unknown field \`${unknown}\` in a "${decision}" decision.${didYouMean(unknown, allowed)}`,
    }
  }
  const fields: Record<string, unknown> = {}
  for (const key of allowed) {
    const field = value[key]
    if (field !== undefined) fields[key] = field
  }
  const misplaced = problemAt(point, decision as Decision['decision'], fields)
  if (misplaced !== undefined) return { problem: misplaced }
  const copied = snapshot(fields)
  const problem = fieldProblem(copied)
  return problem === undefined ? { decision: { decision, ...copied } as Decision } : { problem }
}

/** What is wrong with a decision at its point. The arguments that a `mutate` gives become what JSON carries of them. */
function problemAt(
  point: GatePoint | undefined,
  decision: Decision['decision'],
  fields: Record<string, unknown>,
): string | undefined {
  if (point !== undefined && NOT_AT[point]?.includes(decision))
    return `"${decision}" has no meaning at ${point}`
  if (decision === 'skip') return skipProblem(point, fields.result)
  if (decision === 'require_approval') return allowProblem(point, fields.allow)
  if (decision !== 'mutate') return undefined
  const { payload } = fields
  if (NO_JSON.has(typeof payload)) {
    return `a "mutate" decision needs a \`payload\`, got ${describeValue(payload)}`
  }
  if (point === 'beforeToolCall') {
    const judged = copyOrProblem(payload)
    if ('problem' in judged) return `the arguments of a "mutate" decision: ${judged.problem}`
    fields.payload = judged.copy
  }
  return point && payloadProblem(point, payload)
}

const REPLY_FIELDS: Fields<LlmResponse> = {
  id: a.string,
  model: a.string,
  content: a.string,
  reasoning: a.string,
  refusal: a.string,
  finishReasons: a.strings,
  conversationId: a.string,
  toolCalls: a.objects,
  providerToolCalls: a.objects,
  parts: a.objects,
  alternatives: a.objects,
}

const OUTCOME_FIELDS: Fields<{ reason: string; content: unknown }> = {
  reason: a.oneOf(...COMPLETION_REASONS),
  content: a.value,
}

/** Why a payload cannot stand at a point, whoever put it there: a gate, or a human who edits. */
export function payloadProblem(point: GatePoint, payload: unknown): string | undefined {
  switch (point) {
    case 'beforeLlmCall':
      if (isRecord(payload)) return undefined
      return `a model request is changed to an object of fields, got ${describeValue(payload)}`
    case 'beforeComplete':
      return fieldsProblem<{ reason: string; content: unknown }>(payload, OUTCOME_FIELDS, "a run's outcome")
    case 'beforeCallAgent':
      if (typeof payload === 'string') return undefined
      return `an agent's instruction is changed to a string, got ${describeValue(payload)}`
    case 'afterLlmCall':
      return replyProblem(payload)
  }
  return undefined
}

/** What stands in for a model call is a text or a reply. */
function skipProblem(point: GatePoint | undefined, result: unknown): string | undefined {
  if (result instanceof Promise) return `what stands in has to be there already, got ${describeValue(result)}`
  if (point !== 'beforeLlmCall' && point !== 'afterLlmCall') return undefined
  if (result === undefined || result === null || typeof result === 'string') return undefined
  return replyProblem(result)
}

/** A reader of the runtime's own may have found more in a reply than these. */
function replyProblem(reply: unknown): string | undefined {
  if (!isRecord(reply)) return `a model reply is an object of its fields, got ${describeValue(reply)}`
  const known = Object.keys(REPLY_FIELDS).filter((name) => reply[name] !== undefined)
  if (known.length === 0) {
    const [stray] = Object.keys(reply)
    const hint = stray === undefined ? '' : didYouMean(stray, Object.keys(REPLY_FIELDS))
    return `a model reply has one of ${Object.keys(REPLY_FIELDS).join(', ')}, got ${describeValue(reply)}.${hint}`
  }
  const told = Object.fromEntries(known.map((name) => [name, reply[name]]))
  return fieldsProblem<LlmResponse>(told, REPLY_FIELDS, 'a model reply')
}

/** Whether a human can change what is asked about: where no gate can, there is nothing to edit. */
export function isEditable(point: GatePoint): boolean {
  return NOT_AT[point]?.includes('mutate') !== true
}

function allowProblem(point: GatePoint | undefined, allow: unknown): string | undefined {
  if (point === undefined || isEditable(point) || !Array.isArray(allow)) return undefined
  return allow.every((choice) => choice === 'edit') ? `there is nothing to edit at ${point}` : undefined
}

function fieldsProblem<T extends object>(
  value: unknown,
  fields: Fields<T>,
  whose: string,
): string | undefined {
  if (!isRecord(value)) return `${whose} is an object of its fields, got ${describeValue(value)}`
  try {
    assertFields<T>(value, fields, whose)
    return undefined
  } catch (error) {
    return errorMessage(error)
  }
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
