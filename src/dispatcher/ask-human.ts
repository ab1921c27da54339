import type { AskResult } from '../gates/chain.ts'
import type { ApprovalAnswer, ApprovalOptions, ApprovalRequest, Approver, Gate } from '../gates/index.ts'
import type { HumanAction, ToolCallContext } from '../hooks/index.ts'
import { MAX_TIMER_MS } from '../internal/async.ts'
import { describeValue, errorMessage } from '../internal/errors.ts'
import { digestOf } from '../internal/json.ts'
import { snapshot } from '../internal/snapshot.ts'
import type { CallSite, OperationCore } from './operation-core.ts'
import type { Scopes } from './scopes.ts'

class Expired extends Error {}

/** Asks the approver about one tool call, shown as an activity of its own. Never throws: no answer is a refusal. */
export async function askHuman(
  core: OperationCore,
  site: CallSite,
  scopes: Scopes,
  call: ToolCallContext,
  options: ApprovalOptions,
  gate: Gate,
): Promise<AskResult> {
  const approver = core.approver ?? core.host.approver()
  if (approver === undefined) {
    const reason = `gate "${gate.id}" requires an approval, and no approver is plugged in`
    return { kind: 'deny', code: 'no_approver', reason, stop: false, gateId: gate.id }
  }
  const request = requestFor(core, call, options)
  const { identifier, apiName, toolCallId, args } = call
  const pendingTools = [{ identifier, apiName, args, toolCallId }]
  const where = site.stepIndex === undefined ? {} : { stepIndex: site.stepIndex }
  const shown = {
    pendingTools,
    ...(options.instructions !== undefined && { instructions: options.instructions }),
  }
  const human = scopes.open({ kind: 'human', ...shown, requestId: request.id }, core.info, core.timestamp)
  const startedAt = performance.now()
  core.emit('beforeHumanIntervention', {
    ...where,
    ...shown,
    ...(request.expiresAt !== undefined && { expiresAt: request.expiresAt }),
  })
  const verdict = await human.run(() => settle(approver, request, options, core.signal))
  const waitedMs = performance.now() - startedAt
  const told = {
    ...where,
    ...(verdict.reason !== undefined && { rejectionReason: verdict.reason }),
    ...(verdict.approver !== undefined && { approver: verdict.approver }),
    waitedMs,
    toolCallIds: [toolCallId],
  }
  core.emit('afterHumanIntervention', { ...told, action: verdict.action })
  if (verdict.result.kind !== 'approve' && verdict.result.stop) {
    core.emit('onStopByHumanIntervention', {
      ...told,
      reason: verdict.action === 'timeout' ? 'timeout' : 'rejected',
    })
  }
  const { approver: who, reason } = verdict
  human.end(
    {
      action: verdict.action,
      waitedMs,
      ...(who !== undefined && { approver: who }),
      ...(reason !== undefined && { rejectionReason: reason }),
      ...(verdict.error !== undefined && { error: verdict.error }),
    },
    core.timestamp,
  )
  return verdict.result
}

function requestFor(core: OperationCore, call: ToolCallContext, options: ApprovalOptions): ApprovalRequest {
  const { operationId, rootOperationId, agentName } = core.info
  const requestedAt = core.record.clock()
  const args = snapshot(call.args)
  return {
    id: `apr_${crypto.randomUUID()}`,
    operationId,
    rootOperationId,
    ...(agentName !== undefined && { agentName }),
    toolCallId: call.toolCallId,
    identifier: call.identifier,
    apiName: call.apiName,
    args,
    argsDigest: digestOf(args),
    ...(options.instructions !== undefined && { instructions: options.instructions }),
    ...(options.approvers !== undefined && { approvers: options.approvers }),
    requestedAt,
    ...(options.timeoutMs !== undefined && { expiresAt: requestedAt + options.timeoutMs }),
    allow: options.allow ?? ['approve', 'edit', 'reject'],
  }
}

interface Verdict {
  readonly result: AskResult
  readonly action: HumanAction
  readonly approver?: string
  readonly reason?: string
  readonly error?: unknown
}

async function settle(
  approver: Approver,
  request: ApprovalRequest,
  options: ApprovalOptions,
  runSignal: AbortSignal | undefined,
): Promise<Verdict> {
  try {
    return verdictOf(await answerOf(approver, request, options, runSignal), request)
  } catch (error) {
    if (error instanceof Expired) {
      const reason = `nobody answered within ${options.timeoutMs} ms`
      return {
        result: { kind: 'deny', code: 'approval_timeout', reason, stop: false },
        action: 'timeout',
        reason,
      }
    }
    const reason = `asking for approval failed: ${errorMessage(error)}`
    return {
      result: { kind: 'deny', code: 'approval_error', reason, stop: false },
      action: 'rejectAndContinue',
      reason,
      error,
    }
  }
}

async function answerOf(
  approver: Approver,
  request: ApprovalRequest,
  options: ApprovalOptions,
  runSignal: AbortSignal | undefined,
): Promise<ApprovalAnswer> {
  const controller = new AbortController()
  const abort = (reason: unknown) => controller.abort(reason)
  const onRunAbort = () => abort(runSignal?.reason)
  const timer =
    options.timeoutMs === undefined || options.timeoutMs > MAX_TIMER_MS
      ? undefined
      : setTimeout(() => abort(new Expired()), options.timeoutMs)
  if (runSignal?.aborted) onRunAbort()
  else runSignal?.addEventListener('abort', onRunAbort, { once: true })
  try {
    return await new Promise((resolve, reject) => {
      const { signal } = controller
      if (signal.aborted) return reject(signal.reason)
      signal.addEventListener('abort', () => reject(signal.reason), { once: true })
      Promise.resolve(approver.requestApproval(request, { signal })).then(resolve, reject)
    })
  } finally {
    clearTimeout(timer)
    runSignal?.removeEventListener('abort', onRunAbort)
  }
}

function verdictOf(answer: ApprovalAnswer, request: ApprovalRequest): Verdict {
  if (typeof answer !== 'object' || answer === null) {
    throw new Error(`expected an answer { decision, ... }, got ${describeValue(answer)}`)
  }
  const { decision, approver, reason, args, argsDigest, stop } = answer
  if (!request.allow.includes(decision)) {
    throw new Error(`the answer ${describeValue(decision)} is not among ${request.allow.join(', ')}`)
  }
  const by = { ...(approver !== undefined && { approver }), ...(reason !== undefined && { reason }) }
  if (decision === 'reject') {
    const why = reason ?? 'rejected by a human'
    return {
      result: { kind: 'reject', code: 'rejected', reason: why, stop: stop ?? false },
      action: stop === true ? 'reject' : 'rejectAndContinue',
      ...by,
    }
  }
  if (argsDigest !== undefined && argsDigest !== request.argsDigest) {
    throw new Error(`the answer is for other arguments: digest ${argsDigest}, expected ${request.argsDigest}`)
  }
  if (decision === 'edit') {
    if (args === undefined) throw new Error('an "edit" answer needs `args`')
    return { result: { kind: 'approve', args: snapshot(args), edited: true }, action: 'edit', ...by }
  }
  return { result: { kind: 'approve', args: request.args, edited: false }, action: 'approve', ...by }
}
