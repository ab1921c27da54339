import { defined, isRecord } from '../../../internal/objects.ts'
import { type Message, messagesOf, parse } from '../../../viewer/model/messages.ts'
import type { AttributeValue } from '../../../viewer/model/span.ts'
import { type Fields, textAt, toEpochMs } from './fields.ts'
import { type OnBad, parseEach } from './parse-each.ts'
import type { TracedCall } from './traced-call.ts'
import { byTrace, runOfTrace } from './traced-run.ts'
import type { RecordedRun, RecordedUsage } from './types.ts'

const TYPES = /^(SPAN|EVENT|GENERATION|AGENT|TOOL|CHAIN|RETRIEVER|EVALUATOR|EMBEDDING|GUARDRAIL)$/

export function isLangfuseObservation(value: unknown): value is Fields {
  return isRecord(value) && typeof value.traceId === 'string' && TYPES.test(String(value.type))
}

/** A trace with its observations: what the page downloads, and what `/api/public/traces/{id}` answers. */
export function isLangfuseTrace(value: unknown): value is Fields {
  return (
    isRecord(value) && Array.isArray(value.observations) && value.observations.some(isLangfuseObservation)
  )
}

/**
 * Langfuse: `{ trace, observations: [observation, …] }`, a trace with `observations`, or observations as the table exports
 * them and `/api/public/v2/observations` answers (`{ data }`); one, a list, or one a line. Each trace is a run.
 */
export function parseLangfuse(value: unknown, source: string, onBad?: OnBad): RecordedRun[] {
  return parseEach(byTrace(observationsIn(value).map(tracedCallOf)), onBad, (spans, run) =>
    runOfTrace(spans, { source, run }, 'langfuse'),
  )
}

function observationsIn(value: unknown): Fields[] {
  if (Array.isArray(value)) return value.flatMap(observationsIn)
  if (isLangfuseObservation(value)) return [value]
  if (!isRecord(value)) return []
  const trace = isRecord(value.trace) ? value.trace : value
  const { sessionId } = trace
  return observationsIn(value.observations ?? value.data ?? []).map((observation) => ({
    ...observation,
    sessionId: observation.sessionId ?? sessionId,
  }))
}

function tracedCallOf(observation: Fields): TracedCall {
  const { type, level, statusMessage, sessionId, parentObservationId } = observation
  const kind = kindOf(observation)
  const error =
    level === 'ERROR' ? (typeof statusMessage === 'string' && statusMessage) || 'failed' : undefined
  const name = typeof observation.name === 'string' && observation.name ? observation.name : String(type)
  return {
    ...{ traceId: String(observation.traceId), id: String(observation.id ?? ''), name, kind },
    parentId:
      typeof parentObservationId === 'string' && parentObservationId ? parentObservationId : undefined,
    startMs: toEpochMs(observation.startTime),
    endMs: toEpochMs(observation.endTime),
    ...defined({
      error,
      sessionId: typeof sessionId === 'string' && sessionId ? sessionId : undefined,
      model: kind === 'llm' ? modelOf(observation) : undefined,
      tool: kind === 'tool' ? toolOf(observation, name) : undefined,
    }),
  }
}

function kindOf({ type, metadata }: Fields): TracedCall['kind'] {
  if (type === 'GENERATION') return 'llm'
  if (type === 'TOOL' || attributeOf(metadata, 'gen_ai.operation.name') === 'execute_tool') return 'tool'
  return type === 'AGENT' ? 'agent' : 'other'
}

/** What OpenTelemetry said of the span is in the metadata, below a key or with dots. */
function attributeOf(metadata: unknown, name: string): string | undefined {
  return textAt(metadata, 'attributes', name) ?? textAt(metadata, `attributes.${name}`)
}

function modelOf(observation: Fields): TracedCall['model'] {
  const { metadata, input, output, totalCost, calculatedTotalCost, costDetails } = observation
  const model = textAt(observation, 'providedModelName') ?? textAt(observation, 'model')
  const total = isRecord(costDetails) ? costDetails.total : undefined
  return {
    input: saidIn(input, 'user'),
    output: saidIn(output, 'assistant'),
    ...defined({
      requestModel: attributeOf(metadata, 'gen_ai.request.model') ?? model,
      responseModel: attributeOf(metadata, 'gen_ai.response.model') ?? model,
      usage: usageOf(observation),
      costUsd: numberOf(totalCost) ?? numberOf(calculatedTotalCost) ?? numberOf(total),
    }),
  }
}

/** Messages as JSON, or as text that is JSON. */
function saidIn(value: unknown, role: string): Message[] {
  const said = parse((value ?? null) as AttributeValue)
  return said === null || said === '' ? [] : messagesOf(said, role)
}

/** In the words of Langfuse, or of the table before: numbers, or numbers as text. */
function usageOf({ usageDetails, usage }: Fields): RecordedUsage | undefined {
  for (const counts of [usageDetails, usage]) {
    if (!isRecord(counts)) continue
    const cachedInputTokens = numberOf(counts.input_cached_tokens) ?? numberOf(counts.cache_read_input_tokens)
    const reasoningTokens = numberOf(counts.output_reasoning_tokens) ?? numberOf(counts.reasoning_tokens)
    const [input, output] = [numberOf(counts.input), numberOf(counts.output)]
    if (input === undefined || output === undefined) continue
    // Langfuse counts cached tokens beside the input, and reasoning beside the output.
    return {
      inputTokens: input + (cachedInputTokens ?? 0),
      outputTokens: output + (counts.output_reasoning_tokens === undefined ? 0 : (reasoningTokens ?? 0)),
      ...defined({ cachedInputTokens, reasoningTokens }),
    }
  }
  return undefined
}

function numberOf(value: unknown): number | undefined {
  const number = typeof value === 'string' && value !== '' ? Number(value) : value
  return typeof number === 'number' && Number.isFinite(number) ? number : undefined
}

function toolOf({ input, output, metadata }: Fields, name: string): TracedCall['tool'] {
  const id = attributeOf(metadata, 'gen_ai.tool.call.id')
  return {
    name: attributeOf(metadata, 'gen_ai.tool.name') ?? name,
    args: parse((input ?? {}) as AttributeValue),
    result: output === null ? undefined : parse(output as AttributeValue),
    ...defined({ id }),
  }
}
