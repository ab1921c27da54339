import type { CallMaker } from '../dispatcher/index.ts'
import type { ModelServer } from '../wire/model-server.ts'
import { isStream } from '../wire/watch-stream.ts'
import type { ModelApi, ModelTurn, ToolDefinition } from './model-api.ts'
import type { Spending } from './spending.ts'
import type { Agent, AgentMessage, OpenAIClient } from './types.ts'

/** What a run needs to speak with its model. */
export interface ModelAccess {
  readonly agent: Agent
  readonly api: ModelApi
  readonly client: OpenAIClient
  readonly server: ModelServer
  readonly tools: readonly ToolDefinition[]
  readonly spending: Spending
  onText(text: string): void
  /** An id for a tool call that the model gave none. */
  newCallId(): string
}

/** Asks the model what comes next, and reads a streamed reply to its end. */
export async function callModel(
  access: ModelAccess,
  calls: CallMaker,
  messages: readonly AgentMessage[],
): Promise<ModelTurn> {
  const { agent, api, client, server, spending } = access
  let stoodIn = false
  const reply = await calls.llmCall<unknown>(
    {
      ...server,
      model: agent.model,
      request: api.request(agent, messages, access.tools),
      standIn: (message) => {
        stoodIn = true
        return api.standIn(message)
      },
    },
    (request, { signal }) => api.send(client, request, { signal }),
  )
  const whole = isStream(reply) ? await api.collect(reply, (text) => access.onText(text)) : reply
  const turn = api.read(whole, () => access.newCallId())
  if (!turn.metered && !stoodIn) spending.addUnmetered(agent.model)
  return turn
}
