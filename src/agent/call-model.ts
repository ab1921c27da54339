import type { CallMaker } from '../dispatcher/index.ts'
import type { ModelServer } from '../internal/llm/provider.ts'
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

/** Asks the model what comes next. Streamed replies are read whole within the call, so that gates see all of them. */
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
      collect: (stream) => api.collect(stream as AsyncIterable<unknown>, (text) => access.onText(text)),
      standIn: (message) => {
        stoodIn = true
        return api.standIn(message)
      },
    },
    (request, { signal }) => api.send(client, request, { signal }),
  )
  const turn = api.read(reply, () => access.newCallId())
  if (!turn.metered && !stoodIn) spending.addUnmetered(agent.model)
  return turn
}
