import type { TracedActivity } from '../plugins/traced-activity.ts'
import type { OperationCore } from './operation-core.ts'
import type { LiveParent, ParentOperation } from './operation-init.ts'

/** What a child is started with. Only the plain fields survive JSON. */
export function parentOf(
  core: OperationCore,
  traced: TracedActivity,
  started: (operationId: string) => void,
  callKey?: string,
): ParentOperation {
  const { operationId, rootOperationId, userId, conversationId } = core.info
  const { traceparent } = traced
  const parent: ParentOperation = {
    operationId,
    rootOperationId,
    ...(callKey !== undefined && { callKey }),
    ...(traceparent !== undefined && { traceparent }),
    agentPath: core.agentPath,
    ...(userId !== undefined && { userId }),
    ...(conversationId !== undefined && { conversationId }),
  }
  const { signal, approver, tree, seen, questions, inside } = core
  const live: LiveParent['live'] = {
    traced,
    gates: () => core.allGates(),
    standIns: () => core.standIns(),
    disabled: core.disabled,
    approver,
    tree,
    seen,
    questions,
    signal,
    inside,
    started: (operationId) => {
      core.children++
      started(operationId)
    },
  }
  Object.defineProperty(parent, 'live', { value: live, enumerable: false })
  return parent
}
