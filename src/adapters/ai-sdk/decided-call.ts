import type { ToolCallDecision } from '../../dispatcher/index.ts'
import type { SafeToolCall } from '../safe/tool-call.ts'
import type { ToldModel } from './perform-tool.ts'

/** A call on its way from its decision to its tool. */
export interface DecidedCall {
  readonly name: string
  readonly call: SafeToolCall<unknown, unknown>
  readonly decision: ToolCallDecision<unknown, unknown>
  readonly input: unknown
  readonly toolCallId: string
  says(told: ToldModel, result: unknown): void
}
