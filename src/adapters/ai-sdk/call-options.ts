import type { LlmRequest } from '../../hooks/index.ts'
import { HookspanError } from '../../internal/errors.ts'
import { didYouMean } from '../../internal/expect.ts'

/** What the SDK asks a language model with. */
const CALL_OPTIONS = [
  ...['prompt', 'tools', 'toolChoice', 'responseFormat', 'seed', 'reasoning', 'providerOptions'],
  ...[
    'maxOutputTokens',
    'temperature',
    'stopSequences',
    'topP',
    'topK',
    'presencePenalty',
    'frequencyPenalty',
  ],
]

/** What is asked of other clients by these names. */
const OWN_NAMES: Readonly<Record<string, string>> = {
  messages: 'prompt',
  input: 'prompt',
  system: 'prompt',
  max_tokens: 'maxOutputTokens',
  max_completion_tokens: 'maxOutputTokens',
  max_output_tokens: 'maxOutputTokens',
  stop: 'stopSequences',
}

/**
 * Refuses what gates set and no model of the SDK is asked: the call would be made as before, and told as changed.
 *
 * @throws HookspanError `NOT_CAPABLE`.
 */
export function assertSent(asked: LlmRequest, effective: LlmRequest): void {
  if (effective === asked) return
  if (effective.modelId !== asked.modelId) {
    throw refused('modelId', ' The model that it was given is asked: have `prepareStep` choose another one.')
  }
  for (const key of Object.keys(effective)) {
    if (key in asked || effective[key] === undefined || CALL_OPTIONS.includes(key)) continue
    const own = OWN_NAMES[key]
    const hint = own === undefined ? didYouMean(key.replaceAll('_', ''), CALL_OPTIONS) : ` Say \`${own}\`.`
    throw refused(key, `${hint} It takes ${CALL_OPTIONS.join(', ')}.`)
  }
}

function refused(key: string, mend: string): HookspanError {
  return new HookspanError(
    'NOT_CAPABLE',
    `A beforeLlmCall gate set \`${key}\`, which the AI SDK does not ask a model.${mend}`,
  )
}
