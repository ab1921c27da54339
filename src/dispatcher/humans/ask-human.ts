import type { AskResult } from '../../gates/chain.ts'
import type { ApprovalRequest } from '../../gates/index.ts'
import { isLeftRun, leftRun } from '../../gates/left-run.ts'
import { errorMessage } from '../../internal/errors.ts'
import { joinSignals } from '../../internal/join-signals.ts'
import { defined } from '../../internal/objects.ts'
import type { Place } from '../run/bracket.ts'
import type { OperationCore } from '../run/operation-core.ts'
import { addParked } from '../run/park.ts'
import { answerTo } from './await-answer.ts'
import { withdrawParked } from './claim-execution.ts'
import { type HumanAnswer, HumanIntervention, outcomeOf } from './human-intervention.ts'
import { allowAlways, allowKey, isAlwaysAllowed, type Question, requestFor } from './question.ts'
import { saidBefore } from './said-before.ts'
import { type Verdict, Withdrawn, withdrawn } from './verdict.ts'

/** Asks the approver, shown as an activity of its own. Never throws: no answer is a refusal. */
export async function askHuman(core: OperationCore, question: Question): Promise<AskResult> {
  const { gate, asked: parked, call } = question
  const { approver, questions } = core
  const refused = (code: 'no_approver' | 'approval_error', reason: string): AskResult => {
    return { kind: 'deny', code, reason, stop: false, gateId: gate.id }
  }
  if (approver === undefined) {
    return refused('no_approver', `gate "${gate.id}" requires an approval, and no approver is plugged in`)
  }
  // The outcome of a run that was stopped may still be put to a human, and nothing else of it.
  const stopped = question.point === 'beforeComplete' ? undefined : core.stop
  const over = call !== undefined && !core.isOpen(call)
  if (questions.closed || over || stopped !== undefined) return withdrawn(stopped).result
  let request: ApprovalRequest
  try {
    request = requestFor(core, question)
  } catch (error) {
    return refused('approval_error', `a human cannot be shown what is asked: ${errorMessage(error)}`)
  }
  if (question.settled?.includes(request.id)) {
    // Answered before the call waited for another human: nothing is told twice.
    const verdict = await answerTo(approver, request, request, question, core.signal)
    return verdict === 'park' ? { kind: 'wait', request } : verdict.result
  }
  const always = allowKey(question, request)
  // The question that was asked before the run was parked: its hooks have fired.
  const resumed = parked?.request?.id === request.id ? parked.request : undefined
  if (isAlwaysAllowed(core, always)) {
    try {
      // This one may have been answered before, of the same batch or before a process died: it is held to its own answer.
      const said = await saidBefore(approver, resumed ?? request)
      if (said === undefined) {
        await approver.allowed?.(request)
        return { kind: 'approve', args: request.args, edited: false, unseen: true }
      }
    } catch (error) {
      return refused('approval_error', `that nobody is asked could not be told: ${errorMessage(error)}`)
    }
  }
  if (resumed !== undefined && parked !== undefined) parked.request = undefined
  // With the arguments of the call itself: those in a saved state may have been changed, beside the digest that the answer is for. And
  // with the choices that the gate gives now: one that it has taken back is none.
  const { args, allow } = request
  const asked = resumed === undefined ? request : { ...resumed, args, allow }
  const human = new AskedHuman(core, question, request, resumed)
  if (call !== undefined) call.deciding = human
  const { signal, release } = joinSignals(core.signal, human.withdrawn)
  questions.add({ id: asked.id, parked: false, withdraw: (left) => human.withdraw(left) })
  const verdict = await human.traced.run(() => answerTo(approver, request, asked, question, signal))
  release()
  questions.remove(asked.id)
  if (verdict === 'park') {
    addParked(core, asked.id)
    human.park()
    if (parked !== undefined) parked.request = asked
    return { kind: 'wait', request: asked }
  }
  // Parked before, or asked about other arguments: it may be open still, and nobody will ask again.
  if (verdict.error !== undefined && !isLeftRun(verdict.error)) withdrawParked(core, asked.id)
  const final = verdict.error instanceof Withdrawn ? withdrawn(core.stop) : verdict
  if (!human.answered(answerOf(final))) return final.result
  question.settled?.push(request.id)
  if (final.always === true) allowAlways(core, always)
  return final.result
}

/** A question that was parked, and is not asked again: the call that it is about ends without it. */
export function endParked(core: OperationCore, place: Place, request: ApprovalRequest): void {
  core.questions.remove(request.id)
  withdrawParked(core, request.id)
  new AskedHuman(core, place, request, request).answered(answerOf(withdrawn(core.stop)))
}

/** A gate's question to a human, published as well. */
class AskedHuman extends HumanIntervention {
  readonly #request: ApprovalRequest
  readonly #withdrawal = new AbortController()

  constructor(
    core: OperationCore,
    place: Place,
    request: ApprovalRequest,
    resumed: ApprovalRequest | undefined,
  ) {
    const { identifier, apiName, toolCallId, args, instructions, id, expiresAt } = request
    const init = {
      pendingTools: [{ identifier, apiName, args, toolCallId }],
      requestId: id,
      ...(instructions !== undefined && { instructions }),
      ...(expiresAt !== undefined && { expiresAt }),
    }
    super(core, place, init, resumed?.requestedAt)
    this.#request = resumed ?? request
  }

  get withdrawn(): AbortSignal {
    return this.#withdrawal.signal
  }

  /** Nobody waits for the answer any more, or nobody here. */
  withdraw(left = false): void {
    this.#withdrawal.abort(left ? leftRun() : new Withdrawn())
  }

  /** What it is about has ended first. */
  override abandon(why: () => unknown): void {
    if (!this.isOpen) return
    super.abandon(why)
    this.withdraw()
  }

  override cut(): void {
    super.cut('interrupted')
    this.withdraw()
  }

  override answered(answer: HumanAnswer): boolean {
    const told = super.answered(answer)
    if (told) this.#publish(answer)
    return told
  }

  override park(): void {
    this.#publish('parked')
    super.park()
  }

  protected override withdrawal(): HumanAnswer {
    const answer = answerOf(withdrawn(this.core.stop))
    if (!this.core.phase.left) this.#publish(answer)
    return answer
  }

  #publish(answer: HumanAnswer | 'parked'): void {
    const { id: requestId, gateId, operationId, toolCallId } = this.#request
    const note = { status: 'approval', requestId, gateId, operationId, toolCallId } as const
    const { reporter } = this.core.host
    if (answer === 'parked') return reporter.publish({ ...note, outcome: answer })
    const { action, error, code } = answer
    const outcome = outcomeOf(action, error)
    reporter.publish({ ...note, outcome, durationMs: this.waitedMs, ...(code !== undefined && { code }) })
  }
}

function answerOf({ result, action, approver, channel, identity, reason, error }: Verdict): HumanAnswer {
  return {
    action,
    ...defined({ approver, channel, identity, reason, error }),
    ...('code' in result && { code: result.code, stop: result.stop }),
  }
}
