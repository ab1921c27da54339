import type { EventInit, ToolCallContext, ToolMock } from '../../hooks/index.ts'
import { snapshot } from '../../internal/snapshot.ts'
import { assertToolMock } from '../events/mock-slot.ts'
import type { OperationInfo } from './instrument.ts'

/** One tool call, as a stand-in sees it. The arguments are a copy. */
export interface StandInCall extends ToolCallContext {
  readonly operation: OperationInfo
  /** Agent names from the root to the calling agent. */
  readonly agentPath: readonly string[]
  readonly stepIndex: number
  /** Aborted when the run is aborted. */
  readonly signal: AbortSignal | undefined
  /** What the tool's arguments and result must look like, where the runtime says so. See `ToolCallInit`. */
  readonly inputSchema?: unknown
  readonly outputSchema?: unknown
  /** Takes partial results, as the tool itself would give them. */
  readonly onProgress?: (value: unknown) => void
}

/** How a stand-in answers: like `event.mock()`, plus the names under which traces show it. */
export interface StandInAnswer {
  readonly mock: ToolMock
  /** What kind of stand-in it is: `mock`, `replay`, `simulated`. */
  readonly source: string
  /** Which of its rules answered. */
  readonly rule?: string
}

/**
 * Answers tool calls in the tools' place, after the gates and the `beforeToolCall` hooks. `undefined` lets the call
 * pass. A stand-in that throws fails the call with that error: the real tool is never touched instead.
 */
export interface StandIn {
  (call: StandInCall): StandInAnswer | undefined | Promise<StandInAnswer | undefined>
  /** Told of a call that the runtime itself has failed before anybody was asked. */
  unasked?(call: StandInCall, error: unknown): void
}

/** For runtimes that dispatch events by hand: what a stand-in answers, its refusal being an error of the tool. */
export async function askStandIns(
  standIns: readonly StandIn[],
  operationId: string,
  event: object,
): Promise<ToolMock | null> {
  if (standIns.length === 0) return null
  const { identifier, source, apiName, args, callIndex, toolCallId, agentName, stepIndex } = event as Partial<
    EventInit<'beforeToolCall'>
  >
  const call: StandInCall = {
    identifier: identifier ?? 'local',
    source: source ?? 'local',
    apiName: apiName ?? '',
    args: snapshot(args),
    callIndex: callIndex ?? 0,
    toolCallId: toolCallId ?? '',
    operation: {
      operationId,
      rootOperationId: operationId,
      ...(agentName !== undefined && { agentName }),
    },
    agentPath: [agentName ?? operationId],
    stepIndex: stepIndex ?? 0,
    signal: undefined,
  }
  for (const standIn of standIns) {
    try {
      const answer = await standIn(call)
      if (answer === undefined) continue
      assertToolMock(answer.mock)
      return answer.mock
    } catch (error) {
      return { error }
    }
  }
  return null
}
