import { jsonIn } from '../../internal/json.ts'
import { defined } from '../../internal/objects.ts'
import { GEN_AI, HOOKSPAN } from '../../spans/names.ts'
import { unwrapToolResult } from '../../spans/tool-result.ts'
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

function isToolSpan({ name, attributes }: PlainSpan): boolean {
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
  const agents = agentsOf(span, byId)
  const optional = {
    agent: agents.at(-1),
    agentPath: agents.length > 0 ? agents : undefined,
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
    ...(result !== undefined && { result: resultOf(attributes, parse(result)) }),
    ...(defined(optional) as object),
  }
}

/** What others write as text may be JSON in JSON; of ours it is what the tool gave. */
function resultOf(attributes: PlainSpan['attributes'], value: unknown): unknown {
  const given = unwrapToolResult(value)
  return attributes['hookspan.tool.outcome'] === undefined ? parse(given) : given
}

/**
 * Of each of the calls that {@link callsOfSpans} gives, the tool that ran when it was made: an agent of the same process
 * is none, for it runs in a replay, too.
 */
export function enclosingTools(spans: readonly PlainSpan[]): (string | undefined)[] {
  const byId = new Map(spans.map((span) => [span.spanId, span]))
  return spans.filter(isToolSpan).map((span) => {
    const above = spansAbove(span, byId).find((one) => isToolSpan(one) && !isAgentTool(one))
    return above && toCall(above, byId).name
  })
}

/** Of each of those calls, what of it was too much for the trace, which holds a part of it. */
export function cutOfCalls(spans: readonly PlainSpan[]): ('arguments' | 'result' | undefined)[] {
  return spans.filter(isToolSpan).map(({ attributes }) => {
    // A list, which Jaeger has as a text.
    const cut = JSON.stringify(attributes[HOOKSPAN.contentCut] ?? '')
    if (cut.includes(GEN_AI.toolCallArguments)) return 'arguments'
    return cut.includes(GEN_AI.toolCallResult) ? 'result' : undefined
  })
}

/** Of each of those calls, whether what is told of its result is made up: `hookspan replay` had none in its recording. */
export function areInvented(spans: readonly PlainSpan[]): boolean[] {
  return spans.filter(isToolSpan).map(({ attributes }) => attributes['hookspan.replay.invented'] === true)
}

function isAgentTool({ attributes }: PlainSpan): boolean {
  return attributes['hookspan.tool.source'] === 'agent'
}

function outcomeOf({ attributes, failed }: PlainSpan): TrajectoryOutcome {
  const outcome = attributes['hookspan.tool.outcome']
  if (typeof outcome === 'string') return outcome as TrajectoryOutcome
  return failed ? 'errored' : 'completed'
}

/** The agents around the call, outermost first. Several spans of one agent follow one another. */
function agentsOf(span: PlainSpan, byId: ReadonlyMap<string, PlainSpan>): string[] {
  const path: string[] = []
  for (const { attributes } of [span, ...spansAbove(span, byId)]) {
    const name = attributes['gen_ai.agent.name']
    if (typeof name === 'string' && path[0] !== name) path.unshift(name)
  }
  return path
}

/** The nearest first. */
function spansAbove(span: PlainSpan, byId: ReadonlyMap<string, PlainSpan>): PlainSpan[] {
  const seen = new Set([span])
  for (let at = byId.get(span.parentId ?? ''); at !== undefined && !seen.has(at); ) {
    seen.add(at)
    at = byId.get(at.parentId ?? '')
  }
  return [...seen].slice(1)
}

/** Attributes hold JSON as text. */
export function parse(value: unknown): unknown {
  return typeof value === 'string' ? jsonIn(value, value) : value
}
