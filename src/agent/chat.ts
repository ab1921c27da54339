import type { LlmResponse } from '../hooks/index.ts'
import { describeValue } from '../internal/errors.ts'
import { toContent } from '../internal/json.ts'
import { asCount, asList, asObject, asText, type Loose } from '../wire/reading.ts'
import type { ModelApi, ModelToolCall, ToolDefinition } from './model-api.ts'
import type { Agent, AgentMessage } from './types.ts'

type Create = (body: unknown, options: unknown) => PromiseLike<unknown>

interface ToolCallMessage {
  id?: string
  type?: string
  function?: { name?: string; arguments?: string }
  custom?: { name?: string; input?: string }
}

/** The chat completions API: messages with roles. */
export const chatApi: ModelApi = {
  open(agent, messages, prompt) {
    const { instructions } = agent
    const told = messages[0] !== undefined && chatApi.isInstructions(messages[0])
    return [
      ...(instructions === undefined || told ? [] : [{ role: 'system', content: instructions }]),
      ...messages,
      ...(prompt === undefined ? [] : [chatApi.userMessage(prompt)]),
    ]
  },

  userMessage: (content) => ({ role: 'user', content }),

  request: (agent, messages, tools) => ({
    model: agent.model,
    messages,
    ...(agent.temperature !== undefined && { temperature: agent.temperature }),
    ...(agent.topP !== undefined && { top_p: agent.topP }),
    ...(agent.maxOutputTokens !== undefined && { max_completion_tokens: agent.maxOutputTokens }),
    ...(agent.stream && { stream: true, stream_options: { include_usage: true } }),
    ...agent.request,
    ...toolsField(agent, tools),
  }),

  send: (client, request, options) => {
    const { completions } = client.chat
    return (completions.create as Create).call(completions, request, options)
  },

  async collect(stream, onText) {
    const collector = new ChunkCollector(onText)
    for await (const chunk of stream) collector.push(chunk)
    return collector.completion()
  },

  read(reply, newId) {
    const completion = asObject(reply)
    const message = asObject(asObject(asList(completion?.choices)[0])?.message)
    if (message === undefined)
      throw new Error(`The model answered without a message: ${describeValue(reply)}.`)
    const asked = asList(message.tool_calls).map((item) => {
      const call = (asObject(item) ?? {}) as ToolCallMessage
      // Some compatible servers give no ids, but results need one.
      return { ...call, id: call.id || newId() }
    })
    return {
      messages: [(asked.length > 0 ? { ...message, tool_calls: asked } : message) as AgentMessage],
      content: asText(message.content) ?? asText(message.refusal) ?? '',
      toolCalls: asked.map(toolCallOf),
      metered: asObject(completion?.usage) !== undefined,
    }
  },

  toolResult: (call, content) => ({ role: 'tool', tool_call_id: call.id, content }) as AgentMessage,

  standIn: (message) =>
    completionOf({ role: 'assistant', content: message.content ?? null, refusal: null }, message),

  startsTurn: (message, before) =>
    message.role === 'user' ||
    (message.role !== 'tool' && (before?.role === 'tool' || before?.role === 'user')),

  isInstructions: (message) => message.role === 'system' || message.role === 'developer',
}

function toolsField(agent: Agent, tools: readonly ToolDefinition[]): { tools?: unknown[] } {
  const own = tools.map(({ name, description, parameters, strict }) => ({
    type: 'function',
    function: {
      name,
      ...(description !== undefined && { description }),
      parameters,
      ...(strict && { strict }),
    },
  }))
  const all = [...asList(agent.request?.tools), ...own]
  return all.length > 0 ? { tools: all } : {}
}

function toolCallOf(call: ToolCallMessage & { id: string }): ModelToolCall {
  const { id, function: fn, custom } = call
  return { id, name: fn?.name ?? custom?.name ?? '', arguments: fn?.arguments ?? custom?.input ?? '' }
}

function completionOf(message: Loose, from: LlmResponse): Loose {
  const { toolCalls = [] } = from
  const tool_calls = toolCalls.map(({ toolCallId, apiName, args }) => ({
    id: toolCallId,
    type: 'function',
    function: { name: apiName, arguments: toContent(args) },
  }))
  return {
    id: from.id ?? 'stand-in',
    object: 'chat.completion',
    ...(from.model !== undefined && { model: from.model }),
    choices: [
      {
        index: 0,
        finish_reason: from.finishReasons?.[0] ?? (tool_calls.length > 0 ? 'tool_calls' : 'stop'),
        message: { ...message, ...(tool_calls.length > 0 && { tool_calls }) },
      },
    ],
  }
}

/** Puts the chunks of a stream together. Parallel calls are told apart by their index, not by their order. */
class ChunkCollector {
  readonly #onText: (text: string) => void
  readonly #calls = new Map<
    number,
    { id: string; type: string; function: { name: string; arguments: string } }
  >()
  #top: Loose = {}
  #message: Loose = { role: 'assistant', content: null }
  #finish: string | undefined

  constructor(onText: (text: string) => void) {
    this.#onText = onText
  }

  push(value: unknown): void {
    const chunk = asObject(value) ?? {}
    const { choices, usage, ...top } = chunk
    this.#top = { ...this.#top, ...top, ...(asObject(usage) && { usage }) }
    const choice = asList(choices)
      .map(asObject)
      .find((item) => (asCount(item?.index) ?? 0) === 0)
    // Some compatible servers say '' for a reason of no name.
    this.#finish = asText(choice?.finish_reason) || this.#finish || asText(choice?.finish_reason)
    const { tool_calls, role: _role, ...delta } = asObject(choice?.delta) ?? {}
    for (const [key, piece] of Object.entries(delta)) this.#append(key, piece)
    for (const item of asList(tool_calls)) this.#call(asObject(item) ?? {})
  }

  /** `content`, `refusal`, and what compatible servers add, like `reasoning_content`. */
  #append(key: string, piece: unknown): void {
    if (piece === undefined || piece === null) return
    const had = this.#message[key]
    this.#message[key] = typeof had === 'string' && typeof piece === 'string' ? had + piece : piece
    if (key === 'content' && typeof piece === 'string' && piece !== '') this.#onText(piece)
  }

  /** Beside the known fields, what compatible servers add and want back, like Gemini's `extra_content`. */
  #call({ index: position, id, type: _type, function: piece, ...added }: Loose): void {
    const index = asCount(position) ?? 0
    const fn = asObject(piece)
    const call = this.#calls.get(index) ?? { id: '', type: 'function', function: { name: '', arguments: '' } }
    call.id ||= asText(id) ?? ''
    call.function.name ||= asText(fn?.name) ?? ''
    call.function.arguments += asText(fn?.arguments) ?? ''
    this.#calls.set(index, Object.assign(call, added))
  }

  /** @throws when the stream ended before the reply did: half a reply must not be taken for a whole one. */
  completion(): Loose {
    if (this.#finish === undefined) {
      throw new Error('The stream of the model ended without a finish reason: the reply is not complete.')
    }
    const calls = [...this.#calls.entries()].sort(([a], [b]) => a - b).map(([, call]) => call)
    const message = { ...this.#message, ...(calls.length > 0 && { tool_calls: calls }) }
    return {
      ...this.#top,
      object: 'chat.completion',
      choices: [{ index: 0, finish_reason: this.#finish, message }],
    }
  }
}
