import { asList, asName, asObject, asObjects, asText, type Loose } from '../../wire/reading.ts'
import type { SafeCalls } from '../safe/calls.ts'
import type { SafeModelCall } from '../safe/model-call.ts'
import type { CopilotEvent } from './sdk.ts'

/** Where the turns of an agent are told: the run's, or those of an agent that it has called. */
export interface Turns {
  readonly signal: AbortSignal | undefined
  beginStep(stepNumber: number): Promise<void>
  calls(): Promise<SafeCalls>
}

/** What ends a reply before it is whole. */
const CUT = ['length', 'content_filter']

/** Behind them no turn comes that a reply which was cut off goes on in. */
const LAST = ['session.idle', 'session.error', 'subagent.completed', 'subagent.failed']

/** What of an agent Copilot tells by events: its turns, and what its model was asked and answered. */
export class Lane {
  readonly #told: Turns
  readonly #provider: string
  /** As far as it was seen: Copilot keeps what it adds to itself. */
  readonly #conversation: Loose[] = []
  #model: string
  readonly #tools: readonly Loose[]
  #turns = 0
  /** A turn has begun that is not told yet. */
  #isDue = false
  #llm: SafeModelCall<Loose> | undefined
  /** Told before the message of the call, and perhaps others beside it. */
  #usages: Loose[] = []
  /** What the model said last, which Copilot may not take for a message. */
  #said: Loose = {}
  /** The last thing that was said. */
  content: string | undefined

  constructor(turns: Turns, provider: string, model: string, tools: readonly Loose[]) {
    this.#told = turns
    this.#provider = provider
    this.#model = model
    this.#tools = tools
  }

  asked(prompt: string): void {
    this.#conversation.push({ role: 'user', content: prompt })
  }

  /** What was said before this run went on, in whatever process. */
  async remember(events: readonly CopilotEvent[]): Promise<void> {
    for (const { type, data = {}, agentId } of events) {
      if (agentId !== undefined) continue
      if (type === 'user.message') this.asked(asText(data.content) ?? '')
      if (type === 'assistant.message') {
        this.#conversation.push({
          role: 'assistant',
          content: asText(data.content) ?? '',
          ...toolCallsOf(data),
        })
      }
      if (type === 'tool.execution_complete') this.#ran(data)
    }
  }

  async told({ type, data = {} }: CopilotEvent): Promise<void> {
    if (type === 'assistant.turn_start') this.#isDue = true
    // What a model said may be told after the turn that it was cut off in, and before the next call.
    if (type === 'model.call_start' || type === 'assistant.message') await this.#begin()
    if (type === 'model.call_start') await this.#asking(data)
    if (type === 'assistant.usage') this.#usages.push(data)
    if (type === 'model.message' && asObject(data.message)?.role === 'assistant') {
      this.#said = asObject(data.message) ?? {}
    }
    if (LAST.includes(type)) await this.#cut()
    else if (!this.#isUntold) await this.#begin()
    if (type === 'assistant.message') await this.#answered(data)
    if (type === 'tool.execution_complete') this.#ran(data)
  }

  /** A try that failed is followed by another of the same call. */
  async #asking(data: Loose): Promise<void> {
    if (this.#llm !== undefined || this.#told.signal?.aborted) return
    this.#model = asName(data.model) ?? this.#model
    const calls = await this.#told.calls()
    this.#llm = calls.openLlmCall<Loose>({
      model: this.#model,
      provider: this.#provider,
      request: { messages: [...this.#conversation], ...(this.#tools.length > 0 && { tools: this.#tools }) },
    })
    await this.#llm.decided
  }

  /** Of a call that its usage is known of, and that no message has ended, it is not known yet what its model said. */
  get #isUntold(): boolean {
    const { apiCallId } = usageOf({}, this.#usages)
    return this.#llm !== undefined && apiCallId !== undefined && this.#said.apiCallId !== apiCallId
  }

  /** A turn, once the call before it has ended. */
  async #begin(): Promise<void> {
    if (!this.#isDue) return
    this.#isDue = false
    await this.#cut()
    // What is still told after an abort is no turn any more.
    if (!this.#told.signal?.aborted) await this.#told.beginStep(this.#turns++)
  }

  /** A reply at the limit of its tokens is no message of Copilot's: it has its model go on with it in a turn of its own. */
  async #cut(): Promise<void> {
    const { apiCallId } = usageOf({}, this.#usages)
    if (this.#llm === undefined || apiCallId === undefined) return
    const { content } = this.#said.apiCallId === apiCallId ? this.#said : {}
    await this.#answered({ apiCallId, content })
  }

  async #answered(data: Loose): Promise<void> {
    await this.#asking(data)
    const llm = this.#llm
    this.#llm = undefined
    const content = asText(data.content) ?? ''
    if (content !== '') this.content = content
    const message = { role: 'assistant', content, ...toolCallsOf(data) }
    this.#conversation.push(message)
    const usage = usageOf(data, this.#usages)
    this.#usages = []
    await llm?.settle(this.#replyOf(data, message, usage))
  }

  /** As the API that Copilot speaks writes it. */
  #replyOf(data: Loose, message: Loose, usage: Loose): Loose {
    const {
      inputTokens: prompt,
      outputTokens: completion,
      cacheReadTokens: cached,
      cacheWriteTokens: written,
      reasoningTokens,
      finishReason,
    } = usage
    const ended = 'tool_calls' in message ? 'tool_calls' : 'stop'
    return {
      id: asName(data.apiCallId) ?? asName(data.messageId),
      object: 'chat.completion',
      model: asName(data.model) ?? this.#model,
      choices: [{ index: 0, message, finish_reason: CUT.find((one) => one === finishReason) ?? ended }],
      ...(typeof prompt === 'number' && {
        usage: {
          prompt_tokens: prompt,
          completion_tokens: completion,
          prompt_tokens_details: { cached_tokens: cached, cache_write_tokens: written },
          completion_tokens_details: { reasoning_tokens: reasoningTokens },
        },
      }),
    }
  }

  #ran({ toolCallId, result, error }: Loose): void {
    const content = asText(asObject(result)?.content) ?? asText(asObject(error)?.message) ?? ''
    this.#conversation.push({ role: 'tool', tool_call_id: toolCallId, content })
  }

  /** Nothing comes any more. */
  over(error?: unknown): void {
    this.#llm?.fail(error ?? new DOMException('Copilot ended before its model had answered.', 'AbortError'))
    this.#llm = undefined
  }
}

/** Whose usage it is, its id says: a compaction beside the call is counted in the same words, and is none of the run's calls. */
function usageOf({ apiCallId }: Loose, told: readonly Loose[]): Loose {
  const calls = told.filter(({ interactionType }) => interactionType !== 'conversation-compaction')
  const own = apiCallId === undefined ? undefined : calls.find((usage) => usage.apiCallId === apiCallId)
  return own ?? calls.at(-1) ?? {}
}

function toolCallsOf({ toolRequests }: Loose): Loose {
  if (asList(toolRequests).length === 0) return {}
  const calls = asObjects(toolRequests).map(({ toolCallId, name, arguments: args }) => ({
    id: toolCallId,
    type: 'function',
    function: { name, arguments: typeof args === 'string' ? args : JSON.stringify(args ?? {}) },
  }))
  return { tool_calls: calls }
}
