import { defined, isRecord } from '../../../internal/objects.ts'
import { NAMES, read, readNumber, readText } from '../../../viewer/model/attributes.ts'
import { modelCall, toolCallFacts } from '../../../viewer/model/call-content.ts'
import { digestSpan } from '../../../viewer/model/digest.ts'
import { type Message, messagesOf, parse } from '../../../viewer/model/messages.ts'
import type { Attributes, AttributeValue, SpanEvent, SpanRecord } from '../../../viewer/model/span.ts'
import { type Fields, optionalNumber, textAt, toEpochMs } from './fields.ts'
import { answersOf, plainMessages } from './langchain-messages.ts'
import { type OnBad, parseEach } from './parse-each.ts'
import type { TracedCall } from './traced-call.ts'
import { byTrace, runOfTrace } from './traced-run.ts'
import type { RecordedRun, RecordedUsage } from './types.ts'

/** A span as Phoenix exports it, and OpenTelemetry for Python prints it. */
export function isPhoenixSpan(value: unknown): value is Fields {
  if (!isRecord(value)) return false
  const context = isRecord(value.context) ? value.context : {}
  return (
    ('span_id' in context && 'trace_id' in context) ||
    ('context.span_id' in value && 'context.trace_id' in value)
  )
}

/** A trace as Phoenix's command line exports it. */
export function isPhoenixTrace(value: unknown): value is Fields {
  return isRecord(value) && Array.isArray(value.spans) && value.spans.some(isPhoenixSpan)
}

/**
 * Spans of Phoenix: one a line (its page's download, or `get_spans_dataframe` as JSON), `{ data: [span, …] }` (`/v1/projects/…/spans`), `{ spans: [span, …] }`
 * or a list of these (its command line). Each trace is a run.
 */
export function parsePhoenix(value: unknown, source: string, onBad?: OnBad): RecordedRun[] {
  return parseEach(byTrace(spansIn(value).map(tracedCallOf)), onBad, (spans, run) =>
    runOfTrace(spans, { source, run }, 'phoenix'),
  )
}

function spansIn(value: unknown): Fields[] {
  if (Array.isArray(value)) return value.flatMap(spansIn)
  if (isPhoenixSpan(value)) return [value]
  if (!isRecord(value)) return []
  return spansIn(value.spans ?? value.data ?? [])
}

function tracedCallOf(span: Fields): TracedCall {
  const record = recordOf(span)
  const { name, attributes, events, status } = record
  const { category, label, costUsd } = digestSpan(name, attributes, events, status)
  const kind = category === 'llm' || category === 'tool' || category === 'agent' ? category : 'other'
  const error =
    status.code === 2
      ? status.message || textAt(events[0]?.attributes, 'exception.message') || 'failed'
      : undefined
  return {
    ...{ traceId: record.traceId, id: record.spanId, parentId: record.parentSpanId || undefined },
    ...{ name: label || name, kind },
    startMs: record.startUs === 0 ? undefined : record.startUs / 1000,
    endMs: record.endUs === 0 ? undefined : record.endUs / 1000,
    ...defined({
      error,
      sessionId: readText(attributes, NAMES.conversationId) || undefined,
      model: kind === 'llm' ? modelOf(record, costUsd) : undefined,
      tool: kind === 'tool' ? toolOf(record, label) : undefined,
    }),
  }
}

function modelOf(record: SpanRecord, costUsd: number): TracedCall['model'] {
  const { attributes } = record
  const { input, output } = modelCall(record)
  const isRead = output.some(({ parts }) => parts.some(({ type }) => type !== 'unknown'))
  return {
    ...{ input, output: isRead ? output : (langChainOutput(attributes) ?? output) },
    ...defined({
      requestModel: readText(attributes, NAMES.requestModel) || undefined,
      responseModel: readText(attributes, NAMES.responseModel) || undefined,
      usage: usageOf(attributes),
      costUsd: costUsd === 0 ? undefined : costUsd,
    }),
  }
}

/** Some instrumentation of LangChain leaves the answer in its own words. */
function langChainOutput(attributes: Attributes): Message[] | undefined {
  const value = parse(read(attributes, NAMES.anyOutput) ?? null)
  if (!isRecord(value) || !('generations' in value || isRecord(value.message))) return undefined
  return messagesOf(plainMessages(answersOf(value)) as AttributeValue, 'assistant')
}

function usageOf(attributes: Attributes): RecordedUsage | undefined {
  const inputTokens = readNumber(attributes, NAMES.inputTokens)
  const outputTokens = readNumber(attributes, NAMES.outputTokens)
  if (inputTokens === undefined || outputTokens === undefined) return undefined
  return {
    ...{ inputTokens, outputTokens },
    ...defined({
      cachedInputTokens: readNumber(attributes, NAMES.cachedTokens),
      reasoningTokens: readNumber(attributes, NAMES.reasoningTokens),
    }),
  }
}

function toolOf(record: SpanRecord, label: string): TracedCall['tool'] {
  const { args, result } = toolCallFacts(record)
  const id = readText(record.attributes, NAMES.toolCallId)
  const isThere = NAMES.toolResult.keys.some((key) => record.attributes[key] !== undefined)
  return {
    ...{ name: label || record.name, args: argumentsOf(args), result: isThere ? result : undefined },
    ...(id === '' ? {} : { id }),
  }
}

/** Instrumentation of Python tells how the function was called. */
function argumentsOf(args: unknown): unknown {
  if (isRecord(args) && isRecord(args.kwargs) && Array.isArray(args.args) && args.args.length === 0)
    return args.kwargs
  return args ?? {}
}

function recordOf(given: Fields): SpanRecord {
  const span = unfolded(given)
  const context = isRecord(span.context) ? span.context : {}
  const attributes = {
    ...flat(isRecord(span.attributes) ? span.attributes : {}),
    ...(typeof span.span_kind === 'string' ? { 'openinference.span.kind': span.span_kind } : {}),
  }
  const status = isRecord(span.status)
    ? span.status
    : { status_code: span.status_code, description: span.status_message }
  return {
    traceId: idOf(context.trace_id),
    spanId: idOf(context.span_id),
    parentSpanId: idOf(isRecord(span.parent) ? span.parent.span_id : span.parent_id),
    name: typeof span.name === 'string' ? span.name : 'span',
    kind: 1,
    startUs: microseconds(span.start_time),
    endUs: microseconds(span.end_time),
    status: {
      code: /error/i.test(String(status.status_code)) ? 2 : 0,
      message: typeof status.description === 'string' ? status.description : '',
    },
    attributes,
    events: eventsOf(span.events),
    ...{ links: [], resource: {}, scope: { name: '', version: '' } },
  }
}

/** Columns of a table, `attributes.llm.model_name`, as the span that they tell of. */
function unfolded(span: Fields): Fields {
  if (!('context.span_id' in span)) return span
  const attributes = Object.entries(span).filter(
    ([key, value]) => key.startsWith('attributes.') && value !== null,
  )
  return {
    ...span,
    context: { span_id: span['context.span_id'], trace_id: span['context.trace_id'] },
    attributes: Object.fromEntries(
      attributes.map(([key, value]) => [key.slice('attributes.'.length), value]),
    ),
  }
}

function eventsOf(events: unknown): SpanEvent[] {
  if (!Array.isArray(events)) return []
  return events.filter(isRecord).map((event) => ({
    name: String(event.name ?? ''),
    timeUs: microseconds(event.timestamp),
    attributes: flat(isRecord(event.attributes) ? event.attributes : {}),
  }))
}

/** Phoenix gives some attributes nested by the parts of their names; messages are numbered or in lists. */
function flat(attributes: Fields, prefix = '', into: Attributes = {}): Attributes {
  for (const [key, value] of Object.entries(attributes)) {
    const name = `${prefix}${key}`
    if (isRecord(value) && NESTED.test(name)) flat(value, `${name}.`, into)
    else if (Array.isArray(value) && MESSAGES.test(name)) {
      for (const [index, item] of value.entries()) if (isRecord(item)) flat(item, `${name}.${index}.`, into)
    } else if (value !== undefined) into[name] = value as Attributes[string]
  }
  return into
}

const NESTED =
  /^(llm|input|output|tool|session|openinference|gen_ai|metadata\.langfuse|agent|llm\..*|gen_ai\..*|tool\..*)$/
const MESSAGES = /^llm\.(input|output)_messages(\.\d+\.message\.(tool_calls|contents))?$/

/** Ids are texts, or numbers of more digits than a number holds. */
function idOf(id: unknown): string {
  return id === undefined || id === null ? '' : String(id)
}

function microseconds(time: unknown): number {
  const number = optionalNumber(time)
  // OpenTelemetry for Python prints nanoseconds, tables milliseconds.
  if (number !== undefined) return number > 1e16 ? number / 1000 : number * 1000
  return (toEpochMs(time) ?? 0) * 1000
}
