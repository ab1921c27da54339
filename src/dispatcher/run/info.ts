import type { OperationInfo } from '../plugins/instrument.ts'
import type { OperationInit, ParentOperation } from './operation-init.ts'

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
  const parentCallKey = parent?.callKey ?? resume?.parentCallKey
  return {
    operationId,
    rootOperationId: parent?.rootOperationId ?? resume?.rootOperationId ?? parentOperationId ?? operationId,
    ...(parentOperationId !== undefined && { parentOperationId }),
    ...(parentCallKey !== undefined && { parentCallKey }),
    ...(agentName !== undefined && { agentName }),
    ...(agentId !== undefined && { agentId }),
    ...(userId !== undefined && { userId }),
    ...(conversationId !== undefined && { conversationId }),
  }
}
