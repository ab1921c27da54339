import type { LlmRequest } from '../../hooks/index.ts'
import { HookspanError } from '../../internal/errors.ts'
import { asObject, type Loose } from '../../wire/reading.ts'
import { sameJson } from '../../wire/rewrite.ts'

/** What gates set for a call, and many of LangChain's models take where they are made alone. */
const SAMPLING = [
  ...['model', 'temperature', 'top_p', 'topP', 'top_k', 'topK', 'reasoning', 'reasoning_effort'],
  ...['max_tokens', 'maxTokens', 'max_completion_tokens', 'maxOutputTokens', 'max_output_tokens'],
  ...['frequency_penalty', 'frequencyPenalty', 'presence_penalty', 'presencePenalty'],
]

interface ModelLike {
  /** What the model would send, where it says so. */
  invocationParams?(options: Loose): unknown
  /** Of `initChatModel`: the model behind it. */
  _getModelInstance?(): Promise<unknown>
}

/**
 * Refuses a setting of gates that the model would not send: the call would be made as before, and told as changed.
 *
 * @throws HookspanError `NOT_CAPABLE`.
 */
export async function assertModelSends(
  given: unknown,
  asked: LlmRequest,
  effective: LlmRequest,
): Promise<void> {
  const set = SAMPLING.filter((key) => effective[key] !== undefined && !sameJson(asked[key], effective[key]))
  if (set.length === 0) return
  const ignored = set.filter(ignoredBy(await modelOf(given), asked, effective))
  if (ignored.length === 0) return
  throw new HookspanError(
    'NOT_CAPABLE',
    `A beforeLlmCall gate set ${ignored.map((key) => `\`${key}\``).join(', ')}, which this model of LangChain takes ` +
      'where it is made, and not for a call. Set it there, or have a middleware choose another model.',
  )
}

async function modelOf(given: unknown): Promise<ModelLike> {
  const model = asObject(given) as ModelLike | undefined
  const made: unknown =
    typeof model?._getModelInstance === 'function' ? await model._getModelInstance() : model
  return (asObject(made) as ModelLike | undefined) ?? {}
}

function ignoredBy(model: ModelLike, asked: LlmRequest, effective: LlmRequest): (key: string) => boolean {
  const sends = (settings: LlmRequest) => asObject(model.invocationParams?.({ ...settings })) ?? {}
  return (key) => {
    try {
      const { messages: _messages, tools: _tools, tool_choice: _choice, ...before } = asked
      const [was, now] = [sends(before), sends({ ...before, [key]: effective[key] })]
      // One that says nothing of what it sends may send it all the same.
      return Object.keys(was).length > 0 && sameJson(was, now) && !sameJson(now[key], effective[key])
    } catch {
      return false
    }
  }
}
