import type { Attributes } from '@opentelemetry/api'
import type {
  Activity,
  ActivityEnd,
  AgentEnd,
  CompactEnd,
  HumanEnd,
  LlmEnd,
  OperationEnd,
  OperationInfo,
  ToolEnd,
} from '../dispatcher/index.ts'
import type { CompletionReason, LlmResponse } from '../hooks/index.ts'
import { errorMessage, errorType } from '../internal/errors.ts'
import { modelAsked } from '../wire/reading.ts'
import { type ContentWriter, contentWriter, redactedMessage, redactWords } from './content.ts'
import { GEN_AI, HOOKSPAN, OPEN_INFERENCE, OTEL, type SemconvProfile } from './names.ts'
import { gateAttributes } from './notes.ts'
import { type RenderOptions, set, writeRequest } from './start.ts'
import { writeToolResult } from './tool-result.ts'

/** What a span has in the end, beside what it began with. Its status is ERROR where there is a failure, else unset. */
export interface SpanEnd {
  readonly attributes: Attributes
  readonly failure: SpanFailure | undefined
}

/** `type`: what `error.type` says; `message`: what the status says. */
export interface SpanFailure {
  readonly type: string
  readonly message: string
}

export function endOf(
  activity: Activity,
  info: OperationInfo,
  end: ActivityEnd,
  options: RenderOptions,
): SpanEnd {
  const attributes = endAttributes(activity, info, end, options)
  redactWords(attributes, options.content, info, toolNameOf(activity))
  const failure = failureOf(end)
  if (failure === undefined) return { attributes, failure }
  attributes[OTEL.errorType] = failure.type
  const { redact } = options.content
  if (redact === undefined) return { attributes, failure }
  // Told without content being captured, and it may quote what a tool or a model was given.
  const message = redactedMessage(redact, failure.message, info, toolNameOf(activity))
  return { attributes, failure: { type: failure.type, message } }
}

function failureOf(end: ActivityEnd): SpanFailure | undefined {
  if ('error' in end) {
    // A run that was stopped is no failure of it; its reason tells.
    if (end.kind === 'operation' && end.reason !== 'error') return undefined
    return { type: errorType(end.error), message: errorMessage(end.error) }
  }
  if (end.kind !== 'tool' || end.success !== false) return undefined
  switch (end.outcome) {
    case 'completed':
    case 'mocked':
    case 'skipped':
      return { type: 'tool_error', message: 'the tool reported a failure' }
    case 'denied':
    case 'rejected':
      // It did not run. Backends have one mark for that, and would show it as a success without it.
      return { type: end.code ?? end.outcome, message: end.refusal ?? end.outcome }
    default:
      return undefined
  }
}

function endAttributes(
  activity: Activity,
  info: OperationInfo,
  end: ActivityEnd,
  options: RenderOptions,
): Attributes {
  const attributes: Attributes = {}
  const content = contentWriter(options.content, attributes, info, toolNameOf(activity))
  switch (end.kind) {
    case 'operation':
      operationEnd(attributes, end, options)
      content?.output(end.content, end.reason && FINISH[end.reason])
      return attributes
    case 'step':
      return attributes
    case 'llm':
      if (activity.kind === 'llm') llmEnd(attributes, content, end, activity)
      if (info.conversationId === undefined) {
        set(attributes, GEN_AI.conversationId, (end.reply ?? end.response)?.conversationId)
      }
      set(attributes, CACHE_WRITTEN[options.semconv], end.usage?.cacheCreationInputTokens)
      if (options.semconv === 'compat') readElsewhere(attributes, end)
      if (options.openInference) set(attributes, OPEN_INFERENCE.costTotal, end.costUsd)
      return attributes
    case 'tool':
      toolEnd(attributes, content, end, activity.kind === 'tool' ? activity.args : undefined)
      return attributes
    case 'human':
      humanEnd(attributes, end)
      return attributes
    case 'compact':
      compactEnd(attributes, end)
      content?.text(HOOKSPAN.compactSummary, end.summary)
      return attributes
    case 'agent':
      agentEnd(attributes, content, end, activity.kind === 'agent' && activity.remote)
      return attributes
    case 'gate':
      return gateAttributes(end.gate)
  }
}

/** Why a run ended, in the words for why a model stops: backends drop an answer that has no reason. */
const FINISH: Readonly<Record<CompletionReason, string>> = {
  done: 'stop',
  max_steps: 'length',
  cost_limit: 'length',
  denied: 'content_filter',
  interrupted: 'error',
  error: 'error',
}

const CACHE_WRITTEN: Readonly<Record<SemconvProfile, string>> = {
  compat: GEN_AI.usageCacheCreationInputTokens,
  latest: GEN_AI.usageCacheWriteInputTokens,
}

function toolNameOf(activity: Activity): string | undefined {
  return activity.kind === 'tool' ? activity.apiName : undefined
}

/** What has no convention, under the names that backends read it by. */
function readElsewhere(attributes: Attributes, { costUsd, timeToFirstChunkMs }: LlmEnd): void {
  set(attributes, GEN_AI.usageCost, costUsd)
  if (timeToFirstChunkMs !== undefined) attributes[GEN_AI.serverTtft] = timeToFirstChunkMs / 1000
}

function operationEnd(attributes: Attributes, end: OperationEnd, { usageOnAgentSpan }: RenderOptions): void {
  const { totals } = end
  if (end.reason !== undefined) attributes[GEN_AI.responseFinishReasons] = [FINISH[end.reason]]
  set(attributes, HOOKSPAN.operationReason, end.reason)
  set(attributes, HOOKSPAN.operationWaitingFor, end.waitingFor)
  if (end.abandoned) attributes[HOOKSPAN.operationAbandoned] = true
  if (totals === undefined) return
  attributes[HOOKSPAN.steps] = totals.steps
  attributes[HOOKSPAN.llmCalls] = totals.llmCalls
  attributes[HOOKSPAN.toolCalls] = totals.toolCalls
  // Under own names: backends that sum gen_ai.usage.* over a trace would count every token twice.
  attributes[HOOKSPAN.totalInputTokens] = totals.usage.inputTokens
  attributes[HOOKSPAN.totalOutputTokens] = totals.usage.outputTokens
  set(attributes, HOOKSPAN.totalCostUsd, totals.costUsd)
  if (usageOnAgentSpan) {
    attributes[GEN_AI.usageInputTokens] = totals.usage.inputTokens
    attributes[GEN_AI.usageOutputTokens] = totals.usage.outputTokens
  }
}

/** Where no operation of this process is the run of the agent, this span is all that is seen of it. */
function agentEnd(
  attributes: Attributes,
  content: ContentWriter | undefined,
  end: AgentEnd,
  remote: boolean,
): void {
  const { subOperationId, usage } = end
  set(attributes, HOOKSPAN.subOperationId, subOperationId)
  if (!remote && subOperationId !== undefined) return
  content?.output(end.content, 'error' in end ? 'error' : 'stop')
  if (usage === undefined) return
  attributes[HOOKSPAN.totalInputTokens] = usage.inputTokens
  attributes[HOOKSPAN.totalOutputTokens] = usage.outputTokens
}

function llmEnd(
  attributes: Attributes,
  content: ContentWriter | undefined,
  end: LlmEnd,
  asked: Extract<Activity, { kind: 'llm' }>,
): void {
  const { usage, reply = end.response, request, streamEnd } = end
  // Where not all of the reply is read, it is of an API that does not compact.
  const { id, model, finishReasons, parts } = (reply ?? {}) as LlmResponse
  if (id !== undefined) attributes[GEN_AI.responseId] = id
  if (model !== undefined) attributes[GEN_AI.responseModel] = model
  if (finishReasons?.length) attributes[GEN_AI.responseFinishReasons] = finishReasons.slice()
  else if (end.error !== undefined) attributes[GEN_AI.responseFinishReasons] = ['error']
  if (parts?.some(({ type }) => type === 'compaction')) attributes[GEN_AI.conversationCompacted] = true
  if (usage !== undefined) usageAttributes(attributes, usage)
  if (end.costUsd !== undefined) attributes[HOOKSPAN.costUsd] = end.costUsd
  // The convention counts in seconds.
  if (end.timeToFirstChunkMs !== undefined)
    attributes[GEN_AI.responseTimeToFirstChunk] = end.timeToFirstChunkMs / 1000
  if (end.streamed) attributes[GEN_AI.requestStream] = true
  if (streamEnd !== undefined) attributes[HOOKSPAN.streamEnd] = streamEnd
  if (request !== undefined && request !== asked.request) {
    writeRequest(attributes, content, asked, request)
    attributes[GEN_AI.requestModel] = modelAsked(asked.model, asked.request, request)
  }
  if (content !== undefined && end.response !== undefined) {
    content.response(end.response, 'error' in end ? 'error' : undefined)
  }
}

function usageAttributes(attributes: Attributes, usage: NonNullable<LlmEnd['usage']>): void {
  const { inputTokens, outputTokens, cachedInputTokens, cacheCreation1hInputTokens, reasoningTokens } = usage
  if (inputTokens !== undefined) attributes[GEN_AI.usageInputTokens] = inputTokens
  if (outputTokens !== undefined) attributes[GEN_AI.usageOutputTokens] = outputTokens
  if (cachedInputTokens !== undefined) attributes[GEN_AI.usageCacheReadInputTokens] = cachedInputTokens
  if (cacheCreation1hInputTokens !== undefined)
    attributes[HOOKSPAN.usageCacheCreation1hInputTokens] = cacheCreation1hInputTokens
  if (reasoningTokens !== undefined) attributes[GEN_AI.usageReasoningOutputTokens] = reasoningTokens
}

function toolEnd(
  attributes: Attributes,
  content: ContentWriter | undefined,
  end: ToolEnd,
  asked: unknown,
): void {
  attributes[HOOKSPAN.toolMocked] = end.mocked ?? false
  if (end.outcome !== undefined) attributes[HOOKSPAN.toolOutcome] = end.outcome
  if (end.success !== undefined) attributes[HOOKSPAN.toolSuccess] = end.success
  if (end.code !== undefined) attributes[HOOKSPAN.toolCode] = end.code
  if (end.refusal !== undefined) attributes[HOOKSPAN.toolReason] = end.refusal
  if (content === undefined) return
  if (end.args !== asked) content.object(GEN_AI.toolCallArguments, end.args, 'input')
  writeToolResult(content, end)
}

function humanEnd(attributes: Attributes, end: HumanEnd): void {
  set(attributes, HOOKSPAN.humanAction, end.action)
  set(attributes, HOOKSPAN.humanOutcome, end.approvalOutcome)
  set(attributes, HOOKSPAN.humanApprover, end.approver)
  set(attributes, HOOKSPAN.humanChannel, end.channel)
  set(attributes, HOOKSPAN.humanIdentity, end.identity)
  set(attributes, HOOKSPAN.humanReason, end.rejectionReason)
  set(attributes, HOOKSPAN.humanWaitedMs, end.waitedMs)
  set(attributes, HOOKSPAN.toolCode, end.code)
}

function compactEnd(attributes: Attributes, end: CompactEnd): void {
  set(attributes, HOOKSPAN.compactGroupId, end.groupId)
  set(attributes, HOOKSPAN.compactTokensBefore, end.tokensBefore)
  set(attributes, HOOKSPAN.compactMessagesAfter, end.messagesAfter)
  set(attributes, HOOKSPAN.compactTokensAfter, end.tokensAfter)
}
