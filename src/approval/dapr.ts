/** The approval routes as Dapr Agents has them: what it lists, and what its approvers post. */
import { describeValue } from '../internal/errors.ts'
import { isRecord } from '../internal/objects.ts'
import type { ApprovalRecord } from './store.ts'

/** One pending request, as Dapr lists it. */
export function daprRequest({ request }: ApprovalRecord): object {
  const { requestedAt, expiresAt } = request
  return {
    approval_request_id: request.id,
    instance_id: request.operationId,
    step_name: request.apiName,
    tool_name: request.apiName,
    step_kind: request.point.includes('Llm') ? 'llm' : 'tool',
    source: request.identifier === 'local' ? 'local' : 'mcp',
    tool_call_id: request.toolCallId,
    tool_arguments: isRecord(request.args) ? request.args : { value: request.args },
    instructions: request.instructions ?? null,
    context: {},
    requested_at: new Date(requestedAt).toISOString(),
    timeout_seconds: expiresAt === undefined ? null : Math.round((expiresAt - requestedAt) / 1_000),
    required_approver_scopes: [],
    allowed_approver_subjects: request.approvers ?? [],
    approver_audience: null,
  }
}

/** `{ approved, reason? }` as an answer of ours. @throws Error saying what is wrong with it. */
export function daprAnswer(body: unknown): { decision: 'approve' | 'reject'; reason?: string } {
  const { approved, reason, ...rest } = isRecord(body) ? body : {}
  if (typeof approved !== 'boolean') {
    throw new Error(`Expected \`approved\` to be true or false, got ${describeValue(approved)}.`)
  }
  const [stray] = Object.keys(rest)
  if (stray !== undefined) throw new Error(`The answer has the unknown field \`${stray}\`.`)
  if (reason !== undefined && reason !== null && typeof reason !== 'string') {
    throw new Error(`Expected \`reason\` to be a text, got ${describeValue(reason)}.`)
  }
  return { decision: approved ? 'approve' : 'reject', ...(typeof reason === 'string' && { reason }) }
}
