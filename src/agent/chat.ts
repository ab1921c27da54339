import { describeValue } from '../internal/errors.ts'
import { defined } from '../internal/objects.ts'
import { chat } from '../wire/chat-completions.ts'
import { asList, asObject, asObjects } from '../wire/reading.ts'
import { isInstructions, type ModelApi, userMessage } from './model-api.ts'
import type { AgentMessage } from './run-state.ts'

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

  toolResult: (call, content) => ({ role: 'tool', tool_call_id: call.id, content }) as AgentMessage,

  startsTurn: (message, before) =>
    message.role === 'user' ||
    (message.role !== 'tool' && (before?.role === 'tool' || before?.role === 'user')),
}
