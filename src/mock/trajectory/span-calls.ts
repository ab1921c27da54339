import type { PlainSpan } from './spans.ts'
import type { TrajectoryCall, TrajectoryOutcome } from './types.ts'

/** Where the frameworks put what a tool call is; the first attribute that is there counts. */
const NAME = [
  'gen_ai.tool.name',
  'ai.toolCall.name',
  'tool.name',
  'tool_name',
  'mcp.tool.name',
  'traceloop.entity.name',
]
const ARGS = [
  ...['gen_ai.tool.call.arguments', 'gen_ai.tool.args', 'ai.toolCall.args', 'tool.parameters', 'input.value'],
  ...['tool_arguments', 'traceloop.entity.input'],
]
const RESULT = [
  ...[
    'gen_ai.tool.call.result',
    'ai.toolCall.result',
    'gen_ai.output',
    'genai.output',
    'output.value',
    'tool_response',
  ],
  'traceloop.entity.output',
]
const CALL_ID = ['gen_ai.tool.call.id', 'ai.toolCall.id', 'tool_call.id']

/** The tool calls of a trace, in the order in which they started. Spans are in that order already. */
export function callsOfSpans(spans: readonly PlainSpan[]): TrajectoryCall[] {
  const byId = new Map(spans.map((span) => [span.spanId, span]))
  return spans.filter(isToolSpan).map((span) => toCall(span, byId))
}

export function isToolSpan({ name, attributes }: PlainSpan): boolean {
  const operation = attributes['gen_ai.operation.name']
  if (operation !== undefined) return operation === 'execute_tool'
  if (attributes['openinference.span.kind'] !== undefined)
    return attributes['openinference.span.kind'] === 'TOOL'
  if (attributes['traceloop.span.kind'] !== undefined) return attributes['traceloop.span.kind'] === 'tool'
  return (
    name === 'ai.toolCall' || name.startsWith('execute_tool ') || attributes['ai.toolCall.name'] !== undefined
  )
}

function toCall(span: PlainSpan, byId: ReadonlyMap<string, PlainSpan>): TrajectoryCall {
  const { attributes } = span
  const first = (keys: readonly string[]) =>
    keys.map((key) => attributes[key]).find((value) => value !== undefined)
  const result = first(RESULT)
  const agent = agentOf(span, byId)
  const optional = {
    agent,
    identifier: attributes['hookspan.tool.identifier'],
    toolCallId: first(CALL_ID),
    code: attributes['hookspan.tool.code'],
    reason: attributes['hookspan.tool.reason'],
    mockSource: attributes['hookspan.mock.source'],
  }
  return {
    name: String(first(NAME) ?? span.name.replace(/^execute_tool /, '')),
    args: parse(first(ARGS)),
    outcome: outcomeOf(span),
    ...(result !== undefined && { result: parse(result) }),
    ...(Object.fromEntries(Object.entries(optional).filter(([, value]) => value !== undefined)) as object),
  }
}

function outcomeOf({ attributes, failed }: PlainSpan): TrajectoryOutcome {
  const outcome = attributes['hookspan.tool.outcome']
  if (typeof outcome === 'string') return outcome as TrajectoryOutcome
  return failed ? 'errored' : 'completed'
}

/** The innermost agent around the call. */
function agentOf(span: PlainSpan, byId: ReadonlyMap<string, PlainSpan>): string | undefined {
  const seen = new Set<string>()
  for (let at = span.parentId; at !== undefined && !seen.has(at); at = byId.get(at)?.parentId) {
    seen.add(at)
    const { attributes } = byId.get(at) ?? { attributes: {} as Record<string, unknown> }
    const name = attributes['gen_ai.agent.name']
    if (typeof name === 'string') return name
  }
  return typeof span.attributes['gen_ai.agent.name'] === 'string'
    ? span.attributes['gen_ai.agent.name']
    : undefined
}

/** Attributes hold JSON as text. */
export function parse(value: unknown): unknown {
  if (typeof value !== 'string') return value
  try {
    return JSON.parse(value)
  } catch {
    return value
  }
}
