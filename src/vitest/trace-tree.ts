import { randomBytes } from 'node:crypto'
import type {
  Activity,
  ActivityEnd,
  ActivityScope,
  Annotation,
  Instrument,
  OperationInfo,
} from '../dispatcher/index.ts'
import { errorMessage, errorType } from '../internal/errors.ts'
import { safeStringify } from '../internal/json.ts'
import { defined } from '../internal/objects.ts'
import { snapshot } from '../internal/snapshot.ts'

/** A span of the recorded run, in a shape that `toHaveSpans` and the trace file share. */
export interface RecordedSpan {
  readonly name: string
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId: string | undefined
  /** Milliseconds since 1970. */
  readonly startTime: number
  endTime: number | undefined
  readonly attributes: Record<string, string | number | boolean>
  status: { code: 0 | 2; message?: string }
  readonly kind: 'internal' | 'client'
  readonly children: RecordedSpan[]
}

/** Keeps what happens as a tree, without any tracing set up: for the picture and the file of a failed test. */
export class TraceTree implements Instrument {
  readonly #roots: RecordedSpan[] = []

  start(activity: Activity, info: OperationInfo, parent: ActivityScope | undefined): ActivityScope {
    const above = parent as TreeScope | undefined
    // The child's run is the parent's call: one span, as in a real trace.
    if (activity.kind === 'operation' && above?.activity.kind === 'agent' && !above.adopted) {
      above.adopted = true
      Object.assign(above.span.attributes, toSpan(activity, info, above.span).attributes)
      return new TreeScope(above.span, activity)
    }
    const span = toSpan(activity, info, above?.span)
    if (above === undefined) this.#roots.push(span)
    else above.span.children.push(span)
    return new TreeScope(span, activity)
  }

  get spans(): RecordedSpan[] {
    const all: RecordedSpan[] = []
    const walk = (spans: readonly RecordedSpan[]) => {
      for (const span of spans) {
        all.push(span)
        walk(span.children)
      }
    }
    walk(this.#roots)
    return all
  }

  /** One line a span, children below their parents. */
  toString(): string {
    const lines: string[] = []
    const walk = (spans: readonly RecordedSpan[], indent: string) => {
      for (const span of spans) {
        lines.push(`${indent}${describe(span)}`)
        walk(span.children, `${indent}  `)
      }
    }
    walk(this.#roots, '')
    return lines.join('\n')
  }

  /** OTLP JSON, as collectors and viewers take it. */
  toJSON(): object {
    const spans = this.spans.map(
      ({ kind, startTime, endTime, attributes, children: _children, ...span }) => ({
        ...span,
        kind: kind === 'client' ? 3 : 1,
        startTimeUnixNano: nanoseconds(startTime),
        endTimeUnixNano: nanoseconds(endTime ?? startTime),
        attributes: Object.entries(attributes).map(([key, value]) => ({ key, value: otlpValue(value) })),
      }),
    )
    const resource = { attributes: [{ key: 'service.name', value: { stringValue: 'hookspan/vitest' } }] }
    return { resourceSpans: [{ resource, scopeSpans: [{ scope: { name: 'hookspan' }, spans }] }] }
  }
}

class TreeScope implements ActivityScope {
  readonly span: RecordedSpan
  readonly activity: Activity
  /** Whether the run of the called agent has this span, too. */
  adopted = false

  constructor(span: RecordedSpan, activity: Activity) {
    this.span = span
    this.activity = activity
  }

  run<T>(fn: () => T): T {
    return fn()
  }

  annotate(annotation: Annotation): void {
    if (annotation.kind !== 'mock') return
    this.span.attributes['hookspan.mock.source'] = annotation.source
    if (annotation.rule !== undefined) this.span.attributes['hookspan.mock.rule'] = annotation.rule
  }

  end(end: ActivityEnd): void {
    this.span.endTime = now()
    Object.assign(this.span.attributes, endAttributes(end))
    if (end.error === undefined) return
    this.span.attributes['error.type'] = errorType(end.error)
    this.span.status = { code: 2, message: errorMessage(end.error) }
  }
}

const now = () => performance.timeOrigin + performance.now()

function toSpan(activity: Activity, info: OperationInfo, parent: RecordedSpan | undefined): RecordedSpan {
  const { name, attributes } = startOf(activity, info)
  return {
    name,
    traceId: parent?.traceId ?? randomBytes(16).toString('hex'),
    spanId: randomBytes(8).toString('hex'),
    parentSpanId: parent?.spanId,
    startTime: now(),
    endTime: undefined,
    attributes: defined(attributes) as never,
    status: { code: 0 },
    kind: activity.kind === 'llm' ? 'client' : 'internal',
    children: [],
  }
}

function startOf(
  activity: Activity,
  info: OperationInfo,
): { name: string; attributes: Record<string, unknown> } {
  const agent = { 'gen_ai.agent.name': info.agentName, 'hookspan.operation.id': info.operationId }
  switch (activity.kind) {
    case 'operation':
      return {
        name: `invoke_agent ${info.agentName ?? ''}`.trim(),
        attributes: { 'gen_ai.operation.name': 'invoke_agent', ...agent },
      }
    case 'step':
      return { name: `step ${activity.stepIndex}`, attributes: { 'hookspan.step.index': activity.stepIndex } }
    case 'llm':
      return {
        name: `chat ${activity.model}`,
        attributes: {
          'gen_ai.operation.name': 'chat',
          'gen_ai.request.model': activity.model,
          'gen_ai.provider.name': activity.provider,
        },
      }
    case 'tool':
      return {
        name: `execute_tool ${activity.apiName}`,
        attributes: {
          'gen_ai.operation.name': 'execute_tool',
          'gen_ai.tool.name': activity.apiName,
          'gen_ai.tool.call.id': activity.toolCallId,
          'gen_ai.tool.call.arguments': safeStringify(snapshot(activity.args)),
          'hookspan.tool.identifier': activity.identifier,
        },
      }
    case 'human':
      return {
        name: 'human_intervention',
        attributes: {
          'hookspan.human.tools': activity.pendingTools.map(({ apiName }) => apiName).join(', '),
        },
      }
    case 'compact':
      return { name: 'compact_context', attributes: {} }
    case 'agent':
      return {
        name: `invoke_agent ${activity.agentName ?? activity.agentId}`,
        attributes: { 'hookspan.instruction': activity.instruction },
      }
    case 'gate':
      return { name: `gate ${activity.gateId}`, attributes: {} }
  }
}

function endAttributes(end: ActivityEnd): Record<string, string | number | boolean> {
  return defined(endOf(end)) as never
}

function endOf(end: ActivityEnd): Record<string, unknown> {
  switch (end.kind) {
    case 'operation':
      return { 'hookspan.operation.reason': end.reason }
    case 'llm':
      return {
        'gen_ai.output.messages': end.response && safeStringify(end.response),
        'gen_ai.usage.input_tokens': end.usage?.inputTokens,
        'gen_ai.usage.output_tokens': end.usage?.outputTokens,
      }
    case 'tool':
      return {
        'hookspan.tool.outcome': end.outcome,
        'hookspan.tool.mocked': end.mocked ?? false,
        'hookspan.tool.code': end.code,
        'hookspan.tool.reason': end.refusal,
        'gen_ai.tool.call.arguments': safeStringify(end.args),
        'gen_ai.tool.call.result': end.content,
      }
    case 'human':
      return {
        'hookspan.tool.code': end.code,
        'hookspan.human.action': end.action,
        'hookspan.human.approver': end.approver,
        'hookspan.human.rejection_reason': end.rejectionReason,
      }
    case 'agent':
      return {
        'gen_ai.usage.input_tokens': end.usage?.inputTokens,
        'gen_ai.usage.output_tokens': end.usage?.outputTokens,
      }
    case 'step':
    case 'compact':
    case 'gate':
      return {}
  }
}

function describe({ name, attributes, status, endTime, startTime }: RecordedSpan): string {
  const args = attributes['gen_ai.tool.call.arguments']
  const result = attributes['gen_ai.tool.call.result']
  const notes = [
    attributes['hookspan.operation.reason'],
    attributes['hookspan.tool.outcome'] === 'completed' ? undefined : attributes['hookspan.tool.outcome'],
    attributes['hookspan.tool.code'],
    attributes['hookspan.human.action'],
    attributes['hookspan.mock.rule'] ?? attributes['hookspan.mock.source'],
    endTime === undefined ? 'not ended' : `${Math.round(endTime - startTime)} ms`,
  ].filter((note) => note !== undefined)
  const call = args === undefined ? '' : `(${cut(String(args))})`
  const answer =
    status.code === 2
      ? ` ! ${cut(status.message ?? '')}`
      : result === undefined
        ? ''
        : ` -> ${cut(String(result))}`
  return `${name}${call}${answer}  [${notes.join(', ')}]`
}

function cut(text: string): string {
  const [line = ''] = text.split('\n')
  return line.length > 100 ? `${line.slice(0, 99)}…` : line
}

function nanoseconds(ms: number): string {
  return String(BigInt(Math.round(ms * 1_000)) * 1_000n)
}

function otlpValue(value: string | number | boolean): object {
  if (typeof value === 'string') return { stringValue: value }
  if (typeof value === 'boolean') return { boolValue: value }
  return Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value }
}
