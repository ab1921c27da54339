import type { Attributes } from '@opentelemetry/api'
import type {
  Activity,
  CompactEnd,
  HumanEnd,
  LlmEnd,
  OperationEnd,
  OperationInfo,
  ToolEnd,
} from '../dispatcher/index.ts'
import type { GateRecord } from '../gates/index.ts'
import type { LlmRequest } from '../hooks/index.ts'
import { GEN_AI, HOOKSPAN, OTEL, type SemconvProfile } from './semconv.ts'

type Of<K extends Activity['kind']> = Extract<Activity, { kind: K }>

/** Sets what is known; leaves out what is not, because an undefined attribute is a warning in the SDK. */
function set(attributes: Attributes, name: string, value: Attributes[string] | undefined): void {
  if (value !== undefined) attributes[name] = value
}

export function operationAttributes(activity: Of<'operation'>, info: OperationInfo): Attributes {
  const attributes: Attributes = {
    [GEN_AI.operationName]: 'invoke_agent',
    [HOOKSPAN.operationId]: info.operationId,
    [HOOKSPAN.operationRootId]: info.rootOperationId,
    ...activity.attributes,
  }
  set(attributes, GEN_AI.agentName, info.agentName)
  set(attributes, HOOKSPAN.agentId, info.agentId)
  set(attributes, GEN_AI.conversationId, info.conversationId)
  set(attributes, OTEL.userId, info.userId)
  set(attributes, HOOKSPAN.operationParentId, info.parentOperationId)
  if (activity.resumed) attributes[HOOKSPAN.operationResumed] = true
  return attributes
}

export function agentCallAttributes(activity: Of<'agent'>): Attributes {
  const attributes: Attributes = {
    [GEN_AI.operationName]: 'invoke_agent',
    [HOOKSPAN.callKey]: activity.callKey,
  }
  set(attributes, GEN_AI.agentName, activity.agentName ?? activity.agentId)
  if (activity.agentId !== activity.agentName) attributes[HOOKSPAN.agentId] = activity.agentId
  return attributes
}

export function stepAttributes(activity: Of<'step'>): Attributes {
  const attributes: Attributes = { [HOOKSPAN.stepIndex]: activity.stepIndex }
  set(attributes, HOOKSPAN.stepType, activity.stepType)
  return attributes
}

export function llmAttributes(activity: Of<'llm'>, info: OperationInfo, profile: SemconvProfile): Attributes {
  const attributes: Attributes = {
    [GEN_AI.operationName]: 'chat',
    [GEN_AI.providerName]: activity.provider,
    [GEN_AI.requestModel]: activity.model,
    [HOOKSPAN.callKey]: activity.callKey,
  }
  if (profile === 'compat') attributes[GEN_AI.system] = activity.provider
  set(attributes, GEN_AI.conversationId, info.conversationId)
  set(attributes, OTEL.serverAddress, activity.serverAddress)
  set(attributes, OTEL.serverPort, activity.serverPort)
  requestAttributes(attributes, activity.request)
  return attributes
}

/** Sampling parameters under the names of the chat completions, responses and Anthropic APIs. */
function requestAttributes(attributes: Attributes, request: LlmRequest): void {
  set(attributes, GEN_AI.requestTemperature, number(request.temperature))
  set(attributes, GEN_AI.requestTopP, number(request.top_p))
  const maxTokens = request.max_completion_tokens ?? request.max_output_tokens ?? request.max_tokens
  set(attributes, GEN_AI.requestMaxTokens, number(maxTokens))
  set(attributes, GEN_AI.requestFrequencyPenalty, number(request.frequency_penalty))
  set(attributes, GEN_AI.requestPresencePenalty, number(request.presence_penalty))
  set(attributes, GEN_AI.requestSeed, number(request.seed))
  if (number(request.n) !== 1) set(attributes, GEN_AI.requestChoiceCount, number(request.n))
  if (request.stream === true) attributes[GEN_AI.requestStream] = true
  const stop = request.stop ?? request.stop_sequences
  if (typeof stop === 'string') attributes[GEN_AI.requestStopSequences] = [stop]
  else if (Array.isArray(stop)) attributes[GEN_AI.requestStopSequences] = stop.map(String)
  const effort = request.reasoning_effort ?? (request.reasoning as { effort?: unknown } | undefined)?.effort
  if (typeof effort === 'string') attributes[GEN_AI.requestReasoningLevel] = effort
  const previous = request.previous_response_id
  if (typeof previous === 'string') attributes[GEN_AI.requestPreviousResponseId] = previous
  const text = request.text as { format?: unknown } | undefined
  const format = (request.response_format ?? text?.format) as { type?: unknown } | undefined
  if (typeof format?.type === 'string')
    attributes[GEN_AI.outputType] = format.type.startsWith('json') ? 'json' : 'text'
}

function number(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined
}

export function llmEndAttributes(end: LlmEnd): Attributes {
  const attributes: Attributes = {}
  const { usage, reply = end.response } = end
  set(attributes, GEN_AI.responseId, reply?.id)
  set(attributes, GEN_AI.responseModel, reply?.model)
  if (reply?.finishReasons?.length) attributes[GEN_AI.responseFinishReasons] = [...reply.finishReasons]
  set(attributes, GEN_AI.usageInputTokens, usage?.inputTokens)
  set(attributes, GEN_AI.usageOutputTokens, usage?.outputTokens)
  set(attributes, GEN_AI.usageCacheReadInputTokens, usage?.cachedInputTokens)
  set(attributes, GEN_AI.usageReasoningOutputTokens, usage?.reasoningTokens)
  set(attributes, HOOKSPAN.costUsd, end.costUsd)
  // The convention counts in seconds.
  if (end.timeToFirstChunkMs !== undefined)
    attributes[GEN_AI.responseTimeToFirstChunk] = end.timeToFirstChunkMs / 1000
  set(attributes, HOOKSPAN.streamEnd, end.streamEnd)
  return attributes
}

export function toolAttributes(activity: Of<'tool'>, info: OperationInfo): Attributes {
  const attributes: Attributes = {
    [GEN_AI.operationName]: 'execute_tool',
    [GEN_AI.toolName]: activity.apiName,
    [GEN_AI.toolType]: 'function',
    [GEN_AI.toolCallId]: activity.toolCallId,
    [HOOKSPAN.toolIdentifier]: activity.identifier,
    [HOOKSPAN.toolSource]: activity.source,
    [HOOKSPAN.callKey]: activity.callKey,
  }
  set(attributes, GEN_AI.agentName, info.agentName)
  set(attributes, GEN_AI.toolDescription, activity.description)
  return attributes
}

export function toolEndAttributes(end: ToolEnd): Attributes {
  const attributes: Attributes = { [HOOKSPAN.toolMocked]: end.mocked ?? false }
  set(attributes, HOOKSPAN.toolOutcome, end.outcome)
  set(attributes, HOOKSPAN.toolSuccess, end.success)
  set(attributes, HOOKSPAN.toolCode, end.code)
  set(attributes, HOOKSPAN.toolReason, end.refusal)
  return attributes
}

export function humanAttributes(activity: Of<'human'>): Attributes {
  const attributes: Attributes = { [HOOKSPAN.humanTools]: activity.pendingTools.map((tool) => tool.apiName) }
  set(attributes, HOOKSPAN.humanRequestId, activity.requestId)
  return attributes
}

export function humanEndAttributes(end: HumanEnd): Attributes {
  const attributes: Attributes = {}
  set(attributes, HOOKSPAN.humanAction, end.action)
  set(attributes, HOOKSPAN.humanOutcome, end.approvalOutcome)
  set(attributes, HOOKSPAN.humanApprover, end.approver)
  set(attributes, HOOKSPAN.humanReason, end.rejectionReason)
  set(attributes, HOOKSPAN.humanWaitedMs, end.waitedMs)
  return attributes
}

export function compactAttributes(activity: Of<'compact'>): Attributes {
  return {
    [HOOKSPAN.compactMessagesBefore]: activity.messageCount,
    [HOOKSPAN.compactTokensBefore]: activity.tokenCount,
  }
}

export function compactEndAttributes(end: CompactEnd): Attributes {
  const attributes: Attributes = {}
  set(attributes, HOOKSPAN.compactGroupId, end.groupId)
  set(attributes, HOOKSPAN.compactMessagesAfter, end.messagesAfter)
  set(attributes, HOOKSPAN.compactTokensAfter, end.tokensAfter)
  return attributes
}

export function operationEndAttributes(end: OperationEnd, usageOnAgentSpan: boolean): Attributes {
  const attributes: Attributes = {}
  const { totals } = end
  set(attributes, HOOKSPAN.operationReason, end.reason)
  set(attributes, HOOKSPAN.operationWaitingFor, end.waitingFor)
  if (end.abandoned) attributes[HOOKSPAN.operationAbandoned] = true
  if (totals === undefined) return attributes
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
  return attributes
}

export function gateAttributes(record: GateRecord): Attributes {
  const attributes: Attributes = {
    [HOOKSPAN.gateId]: record.gateId,
    [HOOKSPAN.gatePoint]: record.point,
    [HOOKSPAN.gateDecision]: record.decision,
    [HOOKSPAN.gateEnforced]: record.enforced,
    [HOOKSPAN.gateDurationMs]: record.durationMs,
  }
  set(attributes, HOOKSPAN.gateCode, record.code)
  set(attributes, HOOKSPAN.gateReason, record.reason)
  set(attributes, HOOKSPAN.gateFailure, record.failure)
  if (record.changedKeys !== undefined) attributes[HOOKSPAN.gateChangedKeys] = [...record.changedKeys]
  return attributes
}
