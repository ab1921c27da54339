import { type Attributes, type Counter, type Histogram, type Meter, ValueType } from '@opentelemetry/api'
import type { Activity, ActivityEnd, LlmEnd, OperationInfo } from '../dispatcher/index.ts'
import { GEN_AI, OTEL, type SemconvProfile } from '../spans/names.ts'
import { modelAsked } from '../wire/reading.ts'

/** Bucket bounds as the conventions give them. */
const SECONDS = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92]
const AGENT_SECONDS = [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 51.2, 102.4, 204.8, 409.6]
const TOKENS = [1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864]
const CALLS = [1, 2, 4, 8, 16, 32, 64, 128]

type LlmActivity = Extract<Activity, { kind: 'llm' }>

/** Calls that generate text: what the conventions of 2026 call inference. Others, as `embeddings`, are operations. */
const INFERENCE = new Set(['chat', 'generate_content', 'text_completion'])

/**
 * The metrics the GenAI conventions define for what an operation does. Profile `compat` records
 * `gen_ai.client.operation.duration` and `gen_ai.client.token.usage`, which backends read; `latest` the names that
 * replaced them in 2026.
 */
export class GenAiMetrics {
  readonly #calls: CallMetrics
  readonly #toolDuration: Histogram
  readonly #agentDuration: Histogram
  readonly #agentLlmCalls: Histogram
  readonly #agentToolCalls: Histogram

  constructor(meter: Meter, profile: SemconvProfile) {
    this.#calls = profile === 'latest' ? new LatestCalls(meter) : new CompatCalls(meter)
    this.#toolDuration = seconds(meter, 'gen_ai.execute_tool.duration', 'Duration of a call of a tool.')
    this.#agentDuration = seconds(
      meter,
      'gen_ai.invoke_agent.duration',
      'Duration of a run of an agent, from its start to its end.',
      AGENT_SECONDS,
    )
    this.#agentLlmCalls = counts(
      meter,
      'gen_ai.invoke_agent.inference_calls',
      'Calls of models in a run of an agent, those that failed included, those of sub-agents not.',
      '{call}',
      CALLS,
    )
    this.#agentToolCalls = counts(
      meter,
      'gen_ai.invoke_agent.tool_calls',
      'Calls of tools in a run of an agent, those that failed included, those of sub-agents not.',
      '{call}',
      CALLS,
    )
  }

  record(
    activity: Activity,
    info: OperationInfo,
    end: ActivityEnd,
    durationMs: number,
    errorType: string | undefined,
  ): void {
    const failed: Attributes = errorType === undefined ? {} : { [OTEL.errorType]: errorType }
    const agent: Attributes = info.agentName === undefined ? {} : { [GEN_AI.agentName]: info.agentName }
    if (activity.kind === 'llm' && end.kind === 'llm') {
      // A scripted reply says nothing of a model's latency and tokens.
      if (!end.mocked) this.#calls.record(activity, end, durationMs / 1000, failed)
    } else if (activity.kind === 'tool' && end.kind === 'tool') {
      // A mocked call says nothing of the real tool's latency.
      if (end.mocked || end.outcome === 'denied' || end.outcome === 'rejected') return
      this.#toolDuration.record(durationMs / 1000, {
        [GEN_AI.toolName]: activity.apiName,
        [GEN_AI.toolType]: activity.source === 'provider' ? 'extension' : 'function',
        ...agent,
        ...failed,
      })
    } else if (end.kind === 'operation' && end.reason !== undefined) {
      this.#agentDuration.record(durationMs / 1000, { ...agent, ...failed })
      if (end.totals === undefined) return
      this.#agentLlmCalls.record(end.totals.llmCalls, agent)
      this.#agentToolCalls.record(end.totals.toolCalls, agent)
    }
  }
}

interface CallMetrics {
  record(activity: LlmActivity, end: LlmEnd, durationS: number, failed: Attributes): void
}

class CompatCalls implements CallMetrics {
  readonly #duration: Histogram
  readonly #tokens: Histogram
  readonly #stream: StreamMetrics

  constructor(meter: Meter) {
    this.#duration = seconds(meter, 'gen_ai.client.operation.duration', DURATION)
    this.#tokens = counts(
      meter,
      'gen_ai.client.token.usage',
      'Tokens of a call of a model.',
      '{token}',
      TOKENS,
    )
    this.#stream = new StreamMetrics(
      meter,
      'gen_ai.client.operation.time_to_first_chunk',
      'gen_ai.client.operation.time_per_output_chunk',
    )
  }

  record(activity: LlmActivity, end: LlmEnd, durationS: number, failed: Attributes): void {
    const labels = labelsOf(activity, end)
    this.#duration.record(durationS, { ...labels, ...failed })
    this.#stream.record(end, labels)
    const { usage } = end
    if (usage === undefined) return
    this.#tokens.record(usage.inputTokens, { ...labels, [GEN_AI.tokenType]: 'input' })
    this.#tokens.record(usage.outputTokens, { ...labels, [GEN_AI.tokenType]: 'output' })
  }
}

class LatestCalls implements CallMetrics {
  readonly #duration: Histogram
  /** Of calls that generate nothing. */
  readonly #otherDuration: Histogram
  readonly #inputTokens: Histogram
  readonly #outputTokens: Histogram
  readonly #input: Counter
  readonly #output: Counter
  readonly #cacheRead: Counter
  readonly #cacheWrite: Counter
  readonly #reasoning: Counter
  readonly #stream: StreamMetrics

  constructor(meter: Meter) {
    const perCall = (name: string, what: string) =>
      counts(meter, name, `${what} of a call of a model.`, '{token}', TOKENS)
    const sum = (name: string, description: string) =>
      meter.createCounter(name, { unit: '{token}', description, valueType: ValueType.INT })
    this.#duration = seconds(meter, 'gen_ai.client.inference.duration', DURATION)
    this.#otherDuration = seconds(
      meter,
      'gen_ai.client.operation.duration',
      'Duration of a call of a model that generates nothing, such as embeddings.',
    )
    this.#inputTokens = perCall('gen_ai.client.inference.operation.input_tokens', 'Input tokens')
    this.#outputTokens = perCall('gen_ai.client.inference.operation.output_tokens', 'Output tokens')
    this.#input = sum('gen_ai.client.inference.usage.input_tokens', 'Input tokens, cached ones included.')
    this.#output = sum(
      'gen_ai.client.inference.usage.output_tokens',
      'Output tokens, those of reasoning included.',
    )
    this.#cacheRead = sum(
      'gen_ai.client.inference.usage.cache_read.input_tokens',
      'Input tokens that came from the cache of the provider.',
    )
    this.#cacheWrite = sum(
      'gen_ai.client.inference.usage.cache_write.input_tokens',
      'Input tokens that went into the cache of the provider.',
    )
    this.#reasoning = sum(
      'gen_ai.client.inference.usage.reasoning.output_tokens',
      'Output tokens of reasoning.',
    )
    this.#stream = new StreamMetrics(
      meter,
      'gen_ai.client.inference.time_to_first_chunk',
      'gen_ai.client.inference.time_per_output_chunk',
    )
  }

  record(activity: LlmActivity, end: LlmEnd, durationS: number, failed: Attributes): void {
    const labels = labelsOf(activity, end)
    if (!INFERENCE.has(activity.operationName ?? 'chat')) {
      return this.#otherDuration.record(durationS, { ...labels, ...failed })
    }
    this.#duration.record(durationS, { ...labels, ...failed })
    this.#stream.record(end, labels)
    const { usage } = end
    // A call that failed, or did not say, counts with 0, as the conventions ask.
    this.#inputTokens.record(usage?.inputTokens ?? 0, { ...labels, ...failed })
    this.#outputTokens.record(usage?.outputTokens ?? 0, { ...labels, ...failed })
    // What of it was text, images or audio is not told here.
    const counted = { ...labels, [GEN_AI.tokenModality]: 'unknown' }
    this.#input.add(usage?.inputTokens ?? 0, counted)
    this.#output.add(usage?.outputTokens ?? 0, counted)
    this.#cacheRead.add(usage?.cachedInputTokens ?? 0, counted)
    this.#cacheWrite.add(usage?.cacheCreationInputTokens ?? 0, counted)
    this.#reasoning.add(usage?.reasoningTokens ?? 0, counted)
  }
}

/** How a stream came. Nothing is recorded of what was not streamed. */
class StreamMetrics {
  readonly #firstChunk: Histogram
  readonly #nextChunks: Histogram

  constructor(meter: Meter, firstChunk: string, nextChunks: string) {
    this.#firstChunk = seconds(
      meter,
      firstChunk,
      'Time from the request to the first chunk of a streamed reply.',
    )
    this.#nextChunks = seconds(meter, nextChunks, 'Time from a chunk of a streamed reply to the next.')
  }

  record({ timeToFirstChunkMs, chunkGapsMs = [] }: LlmEnd, labels: Attributes): void {
    if (timeToFirstChunkMs === undefined) return
    this.#firstChunk.record(timeToFirstChunkMs / 1000, labels)
    for (const gapMs of chunkGapsMs) this.#nextChunks.record(gapMs / 1000, labels)
  }
}

const DURATION = 'Duration of a call of a model.'

function labelsOf(activity: LlmActivity, { reply, response, request }: LlmEnd): Attributes {
  const { operationName = 'chat', provider, model, serverAddress, serverPort } = activity
  const answered = (reply ?? response)?.model
  return {
    [GEN_AI.operationName]: operationName,
    [GEN_AI.providerName]: provider,
    [GEN_AI.requestModel]: modelAsked(model, activity.request, request),
    ...(answered !== undefined && { [GEN_AI.responseModel]: answered }),
    ...(serverAddress !== undefined && { [OTEL.serverAddress]: serverAddress }),
    ...(serverPort !== undefined && { [OTEL.serverPort]: serverPort }),
  }
}

function seconds(meter: Meter, name: string, description: string, bounds = SECONDS): Histogram {
  return meter.createHistogram(name, { unit: 's', description, advice: { explicitBucketBoundaries: bounds } })
}

function counts(meter: Meter, name: string, description: string, unit: string, bounds: number[]): Histogram {
  const advice = { explicitBucketBoundaries: bounds }
  return meter.createHistogram(name, { unit, description, valueType: ValueType.INT, advice })
}
