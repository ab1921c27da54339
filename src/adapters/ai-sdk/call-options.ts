import type { LlmRequest } from '../../hooks/index.ts'
import { didYouMean } from '../../internal/expect.ts'
import { assertSent } from '../gate-request.ts'

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
  instructions: 'prompt',
  max_tokens: 'maxOutputTokens',
  max_completion_tokens: 'maxOutputTokens',
  max_output_tokens: 'maxOutputTokens',
  stop: 'stopSequences',
}

/**
 * Refuses what gates set and no model of the SDK is asked, as another model or a stream where there is none.
 *
 * @throws HookspanError `NOT_CAPABLE`.
 */
export function assertAsked(asked: LlmRequest, effective: LlmRequest): void {
  assertSent(asked, effective, {
    by: 'the AI SDK',
    isSent: (field) => !Object.hasOwn(OURS, field) && (field in asked || CALL_OPTIONS.includes(field)),
    mend: (field) => OURS[field] ?? `${ownName(field)} It takes ${CALL_OPTIONS.join(', ')}.`.trim(),
  })
}

/**
 * {@link assertAsked} of what is embedded or ranked.
 *
 * @throws HookspanError `NOT_CAPABLE`.
 */
export function assertValuesAsked(asked: LlmRequest, effective: LlmRequest): void {
  assertSent(asked, effective, {
    by: 'the AI SDK',
    isSent: (field) => field === 'providerOptions' || (field in asked && field !== 'modelId'),
    mend: (field) =>
      field === 'modelId'
        ? 'The model that it was given is asked: give it another one.'
        : 'Set what the provider takes in `providerOptions`.',
  })
}

const CHOSEN = 'The model that it was given is asked: have `prepareStep` choose another one.'

/** What is told and is nothing that a model is asked with. */
const OURS: Readonly<Record<string, string>> = {
  modelId: CHOSEN,
  model: CHOSEN,
  stream: 'Whether a reply is streamed is said by the function that is called.',
}

function ownName(field: string): string {
  const own = OWN_NAMES[field]
  return own === undefined ? didYouMean(field.replaceAll('_', ''), CALL_OPTIONS) : `Say \`${own}\`.`
}
