import { CallRefused } from '../../dispatcher/calls/suspended.ts'
import type { ToolCallInit, WaitingCall } from '../../dispatcher/index.ts'
import { HookspanError } from '../../internal/errors.ts'
import { defined } from '../../internal/objects.ts'
import type { SafeStep } from '../safe/operation.ts'
import { idOf, isHosted } from './own-approvals.ts'
import type { ParkedRun } from './parked.ts'
import type { AskedHuman, Place } from './place.ts'
import { answerTo, callOf, reasonOf } from './refusals.ts'
import type { Interruption, RunState } from './sdk.ts'

/**
 * Takes up the calls that waited, before the SDK goes on: those of our gates are asked about now, and the SDK is told to
 * run what was answered, whatever the answer was, because it is our gates' word that the model is given. What its own
 * `needsApproval` waits for is answered by `state.approve()` and `state.reject()`, as without us.
 *
 * @throws HookspanError `INVALID_STATE` where the SDK was told to run a call that our approver has not answered.
 */
export async function takeUp(place: Place, state: RunState, parked: ParkedRun | undefined): Promise<void> {
  const said = state._modelResponses.at(-1)?.output ?? []
  place.answered(said)
  // What was told of them before they waited, and is told of them now, is all of them.
  for (const rawItem of said) place.made.add(idOf({ rawItem }))
  if (parked?.operation.openStep === undefined) return noteApproved(place, state)
  const { operation, asked } = parked
  const step = await place.step()
  const waiting = (operation.waiting ?? []).filter(({ kind }) => kind === undefined)
  for (const call of waiting) {
    const found = state.getInterruptions().find((item) => idOf(item) === call.toolCallId)
    if (found === undefined) continue
    const { toolCallId, apiName } = call
    const answer = answerTo(state._context, found, toolCallId, apiName)
    if (call.request !== undefined) await takeUpGated(place, state, call, found, answer)
    else if (answer !== undefined) {
      const told = asked.find((one) => one.toolCallId === toolCallId)
      const reason = reasonOf(state._context, found, toolCallId, apiName)
      if (told !== undefined)
        tellAnswer(step, { identifier: call.identifier ?? 'local', ...told }, answer, reason)
      if (answer) place.approved.add(toolCallId)
      else await refuse(place, state, call, found, reason)
    }
  }
  for (const one of asked) {
    const { askedAt, ...call } = one
    const { toolCallId, apiName } = call
    const found = state.getInterruptions().find((item) => idOf(item) === toolCallId)
    if (found === undefined) continue
    const answer = answerTo(state._context, found, toolCallId, apiName)
    // Who is still waited for.
    if (answer === undefined) place.askHuman(step, call, askedAt)
    else if (isHosted(found)) {
      const reason = reasonOf(state._context, found, toolCallId, apiName)
      tellAnswer(step, one, answer, reason)
      const init = { ...call, source: 'provider', refused: rejectedFor(reason) } as const
      // Where it is let, the provider tells of it with its reply.
      if (!answer) await step.openToolCall<unknown, unknown>(init).outcome
    }
  }
}

/** Of a run that nobody observed: of a call that a human has approved the SDK asks the tool's condition once more, and makes it. */
function noteApproved({ approved }: Place, state: RunState): void {
  for (const item of state.getInterruptions()) {
    const id = idOf(item)
    if (id !== undefined && answerTo(state._context, item, id, item.name ?? '') === true) approved.add(id)
  }
}

function tellAnswer(
  step: SafeStep,
  { askedAt, ...told }: AskedHuman,
  answer: boolean,
  reason: string | undefined,
): void {
  const pendingTools = [{ identifier: 'local', ...told }]
  const human = step.openHumanIntervention({ pendingTools, askedAt })
  human.answered({ action: answer ? 'approve' : 'rejectAndContinue', ...defined({ reason }) })
}

async function open(
  place: Place,
  state: RunState,
  { apiName }: WaitingCall,
  found: Interruption,
  refused?: ToolCallInit['refused'],
) {
  const step = await place.step()
  const functions = state._lastProcessedResponse?.functions?.map(({ tool }) => tool) ?? []
  const init = callOf(state._currentAgent ?? {}, functions, found, apiName)
  const call = step.openToolCall<unknown, unknown>({ ...init, ...defined({ refused }) })
  return { args: init.args, call }
}

async function takeUpGated(
  place: Place,
  state: RunState,
  waiting: WaitingCall,
  found: Interruption,
  answer: boolean | undefined,
): Promise<void> {
  const { args, call } = await open(place, state, waiting, found)
  const decided = await call.decided
  if (decided.state === 'waiting') {
    // The SDK asks about it once more, and is told so: it is no call that is new.
    if (answer === undefined) return place.hold(waiting.toolCallId, args, call)
    throw new HookspanError(
      'INVALID_STATE',
      `The call of "${waiting.apiName}" waits for an answer to hookspan's own request, and state.approve() and ` +
        'state.reject() are none. Answer the request, and run the state as it is.',
    )
  }
  if (answer === false && decided.state === 'run') {
    const reason = reasonOf(state._context, found, waiting.toolCallId, waiting.apiName)
    const refusal = { code: 'rejected', ...rejectedFor(reason), stop: false }
    await call.run(() => Promise.reject(new CallRefused(refusal)))
    return
  }
  place.hold(waiting.toolCallId, args, call)
  if (answer === undefined) state.approve(found)
}

/** The SDK tells the model by itself. */
async function refuse(
  place: Place,
  state: RunState,
  waiting: WaitingCall,
  found: Interruption,
  reason: string | undefined,
): Promise<void> {
  const { call } = await open(place, state, waiting, found, rejectedFor(reason))
  await call.outcome
}

const rejectedFor = (reason = 'a human rejected the call') => ({ kind: 'reject', reason }) as const
