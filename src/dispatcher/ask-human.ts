import type { AskResult } from '../gates/chain.ts'
import type {
  ApprovalAnswer,
  ApprovalOptions,
  ApprovalRequest,
  Approver,
  Gate,
  GatePoint,
  ParkedApproval,
} from '../gates/index.ts'
import type { ApprovalOutcome } from '../hooks/index.ts'
import { MAX_TIMER_MS, within } from '../internal/async.ts'
import { errorMessage, HookspanError } from '../internal/errors.ts'
import { digestOf } from '../internal/json.ts'
import { sha256 } from '../internal/sha256.ts'
import { snapshot } from '../internal/snapshot.ts'
import type { OperationCore } from './operation-core.ts'
import type { DecideOptions } from './operation-gates.ts'
import { mismatch, type Verdict, verdictOf } from './verdict.ts'

class Expired extends Error {}

/** What a human is asked about: a tool call, or whatever else a gate decides on. */
interface Question extends DecideOptions {
  readonly point: GatePoint
  readonly payload: unknown
  readonly approval: ApprovalOptions
  readonly gate: Gate
  /** How many gates of the same id decide before it: plugins do not know each other's ids. */
  readonly namesake: number
}

/** Asks the approver, shown as an activity of its own. Never throws: no answer is a refusal. */
export async function askHuman(core: OperationCore, question: Question): Promise<AskResult> {
  const { gate, scopes, waited } = question
  const approver = core.approver
  if (approver === undefined) {
    const reason = `gate "${gate.id}" requires an approval, and no approver is plugged in`
    return { kind: 'deny', code: 'no_approver', reason, stop: false, gateId: gate.id }
  }
  const request = requestFor(core, question)
  const always = allowKey(question, request)
  if (question.settled?.includes(request.id)) {
    // Answered before the call waited for another human: nothing is told twice.
    const verdict = await settle(approver, request, request, question, core.signal)
    return verdict === 'park' ? { kind: 'wait', request } : verdict.result
  }
  if (isAlwaysAllowed(core, always)) {
    return { kind: 'approve', args: request.args, edited: false, unseen: true }
  }
  // The question that was asked before the run was parked: its hooks have fired.
  const resumed = waited?.request?.id === request.id ? waited.request : undefined
  const { identifier, apiName, toolCallId, args, instructions } = request
  const pendingTools = [{ identifier, apiName, args, toolCallId }]
  const where = question.stepIndex === undefined ? {} : { stepIndex: question.stepIndex }
  const shown = { pendingTools, ...(instructions !== undefined && { instructions }) }
  const human = scopes.open(
    { kind: 'human', ...shown, requestId: request.id },
    core.info,
    resumed?.requestedAt ?? core.timestamp,
  )
  const startedAt = performance.now()
  if (resumed === undefined) {
    const { expiresAt } = request
    core.emit('beforeHumanIntervention', {
      ...where,
      ...shown,
      ...(expiresAt !== undefined && { expiresAt }),
    })
  }
  const asked = resumed ?? request
  const verdict = await human.run(() => settle(approver, request, asked, question, core.signal))
  const { gateId, operationId } = request
  const note = { status: 'approval', requestId: asked.id, gateId, operationId, toolCallId } as const
  if (verdict === 'park') {
    core.host.reporter.publish({ ...note, outcome: 'parked' })
    human.end({ waitingFor: 'human' }, core.timestamp)
    return { kind: 'wait', request: asked }
  }
  const waitedMs =
    resumed === undefined ? performance.now() - startedAt : core.record.clock() - resumed.requestedAt
  const told = {
    ...where,
    ...(verdict.reason !== undefined && { rejectionReason: verdict.reason }),
    ...(verdict.approver !== undefined && { approver: verdict.approver }),
    waitedMs,
    toolCallIds: [toolCallId],
  }
  const outcome = outcomeOf(verdict)
  core.emit('afterHumanIntervention', { ...told, action: verdict.action, outcome })
  const { result } = verdict
  question.settled?.push(request.id)
  if (result.kind !== 'approve' && result.kind !== 'wait' && result.stop) {
    core.emit('onStopByHumanIntervention', {
      ...told,
      reason: verdict.action === 'timeout' ? 'timeout' : 'rejected',
    })
  }
  if (verdict.always === true) allowAlways(core, always)
  const { approver: who, reason } = verdict
  human.end(
    {
      action: verdict.action,
      approvalOutcome: outcome,
      waitedMs,
      ...('code' in result && { code: result.code }),
      ...(who !== undefined && { approver: who }),
      ...(reason !== undefined && { rejectionReason: reason }),
      ...(verdict.error !== undefined && { error: verdict.error }),
    },
    core.timestamp,
  )
  core.host.reporter.publish({
    ...note,
    outcome,
    durationMs: waitedMs,
    ...('code' in result && { code: result.code }),
  })
  return result
}

function outcomeOf({ action, error }: Verdict): ApprovalOutcome {
  if (error !== undefined) return 'failed'
  if (action === 'timeout') return 'timed_out'
  if (action === 'approve') return 'approved'
  return action === 'edit' ? 'edited' : 'rejected'
}

/** Deterministic, so that a resumed run finds the answer to its own question and to no other. */
function requestIdOf(core: OperationCore, callKey: string, question: Question): string {
  const { point } = question
  const where = point === 'beforeToolCall' ? [] : [point]
  const text = JSON.stringify([core.runKey, core.info.operationId, callKey, ...gateKey(question), ...where])
  return `apr_${sha256(text).slice(0, 32)}`
}

function requestFor(core: OperationCore, question: Question): ApprovalRequest {
  const { operationId, rootOperationId, agentName } = core.info
  const { point, approval, gate, apiName, model, stepIndex } = question
  const callKey = question.callKey ?? `${point}-${stepIndex ?? 'run'}-${core.nextQuestion()}`
  const requestedAt = core.record.clock()
  const args = snapshot(question.payload)
  return {
    id: requestIdOf(core, callKey, question),
    operationId,
    rootOperationId,
    ...(agentName !== undefined && { agentName }),
    toolCallId: question.toolCallId ?? callKey,
    callKey,
    gateId: gate.id,
    point,
    identifier: question.identifier ?? point,
    apiName: apiName ?? model ?? point,
    args,
    argsDigest: digestOf(args),
    ...(approval.instructions !== undefined && { instructions: approval.instructions }),
    ...(approval.approvers !== undefined && { approvers: approval.approvers }),
    requestedAt,
    // Infinity leaves it to the approver, as JSON cannot carry it.
    ...(Number.isFinite(approval.timeoutMs) && { expiresAt: requestedAt + Number(approval.timeoutMs) }),
    allow: approval.allow ?? ['approve', 'edit', 'reject'],
  }
}

const ALWAYS = 'hookspan.alwaysAllow'

/** What is told one gate must not count for another of the same id. */
function gateKey({ gate, namesake }: Question): readonly (string | number)[] {
  return namesake === 0 ? [gate.id] : [gate.id, namesake]
}

function allowKey(question: Question, { identifier, apiName }: ApprovalRequest): string {
  return JSON.stringify([...gateKey(question), identifier, apiName])
}

function isAlwaysAllowed(core: OperationCore, key: string): boolean {
  const allowed = core.tree.state.get(ALWAYS)
  return Array.isArray(allowed) && allowed.includes(key)
}

function allowAlways(core: OperationCore, key: string): void {
  const allowed = (core.tree.state.get(ALWAYS) as string[] | undefined) ?? []
  core.tree.state.set(ALWAYS, [...allowed, key])
}

/** Milliseconds an approver gets to look up the answer to a question that has expired. */
const READ_MS = 1_000

/** One that a resumed run finds late still has the time to be read: the approver knows when it was given. */
function readMs({ expiresAt }: ApprovalRequest): number | undefined {
  return expiresAt === undefined ? undefined : Math.max(expiresAt - Date.now(), READ_MS)
}

async function settle(
  approver: Approver,
  request: ApprovalRequest,
  asked: ApprovalRequest,
  question: Question,
  runSignal: AbortSignal | undefined,
): Promise<Verdict | 'park'> {
  try {
    if (asked.argsDigest !== request.argsDigest) throw mismatch(asked.argsDigest, request)
    const limitMs = asked === request ? question.approval.timeoutMs : readMs(asked)
    const answer = await answerOf(approver, asked, limitMs, runSignal)
    if (answer?.decision !== 'park') return verdictOf(answer, asked, approver)
    if (question.parkable === true) return 'park'
    throw new Error(`the approver parks the run, which is not possible at ${question.point}`)
  } catch (error) {
    if (error instanceof Expired) {
      const late = await lastWord(approver, asked)
      if (late !== undefined) return late
      const reason = `nobody answered within ${question.approval.timeoutMs} ms`
      return {
        result: { kind: 'deny', code: 'approval_timeout', reason, stop: false },
        action: 'timeout',
        reason,
      }
    }
    const code = errorCode(error)
    if (code === 'approval_timeout') {
      const reason = errorMessage(error)
      return { result: { kind: 'deny', code, reason, stop: false }, action: 'timeout', reason }
    }
    const reason = `asking for approval failed: ${errorMessage(error)}`
    return {
      result: { kind: 'deny', code, reason, stop: false },
      action: 'rejectAndContinue',
      reason,
      error,
    }
  }
}

async function lastWord(approver: Approver, request: ApprovalRequest): Promise<Verdict | undefined> {
  try {
    const answer = await within(READ_MS, approver.lookup?.(request))
    return answer ? verdictOf(answer, request, approver) : undefined
  } catch {
    return undefined
  }
}

function errorCode(error: unknown): 'approval_mismatch' | 'approval_timeout' | 'approval_error' {
  if (!(error instanceof HookspanError)) return 'approval_error'
  if (error.code === 'APPROVAL_EXPIRED') return 'approval_timeout'
  return error.code === 'APPROVAL_MISMATCH' ? 'approval_mismatch' : 'approval_error'
}

async function answerOf(
  approver: Approver,
  request: ApprovalRequest,
  limitMs: number | undefined,
  runSignal: AbortSignal | undefined,
): Promise<ApprovalAnswer | ParkedApproval> {
  const controller = new AbortController()
  const abort = (reason: unknown) => controller.abort(reason)
  const onRunAbort = () => abort(runSignal?.reason)
  const timer =
    limitMs === undefined || limitMs > MAX_TIMER_MS
      ? undefined
      : setTimeout(() => abort(new Expired()), limitMs)
  if (runSignal?.aborted) onRunAbort()
  else runSignal?.addEventListener('abort', onRunAbort, { once: true })
  try {
    return await new Promise((resolve, reject) => {
      const { signal } = controller
      if (signal.aborted) return reject(signal.reason)
      signal.addEventListener('abort', () => reject(signal.reason), { once: true })
      // A copy: an approver that edits what it was shown must say so, and cannot slip it in.
      const shown = { ...request, args: snapshot(request.args) }
      Promise.resolve(approver.requestApproval(shown, { signal })).then(resolve, reject)
    })
  } finally {
    clearTimeout(timer)
    runSignal?.removeEventListener('abort', onRunAbort)
  }
}
