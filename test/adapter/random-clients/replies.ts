import type { Api, CallPlan, Said } from './plan.ts'

/** What a model's endpoint answers: at once, or event by event. */
export interface Reply {
  readonly whole: object
  readonly events: readonly Sent[]
}

export interface Sent {
  readonly event?: string
  readonly data: unknown
}

const USAGE = { prompt_tokens: 7, completion_tokens: 5, total_tokens: 12 }

/** Another reply of a loop, after its tools: the same without calls. */
export function replyOf({ api, said }: CallPlan, last: boolean): Reply {
  return WRITERS[api](last ? { ...said, calls: [] } : said)
}

const finishOf = ({ calls, finish }: Said) => (calls.length > 0 ? 'tool_calls' : finish)

function chat(said: Said): Reply {
  const { texts, calls, reasoning, refusal, logprobs, usage, choices } = said
  const indexes = choices === 2 ? [0, 1] : [0]
  const head = { id: 'c1', created: 1, model: 'm-real' }
  const words = refusal
    ? { content: null, refusal: texts.join('') }
    : { content: texts.join(''), refusal: null }
  const probs = (token: string) => ({
    content: [{ token, logprob: -0.5, bytes: null, top_logprobs: [] }],
    refusal: null,
  })
  const whole = {
    ...head,
    object: 'chat.completion',
    choices: indexes.map((index) => ({
      index,
      message: {
        role: 'assistant',
        ...words,
        ...(reasoning.length > 0 && { reasoning_content: reasoning.join('') }),
        ...(calls.length > 0 && {
          tool_calls: calls.map(({ name, pieces }, at) => ({
            id: `call_${at}`,
            type: 'function',
            function: { name, arguments: pieces.join('') },
          })),
        }),
      },
      logprobs: logprobs ? probs(texts.join('')) : null,
      finish_reason: finishOf(said),
    })),
    ...(usage && { usage: USAGE }),
  }
  const chunk = (index: number, delta: object, more: object = {}) => ({
    data: {
      ...head,
      object: 'chat.completion.chunk',
      choices: [{ index, delta, finish_reason: null, ...more }],
    },
  })
  const each = (index: number) => [
    chunk(index, { role: 'assistant', ...(refusal ? { refusal: '' } : { content: '' }) }),
    ...reasoning.map((reasoning_content) => chunk(index, { reasoning_content })),
    ...texts.map((text) =>
      chunk(
        index,
        refusal ? { refusal: text } : { content: text },
        logprobs ? { logprobs: probs(text) } : {},
      ),
    ),
    ...calls.flatMap(({ name, pieces }, at) => [
      chunk(index, {
        tool_calls: [{ index: at, id: `call_${at}`, type: 'function', function: { name, arguments: '' } }],
      }),
      ...pieces.map((piece) => chunk(index, { tool_calls: [{ index: at, function: { arguments: piece } }] })),
    ]),
    {
      data: {
        ...head,
        object: 'chat.completion.chunk',
        choices: [{ index, delta: {}, finish_reason: finishOf(said) }],
      },
    },
  ]
  // Choices come mixed.
  const lists = indexes.map(each)
  const mixed = Array.from({ length: Math.max(...lists.map(({ length }) => length)) }, (_, at) =>
    lists.flatMap((list) => list[at] ?? []),
  ).flat()
  const last = { data: { ...head, object: 'chat.completion.chunk', choices: [], usage: USAGE } }
  return { whole, events: [...mixed, ...(usage ? [last] : [])] }
}

function completions({ texts, usage, finish }: Said): Reply {
  const head = { id: 'c1', object: 'text_completion', created: 1, model: 'm-real' }
  const choice = (text: string, finish_reason: string | null) => ({
    index: 0,
    text,
    logprobs: null,
    finish_reason,
  })
  return {
    whole: { ...head, choices: [choice(texts.join(''), finish)], ...(usage && { usage: USAGE }) },
    events: [...texts.map((text) => choice(text, null)), choice('', finish)].map((one) => ({
      data: { ...head, choices: [one] },
    })),
  }
}

function responses({ texts, calls, reasoning, refusal, usage, finish }: Said): Reply {
  const events: Sent[] = []
  const send = (data: { type: string; [more: string]: unknown }) =>
    void events.push({ event: data.type, data: { ...data, sequence_number: events.length } })
  const head = { id: 'r1', object: 'response', created_at: 1, model: 'm-real', tools: [] }
  const output: unknown[] = []
  send({ type: 'response.created', response: { ...head, status: 'in_progress', output: [] } })
  if (reasoning.length > 0) {
    const item = {
      id: 'rs1',
      type: 'reasoning',
      summary: [{ type: 'summary_text', text: reasoning.join('') }],
    }
    send({ type: 'response.output_item.added', output_index: 0, item: { ...item, summary: [] } })
    send({
      type: 'response.reasoning_summary_part.added',
      item_id: 'rs1',
      output_index: 0,
      summary_index: 0,
      part: { type: 'summary_text', text: '' },
    })
    for (const delta of reasoning)
      send({
        type: 'response.reasoning_summary_text.delta',
        item_id: 'rs1',
        output_index: 0,
        summary_index: 0,
        delta,
      })
    send({ type: 'response.output_item.done', output_index: 0, item })
    output.push(item)
  }
  const at = output.length
  const base = { id: 'i1', type: 'message', role: 'assistant', status: 'completed' }
  const text = texts.join('')
  const part = refusal ? { type: 'refusal', refusal: text } : { type: 'output_text', text, annotations: [] }
  const place = { output_index: at, content_index: 0, item_id: 'i1' }
  send({
    type: 'response.output_item.added',
    output_index: at,
    item: { ...base, status: 'in_progress', content: [] },
  })
  send({
    type: 'response.content_part.added',
    ...place,
    part: refusal ? { ...part, refusal: '' } : { ...part, text: '' },
  })
  for (const delta of texts)
    send({ type: refusal ? 'response.refusal.delta' : 'response.output_text.delta', ...place, delta })
  send(
    refusal
      ? { type: 'response.refusal.done', ...place, refusal: text }
      : { type: 'response.output_text.done', ...place, text },
  )
  send({ type: 'response.content_part.done', ...place, part })
  const message = { ...base, content: [part] }
  send({ type: 'response.output_item.done', output_index: at, item: message })
  output.push(message)
  calls.forEach(({ name, pieces }, index) => {
    const output_index = at + 1 + index
    const item = {
      id: `f${index}`,
      type: 'function_call',
      call_id: `call_${index}`,
      name,
      arguments: pieces.join(''),
      status: 'completed',
    }
    send({
      type: 'response.output_item.added',
      output_index,
      item: { ...item, arguments: '', status: 'in_progress' },
    })
    for (const delta of pieces)
      send({ type: 'response.function_call_arguments.delta', item_id: item.id, output_index, delta })
    send({
      type: 'response.function_call_arguments.done',
      item_id: item.id,
      output_index,
      arguments: item.arguments,
    })
    send({ type: 'response.output_item.done', output_index, item })
    output.push(item)
  })
  const cut = finish === 'stop' ? undefined : { reason: finish === 'length' ? 'max_output_tokens' : finish }
  const whole = {
    ...head,
    status: cut ? 'incomplete' : 'completed',
    ...(cut && { incomplete_details: cut }),
    output,
    ...(usage && { usage: { input_tokens: 7, output_tokens: 5, total_tokens: 12 } }),
  }
  send({ type: cut ? 'response.incomplete' : 'response.completed', response: whole })
  return { whole, events }
}

function messages({ texts, calls, reasoning, finish }: Said): Reply {
  const events: Sent[] = []
  const send = (data: { type: string; [more: string]: unknown }) =>
    void events.push({ event: data.type, data })
  const head = { id: 'm1', type: 'message', role: 'assistant', model: 'm-real' }
  const content: unknown[] = []
  const stop_reason =
    calls.length > 0
      ? 'tool_use'
      : finish === 'stop'
        ? 'end_turn'
        : finish === 'length'
          ? 'max_tokens'
          : 'refusal'
  send({
    type: 'message_start',
    message: {
      ...head,
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: { input_tokens: 7, output_tokens: 1 },
    },
  })
  const block = (start: object, deltas: readonly object[], whole: object) => {
    const index = content.length
    send({ type: 'content_block_start', index, content_block: start })
    for (const delta of deltas) send({ type: 'content_block_delta', index, delta })
    send({ type: 'content_block_stop', index })
    content.push(whole)
  }
  if (reasoning.length > 0) {
    const deltas = [
      ...reasoning.map((thinking) => ({ type: 'thinking_delta', thinking })),
      { type: 'signature_delta', signature: 'sig' },
    ]
    const whole = { type: 'thinking', thinking: reasoning.join(''), signature: 'sig' }
    block({ type: 'thinking', thinking: '', signature: '' }, deltas, whole)
  }
  block(
    { type: 'text', text: '' },
    texts.map((text) => ({ type: 'text_delta', text })),
    { type: 'text', text: texts.join('') },
  )
  calls.forEach(({ name, pieces }, index) => {
    const use = { type: 'tool_use', id: `toolu_${index}`, name }
    const deltas = pieces.map((partial_json) => ({ type: 'input_json_delta', partial_json }))
    block({ ...use, input: {} }, deltas, { ...use, input: JSON.parse(pieces.join('')) })
  })
  send({ type: 'message_delta', delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 5 } })
  send({ type: 'message_stop' })
  const whole = {
    ...head,
    content,
    stop_reason,
    stop_sequence: null,
    usage: { input_tokens: 7, output_tokens: 5 },
  }
  return { whole, events }
}

function google({ texts, calls, reasoning, logprobs, usage, choices, finish }: Said): Reply {
  const indexes = choices === 2 ? [0, 1] : [0]
  const finishReason = finish === 'stop' ? 'STOP' : finish === 'length' ? 'MAX_TOKENS' : 'SAFETY'
  const parts = [
    ...reasoning.map((text) => ({ text, thought: true })),
    ...texts.map((text) => ({ text })),
    ...calls.map(({ name, pieces }) => ({ functionCall: { name, args: JSON.parse(pieces.join('')) } })),
  ]
  const tail = {
    ...(usage && { usageMetadata: { promptTokenCount: 7, candidatesTokenCount: 5, totalTokenCount: 12 } }),
    modelVersion: 'm-real',
    responseId: 'g1',
  }
  const end = { finishReason, ...(logprobs && { avgLogprobs: -0.5 }) }
  const whole = {
    candidates: indexes.map((index) => ({ index, content: { role: 'model', parts }, ...end })),
    ...tail,
  }
  const events: Sent[] = parts.map((part) => ({
    data: {
      candidates: indexes.map((index) => ({ index, content: { role: 'model', parts: [part] } })),
      modelVersion: 'm-real',
    },
  }))
  events.push({
    data: {
      candidates: indexes.map((index) => ({
        index,
        content: { role: 'model', parts: [{ text: '' }] },
        ...end,
      })),
      ...tail,
    },
  })
  return { whole, events }
}

function interactions({ texts, calls, reasoning, usage, finish }: Said): Reply {
  const status = calls.length > 0 ? 'requires_action' : finish === 'stop' ? 'completed' : 'incomplete'
  const head = { id: 'v1_1', object: 'interaction', model: 'm-real', created: '2026-11-25T00:00:00Z' }
  const counts = { total_input_tokens: 7, total_output_tokens: 5, total_tokens: 12 }
  const text = (words: string) => ({ type: 'text', text: words })
  const steps: object[] = []
  const events: Sent[] = []
  const send = (data: { event_type: string; [more: string]: unknown }) =>
    void events.push({ event: data.event_type, data })
  const step = (begun: object, deltas: readonly object[], whole: object) => {
    const index = steps.length
    steps.push(whole)
    send({ event_type: 'step.start', index, step: begun })
    for (const delta of deltas) send({ event_type: 'step.delta', index, delta })
    send({ event_type: 'step.stop', index })
  }
  send({ event_type: 'interaction.created', interaction: { ...head, status: 'in_progress' } })
  send({ event_type: 'interaction.status_update', interaction_id: head.id, status: 'in_progress' })
  if (reasoning.length > 0) {
    const deltas = [
      ...reasoning.map((words) => ({ type: 'thought_summary', content: text(words) })),
      { type: 'thought_signature', signature: 'sig' },
    ]
    step({ type: 'thought' }, deltas, { type: 'thought', summary: reasoning.map(text), signature: 'sig' })
  }
  const content = [text(texts.join(''))]
  step({ type: 'model_output' }, texts.map(text), { type: 'model_output', content })
  calls.forEach(({ name, pieces }, at) => {
    const call = { type: 'function_call', id: `call_${at}`, name }
    const deltas = pieces.map((piece) => ({ type: 'arguments_delta', arguments: piece }))
    step({ ...call, arguments: {} }, deltas, { ...call, arguments: JSON.parse(pieces.join('')) })
  })
  const end = { ...head, status, ...(usage && { usage: counts }) }
  send({ event_type: 'interaction.completed', interaction: end })
  return { whole: { ...end, steps }, events }
}

const WRITERS: Record<Api, (said: Said) => Reply> = {
  chat,
  completions,
  responses,
  messages,
  beta: messages,
  google,
  interactions,
}
