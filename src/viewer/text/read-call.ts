/** What a model said and what a tool did, as a test is told of it. */
import type { AttributeValue } from '../model/span.ts'

export interface ReadToolCall {
  name: string
  callId: string
  args: AttributeValue
  /** What the model asked for, where that is there: a person may have changed it, and it may be no object. */
  asked: AttributeValue | undefined
  result: AttributeValue
  error: string
  outcome: string
  /** A gate refused it, and ended the agent with that. */
  ends: boolean
  /** How many calls of models came before it: those of one turn are made together, in any order. */
  turn: number
  /** Agents from the run's own to the one that called. */
  agents: readonly string[]
  /** It ran a sub-agent, which is there itself. */
  isSubAgent: boolean
  gate?: { id: string; code?: string; reason?: string } | undefined
  human?: { action: string; approver?: string | undefined; reason?: string } | undefined
}

export interface ReadModelStep {
  content: string | null
  toolCalls: { id: string; name: string; arguments: AttributeValue }[]
  error: string
}
