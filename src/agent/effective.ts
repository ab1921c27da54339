import type { CompleteResult, Operation } from '../dispatcher/index.ts'
import { toContent } from '../internal/json.ts'
import { readTurn } from './call-model.ts'
import type { ModelApi } from './model-api.ts'
import type { AgentMessage, LoopState } from './run-state.ts'
import type { ExecAgentOptions } from './types.ts'

/**
 * Begins with what the `onStart` gates made of the input: a text takes the prompt's place, a list the whole
 * conversation's.
 */
export async function admitInput(
  op: Operation,
  api: ModelApi,
  state: LoopState,
  { agent, prompt, messages = [] }: ExecAgentOptions,
): Promise<void> {
  const given = prompt ?? messages
  const input = await op.admit()
  if (input === given || input === undefined) return
  const before = prompt === undefined ? [] : messages
  const conversation = Array.isArray(input)
    ? api.open(agent, input as AgentMessage[], undefined)
    : api.open(agent, before, toContent(input))
  state.messages = conversation
  state.context = conversation
}

/** Ends with what the `beforeComplete` gates made of the outcome, in the conversation, too. */
export function takeOutcome(api: ModelApi, state: LoopState, { content = '' }: CompleteResult): void {
  if (content === state.content) return
  state.content = content
  const end = state.messages.findLastIndex((message) => !isLastWord(message)) + 1
  const said = state.messages.slice(end)
  if (said.length === 0) return
  const reply = api.format.write({ response: { content } }, {})
  const instead = content === '' ? [] : readTurn(api, reply, () => '', true).messages
  state.messages = [...state.messages.slice(0, end), ...instead]
}

/** Of either API: what the model says, thinking included, where it calls nothing. */
function isLastWord(message: AgentMessage): boolean {
  const { role, type } = message
  if (type === 'reasoning') return true
  return role === 'assistant' && (message as { tool_calls?: unknown }).tool_calls === undefined
}
