import type { HookEvent } from '../../hooks/index.ts'
import { safeStringify } from '../../internal/json.ts'
import { defined } from '../../internal/objects.ts'
import type { PlainSpan } from './spans.ts'

type Open = { -readonly [K in keyof PlainSpan]: PlainSpan[K] } & { attributes: Record<string, unknown> }

type ToolEvent = HookEvent<'beforeToolCall' | 'afterToolCall' | 'onToolCallError'>

/** The spans that events would have become, gates left out: no event tells of them. In the order of their start. */
export function spansOfEvents(events: readonly HookEvent[]): PlainSpan[] {
  const reader = new EventSpans()
  for (const event of events) reader.read(event)
  return reader.spans
}

class EventSpans {
  readonly spans: Open[] = []
  readonly #byKey = new Map<string, Open>()
  /** Calls of tools that go on: a sub-agent is called by one of its name. */
  readonly #running = new Set<string>()

  read(event: HookEvent): void {
    this.#operation(event)
    switch (event.hookType) {
      case 'onComplete':
        return this.#note(event.operationId, { 'hookspan.operation.reason': event.reason })
      case 'onError':
        return this.#fail(event.operationId, event.errorType)
      case 'beforeStep':
        return this.#start(event, `step ${event.stepIndex}`, stepKey(event), event.operationId, {
          'hookspan.step.index': event.stepIndex,
        })
      case 'beforeLlmCall':
        return this.#start(
          event,
          `chat ${event.model}`,
          callKey(event),
          this.#place(event),
          {
            'gen_ai.operation.name': 'chat',
            'gen_ai.request.model': event.model,
            'gen_ai.provider.name': event.provider,
          },
          'client',
        )
      case 'afterLlmCall':
        return this.#note(callKey(event), {
          'gen_ai.usage.input_tokens': event.usage?.inputTokens,
          'gen_ai.usage.output_tokens': event.usage?.outputTokens,
          'hookspan.mock.source': event.mocked ? 'scripted' : undefined,
        })
      case 'onLlmCallError':
        return this.#fail(callKey(event), event.errorType)
      case 'beforeToolCall':
        return void this.#tool(event)
      case 'afterToolCall':
      case 'onToolCallError':
        return this.#endTool(event)
      case 'beforeHumanIntervention':
        return this.#start(event, 'human_intervention', humanKey(event), this.#asking(event), {
          'hookspan.human.tools': event.pendingTools.map(({ apiName }) => apiName).join(', '),
        })
      case 'afterHumanIntervention':
        return this.#note(humanKey(event), {
          'hookspan.human.action': event.action,
          'hookspan.human.approver': event.approver,
          'hookspan.human.rejection_reason': event.rejectionReason,
        })
      case 'beforeCompact':
        return this.#start(event, 'compact_context', `${event.operationId} compact`, this.#place(event), {})
      case 'onCompactError':
        return this.#fail(`${event.operationId} compact`, event.errorType)
    }
  }

  /** Every event names its operation, also where the first one was not recorded. */
  #operation(event: HookEvent): void {
    const { operationId, parentOperationId, agentName } = event
    if (this.#byKey.has(operationId)) return
    const above = this.spans.findLast(
      ({ spanId, attributes }) =>
        spanId.startsWith(`${parentOperationId} step`) ||
        (this.#running.has(spanId) && attributes['gen_ai.tool.name'] === agentName),
    )
    const parent = above?.spanId ?? parentOperationId
    this.#start(event, `invoke_agent ${agentName ?? ''}`.trim(), operationId, parent, {
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.agent.name': agentName,
      'hookspan.operation.id': operationId,
    })
  }

  #endTool(event: HookEvent<'afterToolCall' | 'onToolCallError'>): void {
    const key = callKey(event)
    const failed = event.hookType === 'onToolCallError'
    // A call that a gate refused has no beginning among the events.
    if (!this.#byKey.has(key)) this.#tool(event)
    this.#note(key, {
      'gen_ai.tool.call.arguments': safeStringify(event.args),
      'hookspan.tool.mocked': event.mocked ?? false,
      'hookspan.mock.source': event.mocked ? event.mockSource : undefined,
      'hookspan.mock.rule': event.mockRule,
      ...(failed
        ? { 'hookspan.tool.outcome': 'errored' }
        : {
            'gen_ai.tool.call.result': event.content,
            'hookspan.tool.outcome': event.outcome ?? (event.mocked ? 'mocked' : 'completed'),
            'hookspan.tool.code': event.code,
            'hookspan.tool.reason': event.reason,
          }),
    })
    if (failed) this.#fail(key, event.errorType)
    this.#running.delete(this.#byKey.get(key)?.spanId ?? '')
  }

  #place(event: HookEvent): string {
    const step = event.stepIndex === undefined ? undefined : stepKey(event)
    return step !== undefined && this.#byKey.has(step) ? step : event.operationId
  }

  /** The call that the human is asked about: it has begun, but the hooks hear of it only once it is approved. */
  #asking(event: HookEvent<'beforeHumanIntervention'>): string {
    const [pending] = event.pendingTools
    if (pending === undefined) return this.#place(event)
    const { identifier, apiName, toolCallId } = pending
    const key = `${event.operationId} asked ${toolCallId}`
    this.#startTool(event, { identifier, apiName, toolCallId }, key)
    return key
  }

  #tool(event: ToolEvent): void {
    const asked = `${event.operationId} asked ${event.toolCallId}`
    const span = this.#byKey.get(asked)
    if (span === undefined) return this.#startTool(event, event, callKey(event))
    this.#byKey.delete(asked)
    this.#byKey.set(callKey(event), span)
  }

  #startTool(
    event: HookEvent,
    { identifier, apiName, toolCallId }: Pick<ToolEvent, 'identifier' | 'apiName' | 'toolCallId'>,
    key: string,
  ): void {
    this.#running.add(key)
    this.#start(event, `execute_tool ${apiName}`, key, this.#place(event), {
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': apiName,
      'gen_ai.tool.call.id': toolCallId,
      'hookspan.tool.identifier': identifier,
    })
  }

  #start(
    { timestamp, rootOperationId }: HookEvent,
    name: string,
    spanId: string,
    parentId: string | undefined,
    attributes: Record<string, unknown>,
    kind = 'internal',
  ): void {
    const span = { name, spanId, parentId, traceId: rootOperationId, startMs: timestamp, failed: false, kind }
    const open = { ...span, attributes: defined(attributes) }
    this.spans.push(open)
    this.#byKey.set(spanId, open)
  }

  #note(key: string, attributes: Record<string, unknown>): void {
    Object.assign(this.#byKey.get(key)?.attributes ?? {}, defined(attributes))
  }

  #fail(key: string, type: string): void {
    const span = this.#byKey.get(key)
    if (span === undefined) return
    span.failed = true
    span.attributes['error.type'] = type
  }
}

function stepKey({ operationId, stepIndex }: HookEvent): string {
  return `${operationId} step ${stepIndex}`
}

function callKey(event: {
  readonly operationId: string
  readonly callKey?: string
  readonly toolCallId?: string
}): string {
  return `${event.operationId} call ${event.callKey ?? event.toolCallId ?? ''}`
}

function humanKey(event: HookEvent<'beforeHumanIntervention' | 'afterHumanIntervention'>): string {
  const ids =
    event.hookType === 'afterHumanIntervention'
      ? event.toolCallIds
      : event.pendingTools.map(({ toolCallId }) => toolCallId)
  return `${event.operationId} human ${ids.join()}`
}
