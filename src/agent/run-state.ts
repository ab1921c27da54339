import type { ParkedOperation } from '../dispatcher/index.ts'
import type { ApprovalRequest } from '../gates/index.ts'
import type { TokenUsage } from '../hooks/index.ts'
import type { Told } from './tool-media.ts'

/** One message, or item, of a conversation, in the shape of the API that the agent speaks. */
export interface AgentMessage {
  readonly role?: string | null
  readonly type?: string | null
  readonly content?: unknown
}

/** A tool call as the model made it: the arguments are its own text. */
export interface ModelToolCall {
  readonly id: string
  readonly name: string
  readonly arguments: string
  /** A call of the responses API whose input is free text. */
  readonly custom?: boolean
}

/** Where a run stands. Plain JSON; its lists are replaced, never changed, so whoever was given one may keep it. */
export interface LoopState {
  /** The whole conversation. */
  messages: readonly AgentMessage[]
  /** What the model is sent of it: the same, or a summary of its older part and the rest. */
  context: readonly AgentMessage[]
  /** The model's last word. */
  content: string
  /** Calls that the model asked for and that have no result yet. */
  pending: readonly ModelToolCall[]
  /** What those of them that ended have given, in their order; null where a call waits for a human. */
  told: readonly (Told | null)[]
  /** Turns that are complete. */
  steps: number
  /** The turn is complete, and its step may not be ended: what comes then. */
  over?: 'next' | 'end' | undefined
  /** Below so many tokens it is not compacted again, as that was paid for in vain. */
  leftUntil?: number
}

/** What was spent before a run was parked; a calling agent's includes it. */
export interface SavedSpending {
  readonly usage: TokenUsage
  readonly costUsd: number
  readonly unknown?: string
  readonly calls: number
}

/** Grows with each change that an older `resumeAgent` could not read. */
export const RUN_STATE_VERSION = 1

/** A run that waits for a human. Plain JSON; it holds the conversation: keep it where you keep those. */
export interface SavedRun {
  readonly schema: 'hookspan.run'
  readonly version: typeof RUN_STATE_VERSION
  readonly agentName: string
  /** The hooks that observed the run: the same ones are to observe what is left of it. */
  readonly hookIds: readonly string[]
  /** The gates of the run and of its agent; the dispatcher's are not among them. */
  readonly gateIds?: readonly string[]
  readonly operation: ParkedOperation
  readonly loop: LoopState
  readonly spending: SavedSpending
  /** Whose shape its messages have. */
  readonly api?: 'chat' | 'responses'
  /** The tools that the model knew: one that has a call open is needed to go on. */
  readonly toolNames?: readonly string[]
  /** Of a run with `checkpoint`: it goes on from the store, where it is never older than here. */
  readonly kept?: true
  /** Runs of sub-agents that wait, by the idempotency key of the call. */
  readonly children: Readonly<Record<string, SavedRun>>
  readonly callIds: number
  readonly pendingApprovals: readonly ApprovalRequest[]
  readonly userId?: string
  readonly conversationId?: string
}
