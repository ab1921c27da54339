import type { ToolCallInit } from '../../dispatcher/index.ts'
import { toContent } from '../../internal/json.ts'
import { defined } from '../../internal/objects.ts'
import { asObject } from '../../wire/reading.ts'
import type { SafeCalls } from '../safe/calls.ts'
import { isToolMessage, type LcInvalidCall, type LcMessage, type LcToolCall } from './lang-chain.ts'

/** Arguments that LangChain could not read: it makes no call of these, and says nothing of it to the model. */
class InvalidToolCall extends Error {}

function tellUnread(
  calls: SafeCalls,
  { id, name = 'unnamed', args = '', error }: LcInvalidCall,
): Promise<void> {
  const init = { apiName: name, args, ...defined({ toolCallId: id }) }
  return calls.failedCall(init, new InvalidToolCall(error ?? 'the arguments are no JSON'))
}

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
    for (const call of invalid_tool_calls.filter(isUntold)) await tellUnread(await calls(), call)
    for (const { id, name: apiName, args } of tool_calls.filter(isUntold)) {
      const said = messages.find(({ tool_call_id }) => id !== undefined && tool_call_id === id)
      if (id === undefined || said?.status !== 'error') continue
      const refused = { kind: 'deny', code: 'policy_denied', reason: toContent(said.content) } as const
      const init: ToolCallInit = { toolCallId: id, apiName, args, refused }
      await (await calls()).openToolCall<unknown, unknown>(init).outcome
    }
  }
}

/** A call of a tool that there is not, or with arguments that the tool does not take. */
class UnmadeToolCall extends Error {}

/** What LangGraph's and LangChain's own nodes say to one. */
const UNMADE = /\n Please fix (?:your mistakes|the error and try again)\.$|^Error: .+ is not a valid tool/

/** The calls that are asked for in a graph that callbacks tell, which say nothing of those that come to no tool. */
export class AskedCalls {
  readonly #asked = new Map<string, LcToolCall>()

  async asked(calls: SafeCalls, { tool_calls = [], invalid_tool_calls = [] }: LcMessage): Promise<void> {
    for (const call of tool_calls) if (call.id !== undefined) this.#asked.set(call.id, call)
    for (const call of invalid_tool_calls) await tellUnread(calls, call)
  }

  /** One has come to a tool, which not every version says which one it is. */
  made(id: string | undefined, apiName: string): void {
    for (const call of this.#asked.values()) {
      if (call.id === id || (id === undefined && call.name === apiName)) this.#asked.delete(call.id ?? '')
    }
  }

  /** @param output what a node gave. */
  async tell(calls: SafeCalls, output: unknown): Promise<void> {
    if (this.#asked.size === 0) return
    for (const { tool_call_id: toolCallId, status, content } of answersIn(output)) {
      const { name: apiName, args } = this.#asked.get(toolCallId) ?? {}
      if (apiName === undefined || status !== 'error' || !UNMADE.test(toContent(content))) continue
      this.#asked.delete(toolCallId)
      await calls.failedCall({ apiName, args, toolCallId }, new UnmadeToolCall(toContent(content)))
    }
  }
}

/** Nodes give messages, or a list with such in it beside commands, which LangChain tells as an `output`. */
function answersIn(output: unknown): (LcMessage & { readonly tool_call_id: string })[] {
  const given = asObject(output)?.output ?? output
  return (Array.isArray(given) ? given : [given]).flatMap((one) => {
    const messages = asObject(one)?.messages
    return (Array.isArray(messages) ? messages : [one]).filter(isToolMessage)
  })
}
