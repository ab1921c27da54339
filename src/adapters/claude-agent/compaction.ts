import { asName, asObject, asObjects, type Loose } from '../../wire/reading.ts'
import type { SafeCompaction } from '../safe/held-calls.ts'
import type { Lane } from './lane.ts'
import type { Message } from './sdk.ts'

/**
 * The compactions of a run, as its messages tell them: that one begins, that it failed or how many tokens are left, and what the model
 * is told from then on. A hook of ours would be named in what the user is shown.
 */
export class Compactions {
  readonly #lane: Lane
  #call: SafeCompaction | undefined
  #tokens: { readonly tokensBefore?: number; readonly tokensAfter?: number } | undefined

  constructor(lane: Lane) {
    this.#lane = lane
  }

  async told(message: Message): Promise<void> {
    const { type, subtype, status, compact_result: result, compact_error: why, isSynthetic } = message
    if (status === 'compacting') await this.#begin()
    if (result === 'failed') this.over(new Error(asName(why) ?? 'the compaction failed'))
    if (subtype === 'compact_boundary') this.#tokens = tokensOf(asObject(message.compact_metadata))
    if (type === 'user' && isSynthetic === true && this.#tokens !== undefined) {
      this.#settle(textOf(asObject(message.message)?.content))
    }
  }

  async #begin(): Promise<void> {
    this.over()
    const calls = await this.#lane.calls
    // How many tokens there are is told when it is over.
    this.#call = calls.openCompaction({ messageCount: this.#lane.length, tokenCount: 0 })
    await this.#call.decided
  }

  #settle(summary: string): void {
    this.#call?.settle({ ...this.#tokens, messagesAfter: 1, summary })
    this.#call = undefined
    this.#tokens = undefined
  }

  /** Nothing comes any more of one that is under way. */
  over(error: unknown = new DOMException('Claude Code ended before it had compacted.', 'AbortError')): void {
    this.#call?.fail(error)
    this.#call = undefined
  }
}

function tokensOf({ pre_tokens: before, post_tokens: after }: Loose = {}) {
  return {
    ...(typeof before === 'number' && { tokensBefore: before }),
    ...(typeof after === 'number' && { tokensAfter: after }),
  }
}

function textOf(content: unknown): string {
  if (typeof content === 'string') return content
  return asObjects(content)
    .map(({ text }) => asName(text) ?? '')
    .join('')
}
