import { errorContent } from '../dispatcher/calls/tool-outcome.ts'
import type {
  Activity,
  ActivityEnd,
  Annotation,
  OperationEnd,
  OperationInfo,
  StepEnd,
} from '../dispatcher/index.ts'
import {
  type AnyHookType,
  HOOK_GROUPS,
  type HookEvent,
  type HookGroup,
  type PendingTool,
} from '../hooks/index.ts'

/** The kinds of activities that begin and end within an operation or a step. */
export type CallKind = Exclude<Activity['kind'], 'operation' | 'step' | 'gate'>

type Placed = typeof HOOK_GROUPS

/** What is left without runs, steps and mere notes: a hook type that is new and one of these has to be read below. */
type CallHookType = {
  [T in AnyHookType]: Placed[T] extends { group: 'run' | 'step' } | { moment: 'note' } ? never : T
}[AnyHookType]

export type CallEvent = HookEvent<CallHookType>
export type CallEndEvent = HookEvent<Exclude<CallHookType, `before${string}`>>

const KINDS: Readonly<Record<Exclude<HookGroup, 'run' | 'step'>, CallKind>> = {
  tool: 'tool',
  llm: 'llm',
  human: 'human',
  compaction: 'compact',
  subAgent: 'agent',
}

export function isCall(event: HookEvent): event is CallEvent {
  const { group, moment } = HOOK_GROUPS[event.hookType]
  return group in KINDS && moment !== 'note'
}

export function kindOf(event: CallEvent): CallKind {
  return KINDS[HOOK_GROUPS[event.hookType].group as keyof typeof KINDS]
}

/** Tells the calls of one operation apart. Real models repeat the ids of tool calls, so a call's own key goes first. */
export function keyOf(event: CallEvent): string {
  const {
    callKey,
    toolCallId = '',
    callIndex = '',
    agentId,
    requestId,
    pendingTools,
    toolCallIds,
  } = event as {
    readonly callKey?: string
    readonly toolCallId?: string
    readonly callIndex?: number
    readonly agentId?: string
    readonly requestId?: string
    readonly pendingTools?: readonly PendingTool[]
    readonly toolCallIds?: readonly string[]
  }
  const kind = kindOf(event)
  if (callKey !== undefined) return `${kind}:${callKey}`
  switch (kind) {
    case 'tool':
      return `${kind}:${toolCallId}#${callIndex}`
    case 'agent':
      return `${kind}:${agentId}`
    case 'human':
      return `${kind}:${requestId ?? toolCallIds ?? pendingTools?.map((tool) => tool.toolCallId)}`
    case 'llm':
    case 'compact':
      return kind
  }
}

/** Who the operation of an event is. An event about a sub-agent names that one, and not its own. */
export function infoOf(event: HookEvent): OperationInfo {
  const { operationId, rootOperationId, parentOperationId, parentCallKey } = event
  const { userId, conversationId, hookType } = event
  const { agentName, agentId } = HOOK_GROUPS[hookType].group === 'subAgent' ? {} : event
  const parent = { rootOperationId, parentOperationId, parentCallKey }
  return { operationId, ...parent, agentName, agentId, userId, conversationId }
}

/** The activity of a call, from any event of it. What a runtime that dispatches by hand left out has a stand-in. */
export function activityOf(event: CallEvent): Activity {
  switch (event.hookType) {
    case 'beforeToolCall':
    case 'afterToolCall':
    case 'onToolCallError': {
      const { identifier = 'local', source = 'local', apiName = 'unknown', args, description } = event
      const { toolCallId = '', callIndex = 0, callKey = `${toolCallId}#${callIndex}` } = event
      const tool = { identifier, source, apiName, description }
      return { kind: 'tool', callKey, ...tool, args, toolCallId, callIndex }
    }
    case 'beforeLlmCall':
    case 'afterLlmCall':
    case 'onLlmCallError': {
      const { model = 'unknown', provider = 'openai', request = {}, callKey = '', operationName } = event
      const { serverAddress, serverPort } = event
      const server = { serverAddress, serverPort }
      return { kind: 'llm', callKey, model, provider, request, operationName, ...server }
    }
    case 'beforeHumanIntervention': {
      const { pendingTools = [], instructions, requestId, callKey } = event
      return { kind: 'human', callKey, pendingTools, instructions, requestId }
    }
    case 'afterHumanIntervention':
      return { kind: 'human', callKey: event.callKey, pendingTools: [], requestId: event.requestId }
    case 'beforeCompact':
    case 'onCompactError': {
      const { callKey, messageCount = 0, tokenCount = 0 } = event
      return { kind: 'compact', callKey, messageCount, tokenCount }
    }
    case 'afterCompact': {
      const { callKey, messagesBefore: messageCount = 0, tokensBefore: tokenCount = 0 } = event
      return { kind: 'compact', callKey, messageCount, tokenCount }
    }
    case 'beforeCallAgent':
    case 'afterCallAgent':
    case 'onCallAgentError': {
      const { agentName, agentId = agentName ?? 'agent', instruction = '' } = event
      const { callKey = '', remote = false } = event
      return { kind: 'agent', callKey, agentId, agentName, instruction, remote }
    }
  }
}

export function isEnd(event: CallEvent): event is CallEndEvent {
  return HOOK_GROUPS[event.hookType].moment !== 'begin'
}

/** How a call ended. */
export function callEndOf(event: CallEndEvent): ActivityEnd {
  switch (event.hookType) {
    case 'afterToolCall': {
      const { mocked = false, success = true, content, result, args, code, reason: refusal } = event
      const { outcome = mocked ? 'mocked' : 'completed' } = event
      return { kind: 'tool', outcome, args, content, success, mocked, result, code, refusal }
    }
    case 'onToolCallError': {
      const { args, mocked = false } = event
      const failure = errorOf(event)
      const content = errorContent(failure.error)
      return { kind: 'tool', outcome: 'errored', args, success: false, mocked, content, ...failure }
    }
    case 'afterLlmCall': {
      const { request, response, usage, costUsd, timeToFirstChunkMs, streamEnd, mocked } = event
      return { kind: 'llm', request, response, usage, costUsd, timeToFirstChunkMs, streamEnd, mocked }
    }
    case 'onLlmCallError': {
      const { request, mocked, response, usage, timeToFirstChunkMs } = event
      return { kind: 'llm', request, mocked, response, usage, timeToFirstChunkMs, ...errorOf(event) }
    }
    case 'afterHumanIntervention': {
      const { action, outcome: approvalOutcome, approver, rejectionReason, waitedMs, code } = event
      const failure = failureOf(event)
      return { kind: 'human', action, approvalOutcome, approver, rejectionReason, waitedMs, code, ...failure }
    }
    case 'afterCompact': {
      const { groupId, messagesBefore, messagesAfter, tokensBefore, tokensAfter, summary } = event
      return { kind: 'compact', groupId, messagesBefore, messagesAfter, tokensBefore, tokensAfter, summary }
    }
    case 'onCompactError':
      return { kind: 'compact', ...errorOf(event) }
    case 'afterCallAgent': {
      const { success, subOperationId, threadId, content, usage } = event
      return { kind: 'agent', success, subOperationId, threadId, content, usage }
    }
    case 'onCallAgentError':
      return { kind: 'agent', subOperationId: event.subOperationId, ...errorOf(event) }
  }
}

/** What stood in for the tool or the model, where something did. */
export function mockOf(event: CallEndEvent): Annotation | undefined {
  switch (event.hookType) {
    case 'afterToolCall':
    case 'onToolCallError':
      if (event.mockSource === undefined) return undefined
      return { kind: 'mock', source: event.mockSource, rule: event.mockRule }
    case 'afterLlmCall':
    case 'onLlmCallError':
      return event.mocked ? { kind: 'mock', source: 'scripted' } : undefined
    default:
      return undefined
  }
}

/** The end of a call that was still open when its operation ended. */
export function cutEnd(kind: CallKind): ActivityEnd {
  const error = new DOMException('The operation ended before this did.', 'AbortError')
  return kind === 'tool'
    ? { kind, outcome: 'errored', args: undefined, success: false, error }
    : { kind, error }
}

export function stepEndOf(event: HookEvent<'afterStep'>): StepEnd {
  return { kind: 'step', ...failureOf(event) }
}

/** `failure`: what `onError` told before, where it did. */
export function operationEndOf(event: HookEvent<'onComplete'>, failure: { error?: unknown }): OperationEnd {
  const { reason, totals, abandoned, content } = event
  return { kind: 'operation', reason, totals, abandoned, content, ...failure, ...failureOf(event) }
}

/** Of an event that tells of an error only where there is one. */
export function failureOf(event: ToldError): { error?: unknown } {
  return event.errorMessage === undefined ? {} : errorOf(event)
}

interface ToldError {
  readonly error?: unknown
  readonly errorMessage?: string
  readonly errorType?: string
}

/** An error that says what the event says of it: the error itself is lost where events are kept as JSON. */
export function errorOf({ error, errorMessage, errorType }: ToldError): { error: unknown } {
  if (errorMessage === undefined) return { error: typeof error === 'string' ? new Error(error) : error }
  return { error: Object.assign(new Error(errorMessage), errorType === undefined ? {} : { code: errorType }) }
}
