import { type AnyHookType, EVENT_SCHEMA_VERSION, type HookEvent } from '../hooks/index.ts'
import { snapshot } from '../internal/snapshot.ts'
import type { OperationInfo } from './instrument.ts'

/** The fields whose values are the runtime's own objects. Handlers get copies of these. */
const DEEP_FIELDS: Record<AnyHookType, readonly string[]> = {
  beforeStep: [],
  afterStep: ['toolCalls', 'usage'],
  onComplete: ['totals'],
  onError: [],
  beforeToolCall: ['args'],
  afterToolCall: ['args', 'result'],
  onToolCallError: ['args'],
  beforeHumanIntervention: ['pendingTools'],
  afterHumanIntervention: ['toolCallIds'],
  onStopByHumanIntervention: ['toolCallIds'],
  beforeCompact: [],
  afterCompact: [],
  onCompactError: [],
  beforeCallAgent: [],
  afterCallAgent: ['usage'],
  onCallAgentError: [],
  onStart: ['input'],
  beforeLlmCall: ['request'],
  afterLlmCall: ['request', 'response', 'usage'],
  onLlmCallError: ['request'],
}

type Loose = Record<string, unknown>

/**
 * Makes the event out of what the runtime said. Fields that the runtime gave win over the operation's identity,
 * never over what identifies the event. One literal and plain assignments, because that is what makes it fast.
 */
export function stampEvent(
  info: OperationInfo,
  type: AnyHookType,
  init: object,
  sequence: number,
  timestamp: number,
): HookEvent {
  const event: Loose = {
    ...init,
    hookType: type,
    operationId: info.operationId,
    sequence,
    timestamp,
    schemaVersion: EVENT_SCHEMA_VERSION,
    rootOperationId: (init as Loose | undefined)?.rootOperationId ?? info.rootOperationId,
  }
  const { parentOperationId, agentName, agentId, userId, conversationId } = info
  if (parentOperationId !== undefined && event.parentOperationId === undefined) {
    event.parentOperationId = parentOperationId
  }
  if (agentName !== undefined && event.agentName === undefined) event.agentName = agentName
  if (agentId !== undefined && event.agentId === undefined) event.agentId = agentId
  if (userId !== undefined && event.userId === undefined) event.userId = userId
  if (conversationId !== undefined && event.conversationId === undefined) {
    event.conversationId = conversationId
  }
  return event as unknown as HookEvent
}

/** Replaces what belongs to the runtime by copies, in place. */
export function detach(event: HookEvent): HookEvent {
  const fields = DEEP_FIELDS[event.hookType]
  const loose = event as unknown as Loose
  for (let i = 0; i < fields.length; i++) {
    const field = fields[i] as string
    const value = loose[field]
    if (typeof value === 'object' && value !== null) loose[field] = snapshot(value)
  }
  return event
}

/** Another event with the same content, for the next handler, so that no handler sees what another one did to it. */
export function copyEvent(event: HookEvent): HookEvent {
  return detach({ ...event } as HookEvent)
}
