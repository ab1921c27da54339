import type { CompactResult, Operation } from '../dispatcher/index.ts'
import { currentCalls } from '../dispatcher/index.ts'
import { a, expected } from '../internal/expect.ts'
import { safeStringify } from '../internal/json.ts'
import { isRecord } from '../internal/objects.ts'
import { callModel, type ModelAccess } from './call-model.ts'
import { isInstructions, userMessage } from './model-api.ts'
import type { AgentMessage, LoopState } from './run-state.ts'
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

/** A conversation made shorter, with what its hooks are told. */
interface Shortened extends CompactResult {
  readonly context: readonly AgentMessage[]
  readonly summary: string
  readonly tokensAfter: number
}

/** Keeps a conversation below the agent's threshold. */
export class Compactor {
  readonly #agent: Agent
  readonly #compaction: Compaction
  readonly #access: ModelAccess
  readonly #countText: (text: string) => number
  /** Of what each request has beside its messages. */
  readonly #fixedTokens: number
  /** Messages never change, so each is counted once. */
  readonly #counted = new WeakMap<AgentMessage, number>()

  constructor(agent: Agent, compaction: Compaction, access: ModelAccess) {
    this.#agent = agent
    this.#compaction = compaction
    this.#access = access
    this.#countText = counterOf(agent, compaction)
    const { tools, api } = access
    const { instructions } = agent
    // In one of the APIs they are a message.
    const apart = instructions !== undefined && api.open(agent, [], undefined).length === 0
    this.#fixedTokens =
      (tools.length === 0 ? 0 : this.#countText(safeStringify(tools))) +
      (apart ? this.#countText(instructions) : 0)
  }

  /**
   * What the model is sent of the conversation stays, or becomes a summary and the rest. A compaction that fails or is
   * denied changes nothing; its hooks and its span tell.
   */
  async compactWhenDue(op: Operation, state: LoopState): Promise<void> {
    const { context: messages, leftUntil = 0 } = state
    const tokenCount = this.#count(messages)
    if (tokenCount < Math.max(this.#compaction.thresholdTokens, leftUntil)) return
    const parts = this.#part(messages)
    const old = parts === undefined ? 0 : this.#countOf(parts.old)
    this.#tellWhatStays(tokenCount - old)
    const least = Math.max(this.#countOf([summaryMessage('')]), WORTHWHILE * tokenCount)
    if (parts === undefined || old <= least) return
    try {
      const shortened = await this.#compact(op, state, parts, tokenCount)
      if (shortened === undefined) return
      const { context, tokensAfter } = shortened
      state.context = context
      if (tokensAfter >= this.#compaction.thresholdTokens) leave(state, tokensAfter)
    } catch (error) {
      if (op.signal?.aborted) throw error
    }
  }

  /** Undefined where a gate said that nothing is to be done. */
  async #compact(
    op: Operation,
    state: LoopState,
    parts: Parts,
    tokenCount: number,
  ): Promise<Shortened | undefined> {
    const call = op.openCompaction({ messageCount: state.context.length, tokenCount })
    const decided = await call.decided
    if (isHumansNo(decided)) leave(state, tokenCount)
    if (decided.state === 'skipped') {
      const summary = summaryOf(decided.result, call)
      const given = summary === undefined ? undefined : this.#shortened(parts, summary)
      call.settle({ ...(isRecord(decided.result) && decided.result), ...given })
      return given
    }
    return (await call.run(async () => {
      const shortened = this.#shortened(parts, await this.#summarise(parts.old, state, tokenCount))
      if (shortened.tokensAfter < tokenCount) return shortened
      throw useless(
        state,
        tokenCount,
        `The summary does not shrink the conversation: ${tokenCount} tokens, ${shortened.tokensAfter} with it.`,
      )
    })) as Shortened
  }

  #shortened({ head, young }: Parts, summary: string): Shortened {
    const context = [...head, summaryMessage(summary), ...young]
    const tokensAfter = this.#count(context)
    const groupId = `cmp_${crypto.randomUUID()}`
    return { context, summary, messagesAfter: context.length, tokensAfter, groupId }
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

  async #summarise(old: readonly AgentMessage[], state: LoopState, tokenCount: number): Promise<string> {
    const { model = this.#agent.model, instructions = INSTRUCTIONS } = this.#compaction
    const { name, api } = this.#agent
    const calls = currentCalls()
    if (calls === undefined) throw new Error('The run ended before the compaction.')
    const summariser: Agent = { name, model, instructions, ...(api && { api }) }
    const messages = this.#access.api.open(summariser, [], old.map(asText).join('\n\n'))
    const { content, unfinished } = await callModel(
      { ...this.#access, agent: summariser, tools: [] },
      calls,
      messages,
    )
    if (content.trim() === '')
      throw useless(state, tokenCount, `Model "${model}" answered with an empty summary.`)
    if (unfinished !== undefined) {
      throw useless(state, tokenCount, `Model "${model}" gave no whole summary (${unfinished}).`)
    }
    return content
  }

  #count(messages: readonly AgentMessage[]): number {
    return this.#fixedTokens + this.#countOf(messages)
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

/** @throws HookspanError `INVALID_OPTION` where a counter of the user's gives no number: nothing would be compacted, silently. */
function counterOf({ name, model }: Agent, { countTokens }: Compaction): (text: string) => number {
  if (countTokens === undefined) return tokenCounter(model)
  return (text) => {
    const tokens: unknown = countTokens(text)
    if (a.number(0).fits(tokens) && Number.isFinite(tokens)) return tokens as number
    throw expected(`\`compaction.countTokens\` of agent "${name}" to give a finite number >= 0`, tokens)
  }
}

/** Somebody said no, or did not come: who is asked at each turn has every reason to plug out the gate. */
function isHumansNo(decided: { readonly state: string; readonly code?: string }): boolean {
  return decided.state === 'rejected' || decided.code === 'approval_timeout'
}

/** Until the conversation has grown: what was paid for in vain, or refused, would be so at the next turn, too. */
function leave(state: LoopState, tokenCount: number): void {
  state.leftUntil = tokenCount * GROWTH
}

/** What a summary that was paid for, and cannot be used, is told as. */
function useless(state: LoopState, tokenCount: number, why: string): Error {
  leave(state, tokenCount)
  return new Error(why)
}

/** What a gate gave in the model's place; undefined where it gave none, and so said that nothing is to be done. */
function summaryOf(given: unknown, call: { fail(error: unknown): void }): string | undefined {
  const summary = isRecord(given) ? given.summary : given
  if (summary === undefined || summary === null) return undefined
  if (isRecord(given) && typeof summary === 'string') return summary
  const error = expected('what a gate gives in the place of a compaction to be `{ summary: "..." }`', given)
  call.fail(error)
  throw error
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
