import { asList, asName, asObject, asObjects, type Loose } from '../../wire/reading.ts'
import type { SafeCalls } from '../safe/calls.ts'
import type { SafeModelCall } from '../safe/model-call.ts'
import type { Message } from './sdk.ts'

/** Where the turns of an agent are told: the run's, or those of an agent that it has called. */
export interface Turns {
  readonly signal: AbortSignal | undefined
  beginStep(): Promise<void>
  calls(): Promise<SafeCalls>
}

/** What one agent says and is told, put together out of Claude Code's messages. */
export class Lane {
  readonly #turns: Turns
  /** As far as it was seen: Claude Code keeps its instructions and what it adds to itself. */
  readonly #conversation: Loose[] = []
  #llm: SafeModelCall<unknown> | undefined
  #reply: { id: unknown; message: Loose; content: unknown[] } | undefined
  #answered = Promise.withResolvers<void>()
  model: string | undefined

  constructor(turns: Turns, input: unknown) {
    this.#turns = turns
    if (input !== undefined) this.#conversation.push({ role: 'user', content: input })
    this.#answered.resolve()
  }

  /** Once the model call that is under way has been told to its end. */
  get answered(): Promise<void> {
    return this.#answered.promise
  }

  get calls(): Promise<SafeCalls> {
    return this.#turns.calls()
  }

  /** The model is asked. A try that failed is followed by another of the same turn. */
  async asking(): Promise<void> {
    // What Claude Code still does before it has heard of an abort is no turn any more.
    if (this.#llm !== undefined || this.#turns.signal?.aborted) return
    this.#answered = Promise.withResolvers()
    await this.#turns.beginStep()
    const calls = await this.#turns.calls()
    this.#llm = calls.openLlmCall<unknown>({
      model: this.model ?? 'unknown',
      provider: 'anthropic',
      // What tells the format is that the instructions are apart: they are not known.
      request: { messages: [...this.#conversation], system: [], stream: true },
    })
    await this.#llm.decided
  }

  async told(message: Message): Promise<void> {
    if (message.type === 'stream_event') return this.#event(asObject(message.event) ?? {})
    const said = asObject(message.message)
    if (said === undefined) return
    if (message.type === 'user') this.#conversation.push({ role: 'user', content: said.content })
    if (message.type === 'assistant') await this.#assistant(said)
  }

  /** One block of a reply at a time. */
  async #assistant(message: Loose): Promise<void> {
    if (this.#reply?.id !== message.id) {
      await this.ended()
      await this.asking()
      this.#reply = { id: message.id, message, content: [] }
    }
    this.#reply?.content.push(...asList(message.content))
  }

  async #event({ type, message, delta, usage }: Loose): Promise<void> {
    if (type === 'message_start') {
      const started = asObject(message) ?? {}
      await this.asking()
      this.#reply = { id: started.id, message: started, content: [] }
    }
    const reply = this.#reply
    if (type === 'message_delta' && reply !== undefined) {
      const stop = asName(asObject(delta)?.stop_reason)
      reply.message = {
        ...reply.message,
        ...(stop !== undefined && { stop_reason: stop }),
        usage: { ...asObject(reply.message.usage), ...asObject(usage) },
      }
    }
    if (type === 'message_stop') await this.ended()
  }

  /** What the model has said so far is all. */
  async ended(): Promise<void> {
    const [llm, reply] = [this.#llm, this.#reply]
    if (reply === undefined || llm === undefined) return
    this.#llm = undefined
    const message = { ...reply.message, type: 'message', role: 'assistant', content: reply.content }
    this.#conversation.push({ role: 'assistant', content: reply.content })
    await llm.settle(message)
    this.#answered.resolve()
  }

  /** Nothing comes any more. */
  async over(error?: unknown): Promise<void> {
    await this.ended()
    this.#llm?.fail(
      error ?? new DOMException('Claude Code ended before its model had answered.', 'AbortError'),
    )
    this.#llm = undefined
    this.#answered.resolve()
  }

  /** How many messages it has. */
  get length(): number {
    return this.#conversation.length
  }

  /** How it was asked to call a tool, by the id of the call. */
  toolUse(id: string): Loose | undefined {
    return this.#conversation
      .flatMap(({ content }) => asObjects(content))
      .concat(asObjects(this.#reply?.content))
      .findLast((part) => part.type === 'tool_use' && part.id === id)
  }
}
