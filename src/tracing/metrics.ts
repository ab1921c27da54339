import type { Attributes, Histogram, Meter } from '@opentelemetry/api'
import type { Activity, ActivityEnd, LlmEnd, OperationInfo } from '../dispatcher/index.ts'
import { GEN_AI, OTEL, type SemconvProfile } from '../spans/names.ts'

/** Bucket bounds as the conventions give them. */
const SECONDS = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92]
const AGENT_SECONDS = [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 51.2, 102.4, 204.8, 409.6]
const TOKENS = [1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864]
const CALLS = [1, 2, 4, 8, 16, 32, 64, 128]

/**
 * The metrics the GenAI conventions define for what an operation does. Profile `compat` records
 * `gen_ai.client.operation.duration` and `gen_ai.client.token.usage`, which backends read; `latest` the names that
 * replaced them in 2026.
 */
export class GenAiMetrics {
  readonly #profile: SemconvProfile
  readonly #llmDuration: Histogram
  readonly #tokens: { input: Histogram; output: Histogram }
  readonly #toolDuration: Histogram
  readonly #agentDuration: Histogram
  readonly #agentLlmCalls: Histogram
  readonly #agentToolCalls: Histogram

  constructor(meter: Meter, profile: SemconvProfile) {
    this.#profile = profile
    const seconds = (name: string, boundaries: number[]) =>
      meter.createHistogram(name, { unit: 's', advice: { explicitBucketBoundaries: boundaries } })
    const counts = (name: string, unit: string, boundaries: number[]) =>
      meter.createHistogram(name, { unit, advice: { explicitBucketBoundaries: boundaries } })
    const latest = profile === 'latest'
    this.#llmDuration = seconds(
      latest ? 'gen_ai.client.inference.duration' : 'gen_ai.client.operation.duration',
      SECONDS,
    )
    if (latest) {
      this.#tokens = {
        input: counts('gen_ai.client.inference.operation.input_tokens', '{token}', TOKENS),
        output: counts('gen_ai.client.inference.operation.output_tokens', '{token}', TOKENS),
      }
    } else {
      const usage = counts('gen_ai.client.token.usage', '{token}', TOKENS)
      this.#tokens = { input: usage, output: usage }
    }
    this.#toolDuration = seconds('gen_ai.execute_tool.duration', SECONDS)
    this.#agentDuration = seconds('gen_ai.invoke_agent.duration', AGENT_SECONDS)
    this.#agentLlmCalls = counts('gen_ai.invoke_agent.inference_calls', '{call}', CALLS)
    this.#agentToolCalls = counts('gen_ai.invoke_agent.tool_calls', '{call}', CALLS)
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
      if (end.mocked) return
      const { reply = end.response } = end
      const labels: Attributes = {
        [GEN_AI.operationName]: activity.operationName ?? 'chat',
        [GEN_AI.providerName]: activity.provider,
        [GEN_AI.requestModel]: activity.model,
        ...(reply?.model !== undefined && { [GEN_AI.responseModel]: reply.model }),
      }
      this.#llmDuration.record(durationMs / 1000, { ...labels, ...failed })
      if (end.usage !== undefined) this.#recordTokens(end.usage, labels)
    } else if (activity.kind === 'tool' && end.kind === 'tool') {
      // A mocked call says nothing of the real tool's latency.
      if (end.mocked || end.outcome === 'denied' || end.outcome === 'rejected') return
      this.#toolDuration.record(durationMs / 1000, {
        [GEN_AI.toolName]: activity.apiName,
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

  #recordTokens(usage: NonNullable<LlmEnd['usage']>, labels: Attributes): void {
    const typed = (type: string) =>
      this.#profile === 'compat' ? { ...labels, [GEN_AI.tokenType]: type } : labels
    this.#tokens.input.record(usage.inputTokens, typed('input'))
    this.#tokens.output.record(usage.outputTokens, typed('output'))
  }
}
