/** What a conversation is made of. */
import type { Piece } from './message-pieces.ts'
import type { CompactionFacts, GateDecision, HumanFacts, SpanRow } from './span.ts'

export interface MessageItem {
  kind: 'message'
  role: string
  pieces: Piece[]
  /** The model call it first appeared in. */
  spanId: string
  /** Set on what the model said. */
  model?: string
  inputTokens?: number
  outputTokens?: number
  cachedTokens?: number
  durationMs?: number
}

export interface ToolItem {
  kind: 'tool'
  callId: string
  name: string
  args: Piece
  /** What the model asked for, where a gate or a person had something else run. */
  asked?: Piece
  result: Piece | undefined
  error: string
  outcome: string
  mocked: boolean
  state: SpanRow['state'] | 'requested'
  gates: GateDecision[]
  durationMs: number
  /** Empty when no span says what the tool did. */
  spanId: string
}

export interface HumanItem extends HumanFacts {
  kind: 'human'
  spanId: string
  state: SpanRow['state']
}

export interface CompactionItem extends CompactionFacts {
  kind: 'compaction'
  /** Why nothing was compacted; empty when it was. */
  error: string
  spanId: string
  summary: Piece
  /** First words of each message that the next call no longer had. */
  dropped: string[]
}

export interface AgentItem {
  kind: 'agent'
  label: string
  spanId: string
  state: SpanRow['state']
  /** `waiting`: it was parked, and nobody went on with it. */
  outcome: string
  error: string
  items: ConversationItem[]
}

/** A call of a model, before what was new to it and what it said. */
export interface StepItem {
  kind: 'step'
  /** As the run's own steps are numbered, else counted from 1; below a sub-agent with where it was called: `3.1`. */
  step: string
  spanId: string
  model: string
  /** What it was sent, how much of that the call before was not, and how much of that one's it no longer had. */
  messages: number
  added: number
  gone: number
  /** Characters of what it was sent, by role; what tools gave back by `tool NAME`, what was offered as `tools`. */
  chars: Record<string, number>
  inputTokens: number
  outputTokens: number
  cachedTokens: number
  durationMs: number
  /** Why the reply ended, where it was neither over nor asked for tools: `length`, `content_filter`, ... */
  ended?: string
}

/** A model call whose content was not captured. */
export interface BareItem {
  kind: 'bare'
  spanId: string
  model: string
  inputTokens: number
  outputTokens: number
}

export interface ErrorItem {
  kind: 'error'
  spanId: string
  text: string
}

export type ConversationItem =
  | MessageItem
  | ToolItem
  | HumanItem
  | CompactionItem
  | AgentItem
  | StepItem
  | BareItem
  | ErrorItem

/** Drawn before the rest of a long one is there. */
export const FIRST_ITEMS = 40

export interface Conversation {
  items: ConversationItem[]
  /** False when no call carried its messages, mostly because capturing content was not asked for. */
  hasContent: boolean
  /** Only the beginning is there. */
  isPart?: boolean
}
