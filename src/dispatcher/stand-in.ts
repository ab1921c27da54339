import type { ToolCallContext, ToolMock } from '../hooks/index.ts'
import type { OperationInfo } from './instrument.ts'

/** One tool call, as a stand-in sees it. The arguments are a copy. */
export interface StandInCall extends ToolCallContext {
  readonly operation: OperationInfo
  /** Agent names from the root to the calling agent. */
  readonly agentPath: readonly string[]
  readonly stepIndex: number
  /** Aborted when the run is aborted. */
  readonly signal: AbortSignal | undefined
}

/** How a stand-in answers: like `event.mock()`, plus the name under which traces show it. */
export interface StandInAnswer {
  readonly mock: ToolMock
  /** For example the rule that matched, or `replay`. */
  readonly source: string
}

/**
 * Answers tool calls in the tools' place, after the gates and the `beforeToolCall` hooks. `undefined` lets the call
 * pass. A stand-in that throws fails the call with that error: the real tool is never touched instead.
 */
export type StandIn = (call: StandInCall) => StandInAnswer | undefined | Promise<StandInAnswer | undefined>
