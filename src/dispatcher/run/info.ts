import type { CompletionReason } from '../../hooks/index.ts'
import { describeValue, HookspanError } from '../../internal/errors.ts'
import type { OperationInfo } from '../plugins/instrument.ts'
import type { OperationCore } from './operation-core.ts'
import type { OperationInit, ParentOperation, ParkedOperation } from './operation-init.ts'

const REASONS: readonly CompletionReason[] = [
  'done',
  'error',
  'interrupted',
  'max_steps',
  'cost_limit',
  'denied',
]

export function isReason(reason: unknown): reason is CompletionReason {
  return REASONS.includes(reason as CompletionReason)
}

/** @throws HookspanError `INVALID_OPTION` for an unknown reason. */
export function assertReason(reason: unknown): asserts reason is CompletionReason {
  if (isReason(reason)) return
  throw new HookspanError(
    'INVALID_OPTION',
    `Unknown completion reason ${describeValue(reason)}. Known: ${REASONS.join(', ')}. To wait for a human, use park().`,
  )
}

/** Who the operation is: what it says itself, else what its parent or its parked part says. */
export function infoOf(
  operationId: string,
  init: OperationInit,
  parent: ParentOperation | undefined,
): OperationInfo {
  const { resume } = init
  const agentName = init.agentName ?? resume?.agentName
  const agentId = init.agentId ?? resume?.agentId
  const userId = init.userId ?? parent?.userId ?? resume?.userId
  const conversationId = init.conversationId ?? parent?.conversationId ?? resume?.conversationId
  const parentOperationId = parent?.operationId ?? resume?.parentOperationId
  return {
    operationId,
    rootOperationId: parent?.rootOperationId ?? resume?.rootOperationId ?? parentOperationId ?? operationId,
    ...(parentOperationId !== undefined && { parentOperationId }),
    ...(agentName !== undefined && { agentName }),
    ...(agentId !== undefined && { agentId }),
    ...(userId !== undefined && { userId }),
    ...(conversationId !== undefined && { conversationId }),
  }
}

/** What continues the operation elsewhere. */
export function parkedOf(core: OperationCore, waitingFor: string): ParkedOperation {
  const { operationId, rootOperationId, parentOperationId } = core.info
  const { agentName, agentId, userId, conversationId } = core.info
  const { steps, llmCalls, toolCalls, usage, costUsd } = core.totals()
  const { traceparent } = core.traced
  return {
    version: 1,
    operationId,
    rootOperationId,
    ...(parentOperationId !== undefined && { parentOperationId }),
    ...(agentName !== undefined && { agentName }),
    ...(agentId !== undefined && { agentId }),
    ...(userId !== undefined && { userId }),
    ...(conversationId !== undefined && { conversationId }),
    ...(traceparent !== undefined && { traceparent }),
    sequence: core.record.sequence,
    stepIndex: core.nextStepIndex,
    waitingFor,
    parkedAt: core.record.clock(),
    totals: {
      steps,
      llmCalls,
      toolCalls,
      inputTokens: usage.inputTokens,
      outputTokens: usage.outputTokens,
      ...(costUsd !== undefined && { costUsd }),
    },
    runKey: core.runKey,
    callCount: core.callCount,
    ...(core.openStep !== undefined && { openStep: core.openStep }),
    waiting: [...core.waiting],
    questions: core.questions.ids,
    tree: { sums: core.tree.totals, state: core.tree.savedState() },
  }
}

export interface JoinedSignal {
  readonly signal: AbortSignal | undefined
  /** Lets go of the two. */
  release(): void
}

/**
 * Aborted with either of the two. Not AbortSignal.any(): a signal that lives longer than the run keeps something of
 * each signal that is derived from it.
 */
export function joinSignals(a: AbortSignal | undefined, b: AbortSignal | undefined): JoinedSignal {
  if (a === undefined || b === undefined || a === b) return { signal: a ?? b, release: () => {} }
  const controller = new AbortController()
  const undo = [a, b].map((source) => {
    const onAbort = () => controller.abort(source.reason)
    if (source.aborted) onAbort()
    else source.addEventListener('abort', onAbort, { once: true })
    return () => source.removeEventListener('abort', onAbort)
  })
  return { signal: controller.signal, release: () => undo.forEach((off) => void off()) }
}
