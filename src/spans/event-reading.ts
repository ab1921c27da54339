import { errorContent } from '../dispatcher/calls/tool-outcome.ts'
import type { Activity, ActivityEnd, Annotation, OperationInfo } from '../dispatcher/index.ts'
import {
  type AnyHookType,
  GATE_POINTS,
  type GatePoint,
  HOOK_GROUPS,
  type HookEvent,
  type HookGroup,
  type PendingTool,
} from '../hooks/index.ts'
import { isError } from '../internal/realms.ts'

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
  const kind = kindOf(event)
  const told: {
    readonly [K in 'callKey' | 'toolCallId' | 'callIndex' | 'agentId' | 'requestId' | 'toolCallIds']?: unknown
  } & { readonly pendingTools?: readonly PendingTool[] } = event
  const pending = told.pendingTools?.map(({ toolCallId }) => toolCallId)
  const ids: Record<CallKind, unknown> = {
    tool: `${told.toolCallId ?? ''}#${told.callIndex ?? ''}`,
    agent: told.agentId,
    human: told.requestId ?? told.toolCallIds ?? pending,
    llm: '',
    compact: '',
  }
  return `${kind}:${told.callKey ?? ids[kind]}`
}

/** Who the operation of an event is. An event about a sub-agent names that one, and not its own. */
export function infoOf(event: HookEvent): OperationInfo {
  const { operationId, rootOperationId, parentOperationId, parentCallKey } = event
  const { userId, conversationId, hookType } = event
  const { agentName, agentId } = HOOK_GROUPS[hookType].group === 'subAgent' ? {} : event
  const parent = { rootOperationId, parentOperationId, parentCallKey }
  return { operationId, ...parent, agentName, agentId, userId, conversationId }
}

/** What a runtime that dispatches by hand may have left out. */
const UNTOLD = {
  tool: { identifier: 'local', source: 'local', apiName: 'unknown', toolCallId: '', callIndex: 0 },
  llm: { model: 'unknown', provider: 'openai', request: {}, callKey: '' },
  human: { pendingTools: [] },
  compact: { messageCount: 0, tokenCount: 0 },
  agent: { instruction: '', callKey: '', remote: false },
} as const

/** The activity of a call, from any event of it: their fields have the same names. */
export function activityOf(event: CallEvent): Activity {
  switch (event.hookType) {
    case 'beforeToolCall':
    case 'afterToolCall':
    case 'onToolCallError': {
      const told = { ...UNTOLD.tool, ...event }
      return { ...told, kind: 'tool', callKey: told.callKey ?? `${told.toolCallId}#${told.callIndex}` }
    }
    case 'beforeLlmCall':
    case 'afterLlmCall':
    case 'onLlmCallError':
      return { ...UNTOLD.llm, ...event, kind: 'llm' }
    case 'beforeHumanIntervention':
    case 'afterHumanIntervention':
      return { ...UNTOLD.human, ...event, kind: 'human' }
    case 'beforeCompact':
    case 'onCompactError':
      return { ...UNTOLD.compact, ...event, kind: 'compact' }
    case 'afterCompact': {
      const { messagesBefore: messageCount = 0, tokensBefore: tokenCount = 0 } = event
      return { ...event, kind: 'compact', messageCount, tokenCount }
    }
    case 'beforeCallAgent':
    case 'afterCallAgent':
    case 'onCallAgentError':
      return {
        ...UNTOLD.agent,
        ...event,
        kind: 'agent',
        agentId: event.agentId ?? event.agentName ?? 'agent',
      }
  }
}

export function isEnd(event: CallEvent): event is CallEndEvent {
  return HOOK_GROUPS[event.hookType].moment !== 'begin'
}

/** How a call ended: the same. */
export function callEndOf(event: CallEndEvent): ActivityEnd {
  switch (event.hookType) {
    case 'afterToolCall': {
      const { mocked = false, success = true, outcome = mocked ? 'mocked' : 'completed' } = event
      return { ...event, kind: 'tool', outcome, success, mocked, refusal: event.reason }
    }
    case 'onToolCallError': {
      const failure = errorOf(event)
      const content = errorContent(failure.error)
      return { ...event, kind: 'tool', outcome: 'errored', success: false, content, ...failure }
    }
    case 'afterLlmCall':
      return { ...event, kind: 'llm' }
    case 'onLlmCallError':
      return { ...event, kind: 'llm', ...errorOf(event) }
    case 'afterHumanIntervention':
      return { ...event, kind: 'human', approvalOutcome: event.outcome, ...failureOf(event) }
    case 'afterCompact':
      return { ...event, kind: 'compact' }
    case 'onCompactError':
      return { ...event, kind: 'compact', ...errorOf(event) }
    case 'afterCallAgent':
      // One that was stopped, or came to a limit, has not failed.
      return { ...event, kind: 'agent', ...(event.reason === 'error' && failureOf(event)) }
    case 'onCallAgentError':
      return { ...event, kind: 'agent', ...errorOf(event) }
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
  // Where it was made here tells nobody anything.
  const stack = isError(error) ? error.stack : undefined
  const told = { stack, ...(errorType !== undefined && { code: errorType }) }
  return { error: Object.assign(new Error(errorMessage), told) }
}

/** The tool call that a gate asks about: gates decide on what else there is, too, and runtimes ask about calls that they do not tell of. */
export function toolAskedAbout({
  withinCallKey,
  pendingTools,
}: HookEvent<'beforeHumanIntervention'>): PendingTool | undefined {
  const [tool] = pendingTools
  const isTool = withinCallKey !== undefined && !GATE_POINTS.includes(tool?.identifier as GatePoint)
  return isTool ? tool : undefined
}
