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
  error: string
  items: ConversationItem[]
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
  | BareItem
  | ErrorItem

export interface Conversation {
  items: ConversationItem[]
  /** False when no call carried its messages, mostly because capturing content was not asked for. */
  hasContent: boolean
}
