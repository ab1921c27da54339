import type { Answer } from './answer.ts'
import { interleave, pieces } from './chunks.ts'
import type { ScriptedUsage } from './types.ts'

/** The body of `POST /v1/chat/completions` without streaming. */
export function chatCompletion(answer: Answer): object {
  const { content, reasoning, toolCalls } = answer
  const message = {
    role: 'assistant',
    content,
    refusal: null,
    ...(reasoning === undefined ? {} : { reasoning_content: reasoning }),
    ...(toolCalls.length > 0
      ? {
          tool_calls: toolCalls.map(({ id, name, argumentsText }) => ({
            id,
            type: 'function',
            function: { name, arguments: argumentsText },
          })),
        }
      : {}),
  }
  return {
    ...envelope(answer, 'chat.completion'),
    choices: [{ index: 0, message, logprobs: null, finish_reason: answer.finishReason }],
    ...(answer.usage ? { usage: chatUsage(answer.usage) } : {}),
  }
}

/** The events of the same answer, streamed; the last is the literal `[DONE]`. */
export function chatCompletionEvents(answer: Answer, body: Readonly<Record<string, unknown>>): string[] {
  const includeUsage =
    (body.stream_options as { include_usage?: boolean } | undefined)?.include_usage === true
  const withUsage = includeUsage ? { usage: null } : {}
  const chunk = (delta: object, finish: string | null = null) => ({
    ...envelope(answer, 'chat.completion.chunk'),
    choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
    ...withUsage,
  })
  const { content, reasoning = '' } = answer
  const chunks: object[] = [
    chunk({ role: 'assistant', content: content === null ? null : '', refusal: null }),
    ...pieces(reasoning).map((piece) => chunk({ reasoning_content: piece })),
    ...pieces(content ?? '').map((piece) => chunk({ content: piece })),
    ...toolCallDeltas(answer).map((delta) => chunk({ tool_calls: [delta] })),
    chunk({}, answer.finishReason),
  ]
  if (includeUsage && answer.usage) {
    chunks.push({ ...envelope(answer, 'chat.completion.chunk'), choices: [], usage: chatUsage(answer.usage) })
  }
  return [...chunks.map((data) => `data: ${JSON.stringify(data)}\n\n`), 'data: [DONE]\n\n']
}

function toolCallDeltas({ toolCalls, toolCallOrder }: Answer): object[] {
  const perCall = toolCalls.map(({ id, name, argumentsText }, index): object[] => [
    { index, id, type: 'function', function: { name, arguments: '' } },
    ...pieces(argumentsText).map((piece) => ({ index, function: { arguments: piece } })),
  ])
  return toolCallOrder === 'interleaved' ? interleave(perCall) : perCall.flat()
}

function envelope({ id, createdAt, model }: Answer, object: string): object {
  return { id, object, created: createdAt, model, service_tier: 'default', system_fingerprint: 'fp_scripted' }
}

function chatUsage({ inputTokens, outputTokens, cachedInputTokens, reasoningTokens }: ScriptedUsage): object {
  return {
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
    ...(cachedInputTokens === undefined
      ? {}
      : { prompt_tokens_details: { cached_tokens: cachedInputTokens } }),
    ...(reasoningTokens === undefined
      ? {}
      : { completion_tokens_details: { reasoning_tokens: reasoningTokens } }),
  }
}
