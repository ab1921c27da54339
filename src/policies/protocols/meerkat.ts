import type { Decision, GateContext, GatePoint } from '../../gates/index.ts'
import { describeValue } from '../../internal/errors.ts'
import { defined, isRecord } from '../../internal/objects.ts'
import { type Dialect, sessionOf } from './dialect.ts'

/** `run_failed` is missing: a failure cannot be denied. It is the hook `onError`. */
const POINTS: Partial<Record<GatePoint, string>> = {
  onStart: 'run_started',
  beforeLlmCall: 'pre_llm_request',
  afterLlmCall: 'post_llm_response',
  beforeToolCall: 'pre_tool_execution',
  afterToolCall: 'post_tool_execution',
  afterStep: 'turn_boundary',
  beforeComplete: 'run_completed',
}

const REASON_CODES = ['policy_violation', 'safety_violation', 'schema_violation', 'timeout', 'runtime_error']

/**
 * Meerkat's hooks: an invocation is answered with `{ decision?: { decision: 'allow' | 'deny', ... } }`. As there, no
 * decision is no objection, a denial ends the run, and a field that is not known is no answer.
 */
export const meerkat: Dialect = {
  points: Object.keys(POINTS) as GatePoint[],
  maxStatus: 299,
  question: (ctx) => ({
    point: POINTS[ctx.point],
    session_id: sessionOf(ctx),
    ...defined({ turn_number: ctx.stepIndex }),
    ...viewOf(ctx),
  }),
  decision(answer) {
    const { decision } = fields(answer, ['decision'], 'the answer')
    if (decision === undefined || decision === null) return { decision: 'proceed' }
    return deciding(decision)
  },
}

function deciding(given: unknown): Decision {
  const known = ['decision', 'hook_id', 'reason_code', 'message', 'payload']
  const { decision, reason_code: code, message } = fields(given, known, '`decision`')
  if (decision === 'allow') {
    return { decision: 'proceed', ...(typeof message === 'string' && { reason: message }) }
  }
  if (decision !== 'deny') {
    throw new Error(`expected \`decision.decision\` to be allow or deny, got ${describeValue(decision)}`)
  }
  if (!REASON_CODES.includes(code as string)) {
    const expected = REASON_CODES.join(', ')
    throw new Error(`expected \`decision.reason_code\` to be one of ${expected}, got ${describeValue(code)}`)
  }
  if (typeof message !== 'string') {
    throw new Error(`expected \`decision.message\` to be a text, got ${describeValue(message)}`)
  }
  return { decision: 'deny', reason: message, code: code as string, stop: true }
}

function fields(value: unknown, known: readonly string[], owner: string): Record<string, unknown> {
  if (!isRecord(value)) throw new Error(`expected ${owner} to be an object, got ${describeValue(value)}`)
  const stray = Object.keys(value).find((name) => !known.includes(name))
  if (stray !== undefined) throw new Error(`${owner} has the unknown field \`${stray}\``)
  return value
}

/** What the point is about, in Meerkat's words. */
function viewOf(ctx: GateContext): object {
  const { payload, toolCallId = '', apiName = '' } = ctx
  const tool = { tool_use_id: toolCallId, name: apiName, ...provenanceOf(ctx) }
  const given = isRecord(payload) ? payload : {}
  switch (ctx.point) {
    case 'onStart':
      return { prompt: textOf(payload) }
    case 'beforeLlmCall':
      return {
        llm_request: {
          max_tokens: given.max_completion_tokens ?? given.max_output_tokens ?? given.max_tokens ?? 0,
          ...(typeof given.temperature === 'number' && { temperature: given.temperature }),
          message_count: Array.isArray(given.messages) ? given.messages.length : 0,
        },
      }
    case 'afterLlmCall':
      return {
        llm_response: {
          assistant_text: textOf(given.content),
          tool_call_names: namesOf(given.toolCalls),
          ...(Array.isArray(given.finishReasons) && { stop_reason: given.finishReasons[0] }),
        },
      }
    case 'beforeToolCall':
      return { tool_call: { ...tool, args: payload } }
    case 'afterToolCall': {
      const text = ctx.content ?? textOf(payload)
      const is_error = ctx.success === false
      return { tool_result: { ...tool, content: text, content_blocks: [{ type: 'text', text }], is_error } }
    }
    default:
      return {}
  }
}

function provenanceOf({ source, identifier }: GateContext): object {
  return source === undefined ? {} : { provenance: { kind: source, source_id: identifier } }
}

function namesOf(calls: unknown): unknown[] {
  return Array.isArray(calls) ? calls.map((call) => (isRecord(call) ? call.apiName : undefined)) : []
}

function textOf(value: unknown): string {
  if (typeof value === 'string') return value
  return value === undefined ? '' : (JSON.stringify(value) ?? '')
}
