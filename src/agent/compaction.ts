import type { Operation } from '../dispatcher/index.ts'
import { currentCalls } from '../dispatcher/index.ts'
import { safeStringify } from '../internal/json.ts'
import { callModel, type ModelAccess } from './call-model.ts'
import { isInstructions, userMessage } from './model-api.ts'
import type { AgentMessage } from './run-state.ts'
import { tokenCounter } from './tokenizer.ts'
import type { Agent, Compaction } from './types.ts'

const DEFAULT_KEEP = 6

const INSTRUCTIONS =
  'You are given the older part of a conversation between a user, an assistant and its tools. Write a summary that ' +
  'lets the assistant go on without it: what the user wants, what was found out (names, ids, numbers, exactly), ' +
  'what was done, what was decided, and what is still open. Answer with the summary alone.'

/** A summary is asked for only where it stands for at least this part of the tokens: it costs a call. */
const WORTHWHILE = 0.03

/** How much longer the conversation has to grow before the next try, after one that did not bring it below the threshold. */
const GROWTH = 1.5

/** Tokens that the APIs add to each message. */
const TOKENS_PER_MESSAGE = 4

function summaryMessage(summary: string): AgentMessage {
  return userMessage(`Summary of the conversation until here:\n\n${summary}`)
}

/** Names of agents whose users have been told, once in a process. */
const warned = new Set<string>()

/** A conversation: instructions, what can be summarised, what stays as it is. */
interface Parts {
  readonly head: readonly AgentMessage[]
  readonly old: readonly AgentMessage[]
  readonly young: readonly AgentMessage[]
}

/** Keeps a conversation below the agent's threshold. */
export class Compactor {
  readonly #agent: Agent
  readonly #compaction: Compaction
  readonly #access: ModelAccess
  readonly #countText: (text: string) => number
  readonly #toolTokens: number
  /** Messages never change, so each is counted once. */
  readonly #counted = new WeakMap<AgentMessage, number>()
  /** Below so many tokens it is left alone. */
  #leftUntil = 0

  constructor(agent: Agent, compaction: Compaction, access: ModelAccess) {
    this.#agent = agent
    this.#compaction = compaction
    this.#access = access
    this.#countText = compaction.countTokens ?? tokenCounter(agent.model)
    const { tools } = access
    this.#toolTokens = tools.length === 0 ? 0 : this.#countText(safeStringify(tools))
  }

  /**
   * The messages to send: the same list, or a shorter one that begins with a summary. A compaction that fails or
   * is denied changes nothing; its hooks and its span tell.
   */
  async compactWhenDue(op: Operation, messages: readonly AgentMessage[]): Promise<readonly AgentMessage[]> {
    const tokenCount = this.#count(messages)
    if (tokenCount < Math.max(this.#compaction.thresholdTokens, this.#leftUntil)) return messages
    const parts = this.#part(messages)
    const old = parts === undefined ? 0 : this.#countOf(parts.old)
    this.#tellWhatStays(tokenCount - old)
    const least = Math.max(this.#countOf([summaryMessage('')]), WORTHWHILE * tokenCount)
    if (parts === undefined || old <= least) return messages
    const context = await this.#compact(op, messages, tokenCount, parts)
    const tokensAfter = this.#count(context)
    // One that failed, or was refused, is tried again at the next turn: it was not paid for.
    if (context !== messages && tokensAfter >= this.#compaction.thresholdTokens) this.#leave(tokensAfter)
    return context
  }

  async #compact(
    op: Operation,
    messages: readonly AgentMessage[],
    tokenCount: number,
    { head, old, young }: Parts,
  ): Promise<readonly AgentMessage[]> {
    const shorten = (summary: string) => [...head, summaryMessage(summary), ...young]
    let context: readonly AgentMessage[] | undefined
    try {
      const result = await op.compact({ messageCount: messages.length, tokenCount }, async () => {
        const summary = await this.#summarise(old, tokenCount)
        const shortened = shorten(summary)
        const tokensAfter = this.#count(shortened)
        if (tokensAfter >= tokenCount) throw this.#noShorter(tokenCount, tokensAfter)
        context = shortened
        const groupId = `cmp_${crypto.randomUUID()}`
        return { summary, messagesAfter: shortened.length, tokensAfter, groupId }
      })
      if (context !== undefined) return context
      // A gate's summary takes the place of the model's; without one, it said that nothing is to be done.
      return typeof result?.summary === 'string' ? shorten(result.summary) : messages
    } catch (error) {
      if (op.signal?.aborted) throw error
      return messages
    }
  }

  /** Until the conversation has grown: what was paid for in vain would be so at the next turn, too. */
  #leave(tokenCount: number): void {
    this.#leftUntil = tokenCount * GROWTH
  }

  #noShorter(tokenCount: number, tokensAfter: number): Error {
    this.#leave(tokenCount)
    return new Error(
      `The summary does not shrink the conversation: ${tokenCount} tokens, ${tokensAfter} with it.`,
    )
  }

  #tellWhatStays(tokens: number): void {
    const { thresholdTokens, keepMessages = DEFAULT_KEEP } = this.#compaction
    const { name } = this.#agent
    if (tokens < thresholdTokens || warned.has(name) || warned.size > 1_000) return
    warned.add(name)
    console.warn(
      `hookspan: what agent "${name}" keeps (its instructions, its tools and the last ${keepMessages} messages: ` +
        `${tokens} tokens) is over \`compaction.thresholdTokens\` (${thresholdTokens}) by itself, so no compaction brings ` +
        'it below. Raise the threshold, or lower `keepMessages`.',
    )
  }

  /** Instructions, what is to be summarised, what stays. Undefined when there is nothing worth summarising. */
  #part(messages: readonly AgentMessage[]): Parts | undefined {
    const { api } = this.#access
    const headLength = messages.findIndex((message) => !isInstructions(message))
    const { keepMessages = DEFAULT_KEEP } = this.#compaction
    if (headLength < 0) return undefined
    let cut = messages.length - keepMessages
    while (cut > headLength && !api.startsTurn(messages[cut] ?? {}, messages[cut - 1])) cut--
    if (cut - headLength < 2) return undefined
    return {
      head: messages.slice(0, headLength),
      old: messages.slice(headLength, cut),
      young: messages.slice(cut),
    }
  }

  async #summarise(old: readonly AgentMessage[], tokenCount: number): Promise<string> {
    const { model = this.#agent.model, instructions = INSTRUCTIONS } = this.#compaction
    const { name, api } = this.#agent
    const calls = currentCalls()
    if (calls === undefined) throw new Error('The run ended before the compaction.')
    const summariser: Agent = { name, model, instructions, ...(api && { api }) }
    const messages = this.#access.api.open(summariser, [], old.map(asText).join('\n\n'))
    const { content } = await callModel({ ...this.#access, agent: summariser, tools: [] }, calls, messages)
    if (content.trim() === '') {
      this.#leave(tokenCount)
      throw new Error(`Model "${model}" answered with an empty summary.`)
    }
    return content
  }

  #count(messages: readonly AgentMessage[]): number {
    return this.#toolTokens + this.#countOf(messages)
  }

  #countOf(messages: readonly AgentMessage[]): number {
    let tokens = 0
    for (const message of messages) {
      let count = this.#counted.get(message)
      if (count === undefined) {
        count = this.#countText(asText(message)) + TOKENS_PER_MESSAGE
        this.#counted.set(message, count)
      }
      tokens += count
    }
    return tokens
  }
}

/** A message as the model that summarises reads it: its role and text; what is not text, as JSON. */
function asText(message: AgentMessage): string {
  const { role, type, content, ...rest } = message
  const text =
    typeof content === 'string'
      ? content
      : content === undefined || content === null
        ? ''
        : safeStringify(content)
  const others = Object.keys(rest).length > 0 ? ` ${safeStringify(rest)}` : ''
  return `${role ?? type ?? 'message'}: ${text}${others}`.replace(MEDIA, '[$1]')
}

/** A picture is no text: told as such it would be as long as a book, to the counter and to the model that summarises. */
const MEDIA = /data:([\w.+-]+\/[\w.+-]+);base64,[\w+/=]+/g
