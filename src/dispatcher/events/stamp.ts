import { type AnyHookType, EVENT_SCHEMA_VERSION, HOOK_GROUPS, type HookEvent } from '../../hooks/index.ts'
import { snapshot } from '../../internal/snapshot.ts'
import type { OperationInfo } from '../plugins/instrument.ts'

type Loose = Record<string, unknown>

/** Replaces what belongs to the runtime by copies, in place. */
export type Detach = (event: HookEvent) => void

/**
 * The fields whose values are the runtime's own objects, by hook type: handlers get copies of these. Functions that
 * name their field, because fields that are looked up by a variable cost as much as copying what is in them.
 */
const DETACH: Partial<Record<AnyHookType, Detach>> = {
  afterStep: detaching((event) => {
    detachGates(event)
    if (isObject(event.toolCalls)) event.toolCalls = snapshot(event.toolCalls)
    detachUsage(event)
  }),
  onComplete: detaching((event) => {
    detachGates(event)
    if (isObject(event.totals)) event.totals = snapshot(event.totals)
  }),
  beforeToolCall: detaching(detachArgs),
  afterToolCall: detaching((event) => {
    detachGates(event)
    detachArgs(event)
    if (isObject(event.result)) event.result = snapshot(event.result)
  }),
  onToolCallError: detaching((event) => {
    detachGates(event)
    detachArgs(event)
  }),
  beforeHumanIntervention: detaching((event) => {
    if (isObject(event.pendingTools)) event.pendingTools = snapshot(event.pendingTools)
  }),
  afterHumanIntervention: detaching(detachToolCallIds),
  onStopByHumanIntervention: detaching(detachToolCallIds),
  afterCompact: detaching(detachGates),
  onCompactError: detaching(detachGates),
  afterCallAgent: detaching((event) => {
    detachGates(event)
    detachUsage(event)
  }),
  onCallAgentError: detaching(detachGates),
  onStart: detaching((event) => {
    if (isObject(event.input)) event.input = snapshot(event.input)
    if (isObject(event.attributes)) event.attributes = snapshot(event.attributes)
  }),
  beforeLlmCall: detaching(detachRequest),
  afterLlmCall: detaching(detachReply),
  onLlmCallError: detaching(detachReply),
}

function detaching(detach: (event: Loose) => void): Detach {
  return detach as unknown as Detach
}

function detachArgs(event: Loose): void {
  if (isObject(event.args)) event.args = snapshot(event.args)
}

function detachToolCallIds(event: Loose): void {
  if (isObject(event.toolCallIds)) event.toolCallIds = snapshot(event.toolCallIds)
}

function detachGates(event: Loose): void {
  if (isObject(event.gates)) event.gates = snapshot(event.gates)
}

function detachUsage(event: Loose): void {
  if (isObject(event.usage)) event.usage = snapshot(event.usage)
}

function detachReply(event: Loose): void {
  detachGates(event)
  detachRequest(event)
  if (isObject(event.response)) event.response = snapshot(event.response)
  detachUsage(event)
}

function detachRequest(event: Loose): void {
  if (isObject(event.request)) event.request = snapshot(event.request)
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

/** How events of a type are detached; undefined where they hold nothing of the runtime's. */
export function detachOf(type: AnyHookType): Detach | undefined {
  return DETACH[type]
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
