import { isLocked } from '../replace.ts'
import { patches } from './patches.ts'
import { currentFrame, type Place } from './place.ts'
import type { FunctionTool, GuardedCall, ToolGuardrail } from './sdk.ts'

/**
 * A guardrail of a tool checks what the tool is run with. The SDK shows it the call as the model wrote it: where a gate or a human
 * has changed the arguments, the guardrail is shown those.
 */
export function observeGuardrails({ inputGuardrails = [], outputGuardrails = [] }: FunctionTool): void {
  for (const guardrail of [...inputGuardrails, ...outputGuardrails]) {
    const run = guardrail?.run
    if (typeof run !== 'function' || patches.has(guardrail) || isLocked(guardrail, 'run')) continue
    const shown: ToolGuardrail['run'] = (data, ...more) => {
      const { toolCall } = data
      const place = currentFrame()?.place
      const text = place?.changedArgs.get(toolCall?.callId)
      const known = place && takeKnown(place, guardrail, toolCall?.callId)
      if (known !== undefined && text === undefined) return known
      const given = text === undefined ? data : { ...data, toolCall: { ...toolCall, arguments: text } }
      return run.call(guardrail, given, ...more)
    }
    patches.replace(guardrail, 'run', shown)
  }
}

/**
 * Where the SDK asks guardrails before a human (`preApprovalInputGuardrails`), they are asked before our gates are, which may ask one.
 * What they said is what the SDK is given when it asks.
 *
 * @returns whether one refuses the call.
 */
export async function refusedByGuardrail(
  place: Place,
  { inputGuardrails = [] }: FunctionTool,
  context: unknown,
  id: string | undefined,
): Promise<boolean> {
  if (!place.checksFirst || inputGuardrails.length === 0) return false
  const data = { context, agent: place.agent, toolCall: place.callOf(id) } as GuardedCall
  for (const guardrail of inputGuardrails) {
    const said = Promise.resolve(guardrail.run(data)) as Promise<{ behavior?: { type?: string } } | undefined>
    place.checked.push({ id, guardrail, said })
    const { type = 'allow' } = (await said.catch(() => FAILED))?.behavior ?? {}
    if (type !== 'allow') return true
  }
  return false
}

const FAILED = { behavior: { type: 'throwException' } }

function takeKnown({ checked }: Place, guardrail: ToolGuardrail, id: string | undefined): unknown {
  const at = checked.findIndex((one) => one.guardrail === guardrail && one.id === id)
  return at < 0 ? undefined : checked.splice(at, 1)[0]?.said
}
