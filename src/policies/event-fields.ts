import type { AnyHookType, HookEvent } from '../hooks/index.ts'
import { expected } from '../internal/expect.ts'
import { nearestName } from '../internal/nearest-name.ts'

/** The names of the fields that an event of one of these types has; what it can do is none of them. */
export type EventField<T extends AnyHookType> = {
  [K in T]: Extract<Exclude<keyof HookEvent<K>, 'mock'>, string>
}[T]

/** Of all types. The compiler names one that is missing here, or that no event has. */
const NAMES: Record<EventField<AnyHookType>, true> = {
  abandoned: true,
  action: true,
  agentId: true,
  agentName: true,
  apiName: true,
  approver: true,
  args: true,
  attributes: true,
  callIndex: true,
  callKey: true,
  callerName: true,
  channel: true,
  code: true,
  content: true,
  disabled: true,
  conversationId: true,
  costUsd: true,
  description: true,
  error: true,
  errorMessage: true,
  errorType: true,
  executionTimeMs: true,
  expiresAt: true,
  gates: true,
  groupId: true,
  hookType: true,
  identifier: true,
  identity: true,
  input: true,
  instruction: true,
  instructions: true,
  messageCount: true,
  messagesAfter: true,
  messagesBefore: true,
  mockRule: true,
  mockSource: true,
  mocked: true,
  model: true,
  operationId: true,
  operationName: true,
  outcome: true,
  parentCallKey: true,
  parentOperationId: true,
  pendingTools: true,
  provider: true,
  reason: true,
  reasoning: true,
  rejectionReason: true,
  remote: true,
  request: true,
  requestId: true,
  response: true,
  result: true,
  rootOperationId: true,
  schemaVersion: true,
  sequence: true,
  serverAddress: true,
  serverPort: true,
  shouldContinue: true,
  source: true,
  stepIndex: true,
  stepType: true,
  streamEnd: true,
  subOperationId: true,
  success: true,
  summary: true,
  threadId: true,
  timeToFirstChunkMs: true,
  timestamp: true,
  tokenCount: true,
  tokensAfter: true,
  tokensBefore: true,
  toolCallId: true,
  toolCallIds: true,
  toolCalls: true,
  totals: true,
  usage: true,
  userId: true,
  waitedMs: true,
  withinCallKey: true,
}

/** @throws HookspanError `INVALID_OPTION` for a name that no event has. */
export function assertEventFields(fields: readonly string[], owner: string): void {
  const stranger = fields.find((name) => !Object.hasOwn(NAMES, name))
  if (stranger === undefined) return
  const nearest = nearestName(stranger, Object.keys(NAMES))
  throw expected(
    `\`fields\` of ${owner} to be names of an event's fields${nearest === undefined ? '' : ` (did you mean "${nearest}"?)`}`,
    stranger,
  )
}
