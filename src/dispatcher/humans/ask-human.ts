import type { AskResult } from '../../gates/chain.ts'
import type { ApprovalRequest } from '../../gates/index.ts'
import type { ApprovalOutcome } from '../../hooks/index.ts'
import { errorMessage } from '../../internal/errors.ts'
import { joinSignals } from '../run/info.ts'
import type { OpenCall, OperationCore } from '../run/operation-core.ts'
import { settleQuestion } from './await-answer.ts'
import { withdrawParked } from './claim-execution.ts'
import { allowAlways, allowKey, isAlwaysAllowed, type Question, requestFor } from './question.ts'
import { type Verdict, Withdrawn, withdrawn } from './verdict.ts'

/** Asks the approver, shown as an activity of its own. Never throws: no answer is a refusal. */
export async function askHuman(core: OperationCore, question: Question): Promise<AskResult> {
  const { gate, traced, waited } = question
  const { approver, questions } = core
  if (approver === undefined) {
    const reason = `gate "${gate.id}" requires an approval, and no approver is plugged in`
    return { kind: 'deny', code: 'no_approver', reason, stop: false, gateId: gate.id }
  }
  // The outcome of a run that was stopped may still be put to a human, and nothing else of it.
  const stopped = question.point === 'beforeComplete' ? undefined : core.stop
  if (questions.closed || stopped !== undefined) return withdrawn(stopped).result
  let request: ApprovalRequest
  try {
    request = requestFor(core, question)
  } catch (error) {
    const reason = `a human cannot be shown what is asked: ${errorMessage(error)}`
    return { kind: 'deny', code: 'approval_error', reason, stop: false, gateId: gate.id }
  }
  const always = allowKey(question, request)
  if (question.settled?.includes(request.id)) {
    // Answered before the call waited for another human: nothing is told twice.
    const verdict = await settleQuestion(approver, request, request, question, core.signal)
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
  const human = traced.open(
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
  const { gateId, operationId } = request
  const note = { status: 'approval', requestId: asked.id, gateId, operationId, toolCallId } as const
  const tell = ({ result, action, approver: who, reason, error }: Verdict): void => {
    const waitedMs =
      resumed === undefined ? performance.now() - startedAt : core.record.clock() - resumed.requestedAt
    const told = {
      ...where,
      ...(reason !== undefined && { rejectionReason: reason }),
      ...(who !== undefined && { approver: who }),
      waitedMs,
      toolCallIds: [toolCallId],
    }
    const outcome = outcomeOf(action, error)
    core.emit('afterHumanIntervention', { ...told, action, outcome })
    if (result.kind !== 'approve' && result.kind !== 'wait' && result.stop) {
      const why = action === 'timeout' ? 'timeout' : 'rejected'
      core.emit('onStopByHumanIntervention', { ...told, reason: why })
    }
    const code = 'code' in result ? { code: result.code } : {}
    human.end(
      {
        kind: 'human',
        action,
        approvalOutcome: outcome,
        waitedMs,
        ...code,
        ...(who !== undefined && { approver: who }),
        ...(reason !== undefined && { rejectionReason: reason }),
        ...(error !== undefined && { error }),
      },
      core.timestamp,
    )
    core.host.reporter.publish({ ...note, outcome, durationMs: waitedMs, ...code })
  }
  const withdrawal = new AbortController()
  const withdraw = () => withdrawal.abort(new Withdrawn())
  const { signal, release } = joinSignals(core.signal, withdrawal.signal)
  const open: OpenCall = {
    cut: () => {
      tell(withdrawn(core.stop))
      withdraw()
    },
  }
  core.track(open)
  questions.add({ id: asked.id, parked: false, withdraw })
  const verdict = await human.run(() => settleQuestion(approver, request, asked, question, signal))
  release()
  questions.settle(asked.id)
  if (verdict === 'park') {
    core.addParked(asked.id)
    core.host.reporter.publish({ ...note, outcome: 'parked' })
    if (core.untrack(open)) human.end({ kind: 'human', waitingFor: 'human' }, core.timestamp)
    return { kind: 'wait', request: asked }
  }
  // Parked before, or asked about other arguments: it may be open still, and nobody will ask again.
  if (verdict.error !== undefined) withdrawParked(core, asked.id)
  const final = verdict.error instanceof Withdrawn ? withdrawn(core.stop) : verdict
  if (!core.untrack(open)) return final.result
  tell(final)
  question.settled?.push(request.id)
  if (final.always === true) allowAlways(core, always)
  return final.result
}

function outcomeOf(action: Verdict['action'], error: unknown): ApprovalOutcome {
  if (error !== undefined) return 'failed'
  if (action === 'timeout') return 'timed_out'
  if (action === 'approve') return 'approved'
  return action === 'edit' ? 'edited' : 'rejected'
}
