import { type AnyHookType, EVENT_SCHEMA_VERSION, HOOK_GROUPS, type HookEvent } from '../../hooks/index.ts'
import { detached } from '../../internal/detached.ts'
import type { OperationInfo } from '../plugins/instrument.ts'

type Loose = Record<string, unknown>

/** Whether the event has anything in it that somebody could change. */
export function holdsObjects(event: HookEvent): boolean {
  const loose = event as unknown as Loose
  for (const key in loose) {
    const value = loose[key]
    if (typeof value === 'object' && value !== null) return true
  }
  return false
}

/**
 * Replaces what belongs to the runtime by copies, in place: whatever the field is called, because a runtime may hand
 * over more than we have words for. One loop that reads and writes is what makes it as fast as naming the fields.
 */
export function detach(event: HookEvent): void {
  const loose = event as unknown as Loose
  for (const key in loose) {
    const value = loose[key]
    if (typeof value === 'object' && value !== null) loose[key] = detached(value)
  }
}

/** Keys that the loop does not see. Asked once for an event, and only of a runtime's own: it takes as long as all of it. */
export function symbolsOf(event: HookEvent): readonly symbol[] {
  return Object.getOwnPropertySymbols(event)
}

export function detachSymbols(event: HookEvent, symbols: readonly symbol[]): void {
  const loose = event as unknown as Record<symbol, unknown>
  for (const symbol of symbols) loose[symbol] = detached(loose[symbol])
}

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
  const { parentOperationId, parentCallKey, agentName, agentId, userId, conversationId } = info
  if (parentOperationId !== undefined && event.parentOperationId === undefined) {
    event.parentOperationId = parentOperationId
  }
  if (parentCallKey !== undefined && event.parentCallKey === undefined) event.parentCallKey = parentCallKey
  // An event about a sub-agent names that one, or none.
  if (HOOK_GROUPS[type].group !== 'subAgent') {
    if (agentName !== undefined && event.agentName === undefined) event.agentName = agentName
    if (agentId !== undefined && event.agentId === undefined) event.agentId = agentId
  }
  if (userId !== undefined && event.userId === undefined) event.userId = userId
  if (conversationId !== undefined && event.conversationId === undefined) {
    event.conversationId = conversationId
  }
  return event as unknown as HookEvent
}
