import type { ToolCallInit } from '../../dispatcher/index.ts'
import { toContent } from '../../internal/json.ts'
import { defined } from '../../internal/objects.ts'
import type { SafeCalls } from '../safe/calls.ts'
import type { LcMessage } from './lang-chain.ts'

/** Arguments that LangChain could not read: it makes no call of these, and says nothing of it to the model. */
class InvalidToolCall extends Error {}

/** Calls of the last reply that come to no tool: nothing asks a middleware about them. */
export class UnmadeCalls {
  #reply: LcMessage | undefined
  #made = new Set<string | undefined>()

  asked(reply: LcMessage): void {
    this.#reply = reply
    this.#made = new Set()
  }

  made(id: string | undefined): void {
    this.#made.add(id)
  }

  /** @param messages how the conversation went on: a middleware may have answered a call with a failure, as one that limits them does. */
  async tell(calls: () => Promise<SafeCalls>, messages: readonly LcMessage[] = []): Promise<void> {
    const { tool_calls = [], invalid_tool_calls = [] } = this.#reply ?? {}
    this.#reply = undefined
    const isUntold = ({ id }: { readonly id?: string | undefined }) => !this.#made.has(id)
    for (const { id, name = 'unnamed', args = '', error } of invalid_tool_calls.filter(isUntold)) {
      const init = { apiName: name, args, ...defined({ toolCallId: id }) }
      await (await calls()).failedCall(init, new InvalidToolCall(error ?? 'the arguments are no JSON'))
    }
    for (const { id, name: apiName, args } of tool_calls.filter(isUntold)) {
      const said = messages.find(({ tool_call_id }) => id !== undefined && tool_call_id === id)
      if (id === undefined || said?.status !== 'error') continue
      const refused = { kind: 'deny', code: 'policy_denied', reason: toContent(said.content) } as const
      const init: ToolCallInit = { toolCallId: id, apiName, args, refused }
      await (await calls()).openToolCall<unknown, unknown>(init).outcome
    }
  }
}
