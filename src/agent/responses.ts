import { describeValue } from '../internal/errors.ts'
import { defined } from '../internal/objects.ts'
import { asObject, asObjects, asText, type Loose } from '../wire/reading.ts'
import { responses } from '../wire/responses.ts'
import { type ModelApi, userMessage } from './model-api.ts'
import type { AgentMessage } from './run-state.ts'
import { addressOf, type Told } from './tool-media.ts'

type Create = (body: unknown, options: unknown) => PromiseLike<unknown>

/** The responses API: a list of items. The whole list is sent each time; nothing relies on what the provider keeps. */
export const responsesApi: ModelApi = {
  format: responses,

  open: (_agent, messages, prompt) => [...messages, ...(prompt === undefined ? [] : [userMessage(prompt)])],

  fields: ({ instructions, maxOutputTokens }, input) =>
    defined({ instructions, input, max_output_tokens: maxOutputTokens }),

  tool: (definition) => ({ type: 'function', ...definition }),

  send: (client, request, options) => {
    if (client.responses === undefined)
      throw new Error('The client has no `responses`: use an agent with `api: "chat"`.')
    return (client.responses.create as Create).call(client.responses, request, options)
  },

  said(given, newId, madeUp) {
    const reply = asObject(given)
    if (reply?.status === 'failed' || !Array.isArray(reply?.output)) {
      const why = asText(asObject(reply?.error)?.message) ?? `no output in ${describeValue(given)}`
      throw new Error(`The model's response failed: ${why}.`)
    }
    const output = asObjects(reply.output).map((item) =>
      isCall(item) && !item.call_id ? { ...item, call_id: newId() } : item,
    )
    return { reply: { ...reply, output }, messages: madeUp ? withoutIds(output) : output }
  },

  toolResults: (calls, told) =>
    calls.map((call, index) => {
      const type = call.custom ? 'custom_tool_call_output' : 'function_call_output'
      return { type, call_id: call.id, output: outputOf(told[index] ?? '') } as AgentMessage
    }),

  startsTurn: (message, before) =>
    message.role === 'user' ||
    (!isResult(message) && before !== undefined && (isResult(before) || before.role === 'user')),
}

function outputOf(told: Told): unknown {
  if (typeof told === 'string') return told
  return told.map((part) =>
    part.type === 'text'
      ? { type: 'input_text', text: part.text }
      : { type: 'input_image', detail: 'auto', image_url: addressOf(part) },
  )
}

/** The API looks items up by their ids, thoughts above all, and knows none that it did not make. */
function withoutIds(items: readonly Loose[]): AgentMessage[] {
  return items.filter(({ type }) => type !== 'reasoning').map(({ id: _id, ...item }) => item)
}

function isCall({ type }: AgentMessage): boolean {
  return type === 'function_call' || type === 'custom_tool_call'
}

function isResult({ type }: AgentMessage): boolean {
  return type === 'function_call_output' || type === 'custom_tool_call_output'
}
