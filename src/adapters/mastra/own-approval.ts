import { isRecord } from '../../internal/objects.ts'
import { asName } from '../../wire/reading.ts'
import type { ObservedRun } from '../sdk-run/observed-run.ts'
import type { MastraRun } from './mastra-run.ts'
import type { MastraOptions } from './sdk.ts'

/**
 * Tells of a run that was suspended because Mastra itself asks a human (`requireApproval`, `requireToolApproval`): it does so
 * before the tool is run, so that the call is not known yet. Gates are asked first, now and when the tool is run; mocks then alone.
 * Of a call that is under way the question is that of an agent below: it is told there.
 */
export async function tellAsked(started: MastraRun, payload: unknown): Promise<void> {
  const { run, suspended, refused } = started
  if (!isRecord(payload) || 'suspendPayload' in payload) return
  const { toolName, args } = payload
  const apiName = asName(toolName)
  const toolCallId = asName(payload.toolCallId)
  if (apiName === undefined || toolCallId === undefined || suspended.has(toolCallId)) return
  const calls = await run.calls()
  const home = started.homeOf(apiName)
  const call = calls.openToolCall<unknown, unknown>({ toolCallId, apiName, args, ...home, asksFirst: true })
  const decided = await call.decided
  if (decided.state !== 'waiting') refused.set(toolCallId, await call.outcome)
  if (decided.state !== 'waiting' || decided.request !== undefined) return
  const { identifier = 'local' } = home
  calls.openHumanIntervention({ pendingTools: [{ identifier, apiName, args, toolCallId }] }).park()
}

/**
 * Tells what the human said, before the run goes on. What our own gates wait for is answered by their approver alone.
 *
 * @param answer what the run is resumed with.
 */
export async function tellAnswered(run: ObservedRun, answer: unknown, options: MastraOptions): Promise<void> {
  const { waiting = [], parkedAt = Date.now() } = run.resumed ?? {}
  if (!isRecord(answer) || typeof answer.approved !== 'boolean') return
  const { approved } = answer
  const reason = asName(answer.reason)
  // A tool that is at work asked for itself, by its own `suspend()`: the answer is for it, whatever it says.
  const found = waiting.find(
    ({ kind, request, running, toolCallId }) =>
      kind === undefined &&
      request === undefined &&
      running === undefined &&
      (options.toolCallId ?? toolCallId) === toolCallId,
  )
  if (found === undefined) return
  const { toolCallId, apiName, identifier = 'local', source = 'local', args } = found
  const calls = await run.calls()
  const pendingTools = [{ identifier, apiName, args, toolCallId }]
  calls.openHumanIntervention({ pendingTools, askedAt: parkedAt }).answered({
    action: approved ? 'approve' : 'rejectAndContinue',
    ...(reason !== undefined && { reason }),
  })
  if (approved) return
  // The SDK tells the model by itself.
  const refused = { kind: 'reject', reason: reason ?? 'a human declined' } as const
  const call = { toolCallId, apiName, identifier, source, args, refused }
  await calls.openToolCall<unknown, unknown>(call).outcome
}
