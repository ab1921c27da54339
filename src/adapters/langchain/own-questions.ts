import type { PendingTool } from '../../hooks/index.ts'
import { toContent } from '../../internal/json.ts'
import { asObject } from '../../wire/reading.ts'
import { sameJson } from '../../wire/rewrite.ts'
import type { ObservedRun } from '../sdk-run/observed-run.ts'
import type { LcState, LcToolCall } from './lang-chain.ts'

/** Of what `humanInTheLoopMiddleware` asks: the calls of the last reply that it is about. It leaves their ids out. */
function askedAbout(question: unknown, calls: readonly LcToolCall[]): readonly LcToolCall[] {
  const { actionRequests } = asObject(question) ?? {}
  const left = [...calls]
  return (Array.isArray(actionRequests) ? actionRequests : []).flatMap((action) => {
    const { name, args } = asObject(action) ?? {}
    const at = left.findIndex((call) => call.name === name && sameJson(call.args, args))
    return at < 0 ? [] : left.splice(at, 1)
  })
}

/** Told before the run is parked. A question about no call is told by the run's waiting alone. */
export async function tellAsked(
  run: ObservedRun,
  questions: readonly unknown[],
  calls: readonly LcToolCall[],
): Promise<readonly PendingTool[]> {
  const all = questions.map((question) => askedAbout(question, calls).map(pending))
  for (const pendingTools of all) {
    if (pendingTools.length > 0) (await run.calls()).openHumanIntervention({ pendingTools }).park()
  }
  return all.flat()
}

const pending = ({ id = '', name: apiName, args }: LcToolCall): PendingTool => ({
  ...{ identifier: 'local', apiName, toolCallId: id },
  args: args as PendingTool['args'],
})

/** Tells what was answered, as the graph's messages have it, where the run goes on. */
export async function tellAnswered(
  run: ObservedRun,
  asked: readonly PendingTool[],
  { messages = [] }: LcState,
): Promise<void> {
  const askedAt = run.resumed?.parkedAt ?? Date.now()
  const last = messages.findLastIndex(({ tool_calls = [] }) => tool_calls.length > 0)
  for (const one of asked) {
    const { toolCallId, apiName, args } = one
    const calls = await run.calls()
    const human = calls.openHumanIntervention({ pendingTools: [one], askedAt })
    const call = messages[last]?.tool_calls?.find(({ id }) => id === toolCallId)
    const said = messages.slice(last + 1).find(({ tool_call_id }) => tool_call_id === toolCallId)
    if (call !== undefined && said === undefined) {
      const isSame = call.name === apiName && sameJson(call.args, args)
      human.answered({ action: isSame ? 'approve' : 'edit' })
      continue
    }
    const reason = said === undefined ? NOT_TAKEN : toContent(said.content)
    human.answered({ action: 'rejectAndContinue', reason })
    // The SDK tells the model by itself.
    const refused = { kind: 'reject', reason } as const
    await calls.openToolCall<unknown, unknown>({ toolCallId, apiName, args, refused }).outcome
  }
}

/** LangChain takes away what was approved beside a call that was not. */
const NOT_TAKEN = 'a call beside it was rejected'
