import type {
  Activity,
  ActivityEnd,
  ActivityScope,
  Instrument,
  OperationEnd,
  OperationInfo,
} from '../dispatcher/index.ts'
import type { HookEvent, HookEventMap } from '../hooks/index.ts'
import { defined } from '../internal/objects.ts'

type CallKind = 'tool' | 'llm' | 'human' | 'compact' | 'agent'

interface OpenCall {
  readonly kind: CallKind
  readonly key: string
  readonly scope: ActivityScope
}

/** What is open of one operation that is driven by `dispatch` alone. */
interface OpenOperation {
  readonly info: OperationInfo
  readonly root: ActivityScope | undefined
  step: ActivityScope | undefined
  readonly calls: OpenCall[]
}

/** Beyond this many operations the oldest is ended: a runtime that never says `onComplete` must not grow us. */
const MAX_OPEN = 10_000

/**
 * Makes activities out of hook events, for runtimes that dispatch events themselves: a `before` opens, the `after`
 * or `onError` of the same call closes. A lone `after` gives a span of the length that it names.
 */
export class EventPairing {
  readonly #instrument: Instrument
  readonly #open = new Map<string, OpenOperation>()

  constructor(instrument: Instrument) {
    this.#instrument = instrument
  }

  onEvent(event: HookEvent): void {
    const operation = this.#operationOf(event)
    switch (event.hookType) {
      case 'beforeStep':
        operation.step?.end({ kind: 'step' })
        operation.step = this.#start(operation, operation.root, {
          kind: 'step',
          stepIndex: event.stepIndex,
          ...(event.stepType !== undefined && { stepType: event.stepType }),
        })
        return
      case 'afterStep':
        operation.step?.end({ kind: 'step', ...errorOf(event) })
        operation.step = undefined
        return
      case 'onComplete':
        this.#close(event.operationId, completion(event))
        return
      case 'onStart':
      case 'onError':
      case 'onStopByHumanIntervention':
        return
      default:
        this.#call(operation, event)
    }
  }

  onRelease(operationId: string, abandoned: boolean): void {
    this.#close(operationId, {
      kind: 'operation',
      ...(abandoned && { reason: 'interrupted', abandoned }),
    })
  }

  #operationOf(event: HookEvent): OpenOperation {
    const known = this.#open.get(event.operationId)
    if (known !== undefined) return known
    const { operationId, rootOperationId, parentOperationId, agentName, agentId, userId, conversationId } =
      event
    const subAgent = event.hookType.endsWith('CallAgent') || event.hookType === 'onCallAgentError'
    const info: OperationInfo = {
      operationId,
      rootOperationId,
      ...(parentOperationId !== undefined && { parentOperationId }),
      ...(!subAgent && agentName !== undefined && { agentName }),
      ...(!subAgent && agentId !== undefined && { agentId }),
      ...(userId !== undefined && { userId }),
      ...(conversationId !== undefined && { conversationId }),
    }
    const input = event.hookType === 'onStart' ? event.input : undefined
    const activity: Activity = { kind: 'operation', ...(input !== undefined && { input }) }
    const parent = parentOperationId === undefined ? undefined : this.#callOf(parentOperationId)
    const operation = {
      info,
      root: this.#instrument.start(activity, info, parent),
      step: undefined,
      calls: [],
    }
    this.#open.set(operationId, operation)
    if (this.#open.size > MAX_OPEN) {
      this.#close(this.#open.keys().next().value as string, { kind: 'operation', abandoned: true })
    }
    return operation
  }

  /** Where a child operation hangs: under its parent's open agent call, else under the parent. */
  #callOf(parentOperationId: string): ActivityScope | undefined {
    const parent = this.#open.get(parentOperationId)
    return (
      parent?.calls.findLast(({ key }) => key.startsWith('agent:'))?.scope ?? parent?.step ?? parent?.root
    )
  }

  #call(operation: OpenOperation, event: HookEvent): void {
    const key = keyOf(event)
    const opening = openingOf(event)
    if (event.hookType.startsWith('before')) {
      const scope = this.#start(operation, operation.step ?? operation.root, opening)
      if (scope !== undefined) operation.calls.push({ kind: groupOf(event), key, scope })
      return
    }
    const index = operation.calls.findIndex((call) => call.key === key)
    const known = index < 0 ? undefined : operation.calls.splice(index, 1)[0]
    const scope = known?.scope ?? this.#late(operation, event, opening)
    scope?.end(endOf(event))
  }

  /** The `before` was never said: the span begins as long ago as the event says. */
  #late(operation: OpenOperation, event: HookEvent, opening: Activity): ActivityScope | undefined {
    const ms =
      (event as { executionTimeMs?: number; waitedMs?: number }).executionTimeMs ??
      (event as { waitedMs?: number }).waitedMs
    const parent = operation.step ?? operation.root
    return this.#instrument.start(
      opening,
      operation.info,
      parent,
      ms === undefined ? undefined : event.timestamp - ms,
    )
  }

  #start(
    operation: OpenOperation,
    parent: ActivityScope | undefined,
    activity: Activity,
  ): ActivityScope | undefined {
    return this.#instrument.start(activity, operation.info, parent)
  }

  #close(operationId: string, end: OperationEnd): void {
    const operation = this.#open.get(operationId)
    if (operation === undefined) return
    this.#open.delete(operationId)
    const error = new DOMException('The operation ended before this did.', 'AbortError')
    for (const { kind, scope } of operation.calls.reverse()) {
      scope.end(kind === 'tool' ? { kind, outcome: 'errored', args: undefined, error } : { kind, error })
    }
    operation.step?.end({ kind: 'step' })
    operation.root?.end(end)
  }
}

function keyOf(event: HookEvent): string {
  const call = event as { callKey?: string; toolCallId?: string; callIndex?: number }
  const group = groupOf(event)
  if (call.callKey !== undefined) return `${group}:${call.callKey}`
  if (group === 'tool') return `tool:${call.toolCallId ?? ''}#${call.callIndex ?? ''}`
  if (group === 'agent') return `agent:${(event as { agentId: string }).agentId}`
  return group
}

function groupOf(event: HookEvent): CallKind {
  if (event.hookType.includes('ToolCall')) return 'tool'
  if (event.hookType.includes('LlmCall')) return 'llm'
  if (event.hookType.includes('Human')) return 'human'
  return event.hookType.includes('Compact') ? 'compact' : 'agent'
}

function openingOf(event: HookEvent): Activity {
  switch (groupOf(event)) {
    case 'tool': {
      const call = event as HookEventMap['beforeToolCall']
      return {
        kind: 'tool',
        callKey: call.callKey ?? `${call.toolCallId ?? ''}#${call.callIndex ?? ''}`,
        identifier: call.identifier ?? 'local',
        source: call.source ?? 'local',
        apiName: call.apiName ?? 'unknown',
        args: call.args,
        toolCallId: call.toolCallId ?? '',
        callIndex: call.callIndex ?? 0,
      }
    }
    case 'llm': {
      const {
        model = 'unknown',
        provider = 'openai',
        request = {},
        callKey = '',
      } = event as HookEventMap['beforeLlmCall']
      return { kind: 'llm', callKey, model, provider, request }
    }
    case 'human':
      return {
        kind: 'human',
        pendingTools: (event as HookEventMap['beforeHumanIntervention']).pendingTools ?? [],
      }
    case 'compact': {
      const { messageCount, messagesBefore, tokenCount, tokensBefore } = event as unknown as Record<
        string,
        number | undefined
      >
      return {
        kind: 'compact',
        messageCount: messageCount ?? messagesBefore ?? 0,
        tokenCount: tokenCount ?? tokensBefore ?? 0,
      }
    }
    default: {
      const { agentId, agentName, instruction, callKey = '' } = event as HookEventMap['beforeCallAgent']
      return {
        kind: 'agent',
        callKey,
        agentId: agentId ?? agentName ?? 'agent',
        ...(agentName !== undefined && { agentName }),
        instruction: instruction ?? '',
        remote: false,
      }
    }
  }
}

function completion(event: HookEvent<'onComplete'>): OperationEnd {
  const { reason, totals, abandoned, content } = event
  return { kind: 'operation', reason, ...defined({ totals, abandoned, content }), ...errorOf(event) }
}

/** The names of an event's fields are those of an activity's end, except for a tool's. */
function endOf(event: HookEvent): ActivityEnd {
  if (event.hookType === 'afterToolCall') {
    const { mocked = false, success = true, content, result, args, code, reason } = event
    return {
      kind: 'tool',
      outcome: event.outcome ?? (mocked ? 'mocked' : 'completed'),
      args,
      content,
      success,
      mocked,
      ...(result !== undefined && { result }),
      ...(code !== undefined && { code }),
      ...(reason !== undefined && { refusal: reason }),
    }
  }
  if (event.hookType === 'onToolCallError') {
    return {
      kind: 'tool',
      outcome: 'errored',
      args: event.args,
      success: false,
      mocked: event.mocked ?? false,
      ...errorOf(event),
    }
  }
  return { ...(event as unknown as ActivityEnd), kind: groupOf(event), ...errorOf(event) } as ActivityEnd
}

/** The error itself, else one made of what the event says of it. */
function errorOf(event: HookEvent): { error?: unknown } {
  const { error, errorMessage, errorType } = event as {
    error?: unknown
    errorMessage?: string
    errorType?: string
  }
  if (error !== undefined) return { error: typeof error === 'string' ? new Error(error) : error }
  if (errorMessage === undefined) return {}
  return { error: Object.assign(new Error(errorMessage), { code: errorType }) }
}
