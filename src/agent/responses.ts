import { describeValue } from '../internal/errors.ts'
import { toContent } from '../internal/json.ts'
import { asList, asObject, asText, type Loose } from '../wire/reading.ts'
import type { ModelApi } from './model-api.ts'
import type { AgentMessage } from './types.ts'

type Create = (body: unknown, options: unknown) => PromiseLike<unknown>

const LAST_EVENTS = ['response.completed', 'response.incomplete', 'response.failed']

/** The responses API: a list of items. The whole list is sent each time; nothing relies on what the provider keeps. */
export const responsesApi: ModelApi = {
  open: (_agent, messages, prompt) => [
    ...messages,
    ...(prompt === undefined ? [] : [responsesApi.userMessage(prompt)]),
  ],

  userMessage: (content) => ({ role: 'user', content }),

  request: (agent, input, tools) => {
    const own = tools.map(({ name, description, parameters, strict }) => ({
      type: 'function',
      name,
      ...(description !== undefined && { description }),
      parameters,
      strict,
    }))
    const all = [...asList(agent.request?.tools), ...own]
    return {
      model: agent.model,
      ...(agent.instructions !== undefined && { instructions: agent.instructions }),
      input,
      ...(agent.temperature !== undefined && { temperature: agent.temperature }),
      ...(agent.topP !== undefined && { top_p: agent.topP }),
      ...(agent.maxOutputTokens !== undefined && { max_output_tokens: agent.maxOutputTokens }),
      ...(agent.stream && { stream: true }),
      ...agent.request,
      ...(all.length > 0 && { tools: all }),
    }
  },

  send: (client, request, options) => {
    const { responses } = client
    if (responses === undefined)
      throw new Error('The client has no `responses`: use an agent with `api: "chat"`.')
    return (responses.create as Create).call(responses, request, options)
  },

  async collect(stream, onText) {
    let response: Loose | undefined
    for await (const value of stream) {
      const event = asObject(value) ?? {}
      const type = asText(event.type) ?? ''
      if (type === 'response.output_text.delta') onText(asText(event.delta) ?? '')
      if (LAST_EVENTS.includes(type)) response = asObject(event.response)
    }
    if (response === undefined) {
      throw new Error('The stream of the model ended before the response did: the reply is not complete.')
    }
    return response
  },

  read(reply, newId) {
    const response = asObject(reply)
    if (response?.status === 'failed' || !Array.isArray(response?.output)) {
      const why = asText(asObject(response?.error)?.message) ?? `no output in ${describeValue(reply)}`
      throw new Error(`The model's response failed: ${why}.`)
    }
    const items = asList(response.output).map((item) => withCallId(asObject(item) ?? {}, newId))
    const parts = items.filter((item) => item.type === 'message').flatMap((item) => asList(item.content))
    const text = (key: string) => parts.map((part) => asText(asObject(part)?.[key]) ?? '').join('')
    return {
      messages: items,
      content: text('text') || text('refusal'),
      toolCalls: items.flatMap((item) => {
        if (!isCall(item)) return []
        const { name, arguments: args, input } = item as Loose
        return [
          {
            id: String((item as Loose).call_id),
            name: asText(name) ?? '',
            arguments: asText(args) ?? asText(input) ?? '',
            custom: item.type === 'custom_tool_call',
          },
        ]
      }),
      metered: asObject(response.usage) !== undefined,
    }
  },

  toolResult: (call, output) => {
    const type = call.custom ? 'custom_tool_call_output' : 'function_call_output'
    return { type, call_id: call.id, output } as AgentMessage
  },

  standIn: (message) => ({
    id: message.id ?? 'stand-in',
    object: 'response',
    status: 'completed',
    ...(message.model !== undefined && { model: message.model }),
    output: [
      ...(message.content === undefined
        ? []
        : [
            {
              type: 'message',
              role: 'assistant',
              content: [{ type: 'output_text', text: message.content, annotations: [] }],
            },
          ]),
      ...(message.toolCalls ?? []).map(({ toolCallId, apiName, args }) => ({
        type: 'function_call',
        call_id: toolCallId,
        name: apiName,
        arguments: toContent(args),
      })),
    ],
  }),

  startsTurn: (message, before) =>
    message.role === 'user' ||
    (!isResult(message) && before !== undefined && (isResult(before) || before.role === 'user')),

  isInstructions: (message) => message.role === 'system' || message.role === 'developer',
}

function isCall(item: AgentMessage): boolean {
  return item.type === 'function_call' || item.type === 'custom_tool_call'
}

function isResult(item: AgentMessage): boolean {
  return item.type === 'function_call_output' || item.type === 'custom_tool_call_output'
}

function withCallId(item: Loose, newId: () => string): AgentMessage {
  return (isCall(item) && !item.call_id ? { ...item, call_id: newId() } : item) as AgentMessage
}
