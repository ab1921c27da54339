import type { Answer } from './answer.ts'
import { interleave, pieces } from './chunks.ts'

type Item = Record<string, unknown> & { id: string; type: string }

/** The body of `POST /v1/responses` without streaming. */
export function responseObject(answer: Answer, body: Readonly<Record<string, unknown>>): object {
  const reason = INCOMPLETE[answer.finishReason]
  return {
    ...skeleton(answer, body),
    status: reason ? 'incomplete' : 'completed',
    incomplete_details: reason ? { reason } : null,
    completed_at: answer.createdAt,
    output: outputItems(answer),
    ...(answer.usage ? { usage: responseUsage(answer.usage) } : {}),
  }
}

/** The events of the same answer, streamed, numbered from 0. */
export function responseEvents(answer: Answer, body: Readonly<Record<string, unknown>>): string[] {
  const started = { ...skeleton(answer, body), status: 'in_progress', completed_at: null, output: [] }
  const perItem = outputItems(answer).map((item, index) => itemEvents(item, index))
  const calls = perItem.splice(perItem.length - answer.toolCalls.length)
  const finished = responseObject(answer, body)
  const events: Record<string, unknown>[] = [
    { type: 'response.created', response: started },
    { type: 'response.in_progress', response: started },
    ...perItem.flat(),
    ...(answer.toolCallOrder === 'interleaved' ? interleave(calls) : calls.flat()),
    {
      type: INCOMPLETE[answer.finishReason] ? 'response.incomplete' : 'response.completed',
      response: finished,
    },
  ]
  return events.map(
    (event, index) =>
      `event: ${event.type}\ndata: ${JSON.stringify({ ...event, sequence_number: index })}\n\n`,
  )
}

const INCOMPLETE: Record<string, string | undefined> = {
  length: 'max_output_tokens',
  content_filter: 'content_filter',
}

function skeleton({ id, createdAt, model }: Answer, body: Readonly<Record<string, unknown>>): object {
  return {
    id,
    object: 'response',
    created_at: createdAt,
    error: null,
    incomplete_details: null,
    instructions: body.instructions ?? null,
    max_output_tokens: body.max_output_tokens ?? null,
    metadata: body.metadata ?? {},
    model,
    parallel_tool_calls: body.parallel_tool_calls ?? true,
    previous_response_id: body.previous_response_id ?? null,
    reasoning: body.reasoning ?? { effort: null, summary: null },
    store: body.store ?? true,
    temperature: body.temperature ?? 1,
    text: body.text ?? { format: { type: 'text' } },
    tool_choice: body.tool_choice ?? 'auto',
    tools: body.tools ?? [],
    top_p: body.top_p ?? 1,
    truncation: body.truncation ?? 'disabled',
    usage: null,
  }
}

/** Reasoning, then the message, then the calls: the order in which OpenAI gives them. */
function outputItems({ id, reasoning, content, toolCalls }: Answer): Item[] {
  const items: Item[] = []
  if (reasoning !== undefined) {
    items.push({ id: `rs_${id}`, type: 'reasoning', summary: [{ type: 'summary_text', text: reasoning }] })
  }
  if (content !== null) {
    const part = { type: 'output_text', annotations: [], logprobs: [], text: content }
    items.push({ id: `msg_${id}`, type: 'message', status: 'completed', content: [part], role: 'assistant' })
  }
  for (const [index, call] of toolCalls.entries()) {
    items.push({
      id: `fc_${id}_${index}`,
      type: 'function_call',
      status: 'completed',
      arguments: call.argumentsText,
      call_id: call.id,
      name: call.name,
    })
  }
  return items
}

function itemEvents(item: Item, outputIndex: number): Record<string, unknown>[] {
  const at = { item_id: item.id, output_index: outputIndex }
  const unfinished = { ...item, ...('status' in item ? { status: 'in_progress' } : {}), ...EMPTY[item.type] }
  return [
    { type: 'response.output_item.added', output_index: outputIndex, item: unfinished },
    ...contentEvents(item, at),
    { type: 'response.output_item.done', output_index: outputIndex, item },
  ]
}

const EMPTY: Record<string, object> = {
  reasoning: { summary: [] },
  message: { content: [] },
  function_call: { arguments: '' },
}

function contentEvents(item: Item, at: object): Record<string, unknown>[] {
  if (item.type === 'function_call') {
    const text = String(item.arguments)
    const type = 'response.function_call_arguments'
    return [
      ...pieces(text).map((delta) => ({ type: `${type}.delta`, ...at, delta })),
      { type: `${type}.done`, ...at, name: item.name, arguments: text },
    ]
  }
  const [part] = (item.type === 'message' ? item.content : item.summary) as [{ text: string }]
  const [partType, textType, index] =
    item.type === 'message'
      ? ['response.content_part', 'response.output_text', { content_index: 0 }]
      : ['response.reasoning_summary_part', 'response.reasoning_summary_text', { summary_index: 0 }]
  const where = { ...at, ...(index as object) }
  const extra = item.type === 'message' ? { logprobs: [] } : {}
  return [
    { type: `${partType}.added`, ...where, part: { ...part, text: '' } },
    ...pieces(part.text).map((delta) => ({ type: `${textType}.delta`, ...where, delta, ...extra })),
    { type: `${textType}.done`, ...where, text: part.text, ...extra },
    { type: `${partType}.done`, ...where, part },
  ]
}

function responseUsage(usage: NonNullable<Answer['usage']>): object {
  const { inputTokens, outputTokens, cachedInputTokens = 0, reasoningTokens = 0 } = usage
  return {
    input_tokens: inputTokens,
    input_tokens_details: { cached_tokens: cachedInputTokens, cache_write_tokens: 0 },
    output_tokens: outputTokens,
    output_tokens_details: { reasoning_tokens: reasoningTokens },
    total_tokens: inputTokens + outputTokens,
  }
}
