import { describeValue } from '../internal/errors.ts'
import { defined } from '../internal/objects.ts'
import { chat } from '../wire/chat-completions.ts'
import { asList, asObject, asObjects } from '../wire/reading.ts'
import { isInstructions, type ModelApi, userMessage } from './model-api.ts'
import type { AgentMessage, ModelToolCall } from './run-state.ts'
import { addressOf, type Told, type ToldPart } from './tool-media.ts'

type Create = (body: unknown, options: unknown) => PromiseLike<unknown>

/** The chat completions API: messages with roles. */
export const chatApi: ModelApi = {
  format: chat,

  open(agent, messages, prompt) {
    const { instructions } = agent
    const told = messages[0] !== undefined && isInstructions(messages[0])
    return [
      ...(instructions === undefined || told ? [] : [{ role: 'system', content: instructions }]),
      ...messages,
      ...(prompt === undefined ? [] : [userMessage(prompt)]),
    ]
  },

  fields: ({ maxOutputTokens, stream }, messages) =>
    defined({
      messages,
      max_completion_tokens: maxOutputTokens,
      stream_options: stream ? { include_usage: true } : undefined,
    }),

  tool: ({ strict, ...definition }) => ({
    type: 'function',
    function: { ...definition, ...(strict && { strict }) },
  }),

  send: ({ chat: { completions } }, request, options) =>
    (completions.create as Create).call(completions, request, options),

  said(given, newId) {
    const reply = asObject(given)
    const choices = asList(reply?.choices)
    const first = asObject(choices[0])
    const message = asObject(first?.message)
    if (message === undefined)
      throw new Error(`The model answered without a message: ${describeValue(given)}.`)
    // Some compatible servers give no ids, but results need one.
    const calls = asObjects(message.tool_calls).map((call) => ({ ...call, id: call.id || newId() }))
    const whole = calls.length > 0 ? { ...message, tool_calls: calls } : message
    return {
      reply: { ...reply, choices: [{ ...first, message: whole }, ...choices.slice(1)] },
      messages: [whole as AgentMessage],
    }
  },

  toolResults(calls, told) {
    const results = calls.map((call, index) => {
      const one = told[index] ?? ''
      const content = typeof one === 'string' ? one : one.map(placeOf).join('\n')
      return { role: 'tool', tool_call_id: call.id, content } as AgentMessage
    })
    const pictures = calls.flatMap((call, index) => picturesOf(call, told[index] ?? ''))
    return pictures.length === 0 ? results : [...results, { role: 'user', content: pictures }]
  },

  startsTurn({ role }, before) {
    if (role === 'tool') return false
    // A user who follows a tool may be one that brings its pictures.
    return role === 'user' ? before?.role !== 'tool' : before?.role === 'tool' || before?.role === 'user'
  },
}

/** A tool's message is text alone in this API: pictures follow in one of the user. */
function placeOf(part: ToldPart): string {
  return part.type === 'text' ? part.text : `[${part.mimeType}, shown below]`
}

function picturesOf({ id, name }: ModelToolCall, told: Told): object[] {
  const pictures = typeof told === 'string' ? [] : told.filter((part) => part.type === 'image')
  if (pictures.length === 0) return []
  return [
    { type: 'text', text: `From the result of ${name} (${id}):` },
    ...pictures.map((part) => ({ type: 'image_url', image_url: { url: addressOf(part) } })),
  ]
}
