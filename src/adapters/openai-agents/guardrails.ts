import { isLocked } from '../replace.ts'
import { patches } from './patches.ts'
import { currentFrame } from './place.ts'
import type { FunctionTool, ToolGuardrail } from './sdk.ts'

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
      const text = currentFrame()?.place.changedArgs.get(toolCall?.callId)
      const given = text === undefined ? data : { ...data, toolCall: { ...toolCall, arguments: text } }
      return run.call(guardrail, given, ...more)
    }
    patches.replace(guardrail, 'run', shown)
  }
}
