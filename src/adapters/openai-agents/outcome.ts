import type { RunResult, RunState } from './sdk.ts'

/** What the run said last, as the model wrote it: reading it from the result would run the user's schema once more. */
export function lastWord({ _currentStep: step }: RunState): string | undefined {
  return step?.type === 'next_step_final_output' && typeof step.output === 'string' ? step.output : undefined
}

/** A gate has put another word in the place of the run's last one, or has withheld it. */
export function putOutcome(result: RunResult, content: string | undefined): void {
  put(result, 'finalOutput', content === undefined ? undefined : typed(result, content))
}

/** The same of an agent that is a tool: what the tool gives, the SDK reads in the model's last reply, or has from an output guardrail. */
export function putToolOutcome(result: RunResult, content = ''): void {
  putOutcome(result, content)
  const { finalOutput, rawResponses = [], outputGuardrailResults = [] } = result
  const said = { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: content }] }
  const last = (response: object) => ({ ...response, output: [said] })
  put(result, 'rawResponses', withLast(rawResponses, last))
  const checked = (guarded: object) => ({ ...guarded, agentOutput: finalOutput })
  put(result, 'outputGuardrailResults', withLast(outputGuardrailResults, checked))
}

/** As the agent's schema has it; what does not fit the schema is a text. */
function typed({ state }: RunResult, content: string): unknown {
  try {
    return state._currentAgent?.processFinalOutput?.(content) ?? content
  } catch {
    return content
  }
}

function withLast(list: readonly object[], change: (last: object) => object): readonly object[] {
  const last = list.at(-1)
  return last === undefined ? list : list.with(-1, change(last))
}

function put(result: RunResult, key: keyof RunResult, value: unknown): void {
  Object.defineProperty(result, key, { value, configurable: true, enumerable: true })
}
