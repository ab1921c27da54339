import { within } from '../../internal/async.ts'
import { laterUsage } from '../../wire/anthropic-messages.ts'
import { asList, asName, asObject, asObjects, type Loose } from '../../wire/reading.ts'
import type { SafeCalls } from '../safe/calls.ts'
import type { SafeModelCall } from '../safe/model-call.ts'
import { namedIn } from './named-in.ts'
import type { Message } from './sdk.ts'

/** Where the turns of an agent are told: the run's, or those of an agent that it has called. */
export interface Turns {
  readonly signal: AbortSignal | undefined
  /** Ids of the calls that Claude Code has asked about, in whichever of its agents. */
  readonly asked: Set<string>
  /** Claude Code has answered a call in the place of its tool. */
  unrun(toolUseId: string, args: unknown, why: string): Promise<void>
  beginStep(): Promise<void>
  calls(): Promise<SafeCalls>
}

interface Reply {
  readonly id: unknown
  message: Loose
  readonly content: unknown[]
  /** It comes in events, the last of which says that it is whole. Otherwise nobody says so. */
  readonly isStreamed: boolean
}

/** Claude Code itself says it, in the model's place. */
const SYNTHETIC = '<synthetic>'

/** Messages may come after the question about a tool. What is in none within this time was asked for by no reply. */
export const TOLD_WITHIN_MS = 1_000

/** What one agent says and is told, put together out of Claude Code's messages. */
export class Lane {
  readonly #turns: Turns
  /** As far as it was seen: Claude Code keeps its instructions and what it adds to itself. */
  readonly #conversation: Loose[] = []
  #llm: SafeModelCall<unknown> | undefined
  #reply: Reply | undefined
  #answered = Promise.withResolvers<void>()
  readonly #toolUses = new Map<string, PromiseWithResolvers<void>>()
  model: string | undefined

  constructor(turns: Turns, input: unknown) {
    this.#turns = turns
    if (input !== undefined) this.#conversation.push({ role: 'user', content: input })
    this.#answered.resolve()
  }

  /** Once the model call that asked for a tool has been told to its end. */
  async askedFor(toolUseId: string): Promise<void> {
    this.#turns.asked.add(toolUseId)
    await within(TOLD_WITHIN_MS, this.#toolUse(toolUseId).promise)
    // It may say more: nobody knows, and the tool does not run before this goes on.
    if (!this.#reply?.isStreamed) await this.ended()
    await this.#answered.promise
  }

  #toolUse(id: string): PromiseWithResolvers<void> {
    const told = this.#toolUses.get(id) ?? Promise.withResolvers<void>()
    this.#toolUses.set(id, told)
    return told
  }

  get calls(): Promise<SafeCalls> {
    return this.#turns.calls()
  }

  /** The model is asked. A try that failed is followed by another of the same turn. */
  async asking(): Promise<void> {
    // What Claude Code still does before it has heard of an abort is no turn any more.
    if (this.#llm !== undefined || this.#turns.signal?.aborted) return
    this.#answered = Promise.withResolvers()
    this.#reply = undefined
    try {
      await this.#turns.beginStep()
      const calls = await this.#turns.calls()
      this.#llm = calls.openLlmCall<unknown>({
        model: this.model ?? 'unknown',
        provider: 'anthropic',
        // What tells the format is that the instructions are apart: they are not known.
        request: { messages: [...this.#conversation], system: [], stream: true },
      })
      await this.#llm.decided
    } catch (error) {
      // Its tools are not to wait for what is told no more.
      this.#failed(error)
      throw error
    }
  }

  async told(message: Message): Promise<void> {
    if (message.type === 'stream_event') {
      // Claude Code itself closes a stream that broke off. Where nothing of the reply is left, it asks the same again.
      if (message.abandoned_blocks !== undefined && this.#reply?.content.length === 0) return
      return this.#event(asObject(message.event) ?? {})
    }
    const said = asObject(message.message)
    if (said === undefined) return
    if (message.type === 'user') {
      await this.#tellFailures(asObjects(said.content))
      this.#conversation.push({ role: 'user', content: said.content })
      // Models repeat ids.
      for (const { tool_use_id: id } of asObjects(said.content)) this.#toolUses.delete(String(id))
    }
    if (message.type === 'assistant') await this.#assistant(said)
  }

  /** What Claude Code has answered itself: it asked nobody where there is no such tool, or the tool takes other arguments. */
  async #tellFailures(results: readonly Loose[]): Promise<void> {
    for (const { tool_use_id: id, is_error, content } of results) {
      const use = asObjects(this.#reply?.content).find(
        (block) => block.type === 'tool_use' && block.id === id,
      )
      const [toolCallId, name] = [asName(id), asName(use?.name)]
      if (is_error !== true || !toolCallId || !name) continue
      const [args, why] = [use?.input, asName(content) ?? textOf(asList(content))]
      if (this.#turns.asked.has(toolCallId)) {
        await this.#turns.unrun(toolCallId, args, why)
        continue
      }
      if (!this.#reply?.isStreamed) await this.ended()
      const calls = await this.#turns.calls()
      await calls.failedCall({ toolCallId, ...namedIn(name), args }, new Error(why))
    }
  }

  /** One block of a reply at a time, some of which may come when it has been told already. */
  async #assistant(message: Loose): Promise<void> {
    const content = asList(message.content)
    if (message.model === SYNTHETIC) return this.#failed(new Error(textOf(content)))
    if (this.#reply?.id !== message.id) {
      this.model ??= asName(message.model)
      // A stream that has no end broke off, and this is what came when the same was asked again.
      if (!this.#reply?.isStreamed) await this.ended()
      await this.asking()
      this.#reply = { id: message.id, message, content: [], isStreamed: false }
    }
    this.#reply?.content.push(...content)
    for (const { type, id } of asObjects(content))
      if (type === 'tool_use') this.#toolUse(String(id)).resolve()
  }

  async #event({ type, message, delta, usage }: Loose): Promise<void> {
    if (type === 'message_start') {
      const started = asObject(message) ?? {}
      await this.asking()
      this.#reply = { id: started.id, message: started, content: [], isStreamed: true }
    }
    const reply = this.#reply
    if (type === 'message_delta' && reply !== undefined) {
      const stop = asName(asObject(delta)?.stop_reason)
      reply.message = {
        ...reply.message,
        ...(stop !== undefined && { stop_reason: stop }),
        usage: laterUsage(reply.message.usage, usage),
      }
    }
    if (type === 'message_stop') await this.ended()
  }

  /** What the model has said so far is all. */
  async ended(): Promise<void> {
    const [llm, reply] = [this.#llm, this.#reply]
    if (reply === undefined || llm === undefined) return
    this.#llm = undefined
    const message = { ...reply.message, type: 'message', role: 'assistant', content: [...reply.content] }
    this.#conversation.push({ role: 'assistant', content: reply.content })
    await llm.settle(message)
    this.#answered.resolve()
  }

  #failed(error: unknown): void {
    this.#llm?.fail(error)
    this.#llm = undefined
    this.#answered.resolve()
  }

  /** Nothing comes any more of what it was asked. */
  async over(error?: unknown): Promise<void> {
    await this.ended()
    this.#failed(error ?? new DOMException('Claude Code ended before its model had answered.', 'AbortError'))
  }

  /** How many messages it has. */
  get length(): number {
    return this.#conversation.length
  }
}

const textOf = (content: readonly unknown[]) =>
  asObjects(content)
    .map(({ text }) => asName(text) ?? '')
    .join('')
