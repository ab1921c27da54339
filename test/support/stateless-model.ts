import { OpenAI } from 'openai'

interface Message {
  readonly role: string
  readonly content?: unknown
}
interface Asked {
  readonly messages: readonly Message[]
  readonly tools?: readonly unknown[]
}
export interface Turn {
  readonly content?: string
  readonly calls?: readonly { readonly id: string; readonly name: string; readonly args: unknown }[]
}

/**
 * The real `openai` client on a model that answers out of the conversation alone, so that processes that end and begin
 * anew meet the same model.
 */
export function statelessModel(answer: (messages: readonly Message[], asked: Asked) => Turn): OpenAI {
  return new OpenAI({
    apiKey: 'none',
    maxRetries: 0,
    fetch: async (_url, init) => {
      const asked = JSON.parse(String(init?.body)) as Asked
      const { content = null, calls } = answer(asked.messages, asked)
      const tool_calls = calls?.map(({ id, name, args }) => ({
        id,
        type: 'function',
        function: { name, arguments: JSON.stringify(args) },
      }))
      return Response.json({
        id: 'chatcmpl-1',
        object: 'chat.completion',
        created: 1,
        model: 'stateless',
        choices: [
          {
            index: 0,
            finish_reason: calls ? 'tool_calls' : 'stop',
            message: { role: 'assistant', content, ...(tool_calls && { tool_calls }) },
          },
        ],
        usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
      })
    },
  })
}
