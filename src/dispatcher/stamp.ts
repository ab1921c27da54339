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
 * never over what identifies the event. The object literals are written out because that is what makes them fast.
 */
export function stampEvent(
  info: OperationInfo,
  type: AnyHookType,
  init: object,
  sequence: number,
  timestamp: number,
): HookEvent {
  const { operationId, rootOperationId } = info
  if (!hasIdentity(info)) {
    return {
      ...init,
      hookType: type,
      operationId,
      sequence,
      timestamp,
      schemaVersion: EVENT_SCHEMA_VERSION,
      rootOperationId,
    } as unknown as HookEvent
  }
  const given = init as Loose
  const event: Loose = {
    ...init,
    hookType: type,
    operationId,
    sequence,
    timestamp,
    schemaVersion: EVENT_SCHEMA_VERSION,
    rootOperationId,
  }
  for (const key of IDENTITY) {
    if (info[key] !== undefined && given[key] === undefined) event[key] = info[key]
  }
  return event as unknown as HookEvent
}

const IDENTITY = ['parentOperationId', 'agentName', 'agentId', 'userId', 'conversationId'] as const

function hasIdentity(info: OperationInfo): boolean {
  return (
    info.agentName !== undefined ||
    info.parentOperationId !== undefined ||
    info.conversationId !== undefined ||
    info.userId !== undefined ||
    info.agentId !== undefined
  )
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
