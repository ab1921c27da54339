import type { Attributes } from '@opentelemetry/api'
import type { Activity, OperationInfo } from '../dispatcher/index.ts'
import type { LlmRequest } from '../hooks/index.ts'
import { type ContentOptions, contentWriter } from './content.ts'
import { GEN_AI, HOOKSPAN, OTEL, type SemconvProfile } from './names.ts'

/** What may differ between the spans of two places: nothing else does. */
export interface RenderOptions {
  readonly content: ContentOptions
  readonly semconv: SemconvProfile
  /** Repeats the summed tokens as `gen_ai.usage.*` on `invoke_agent`. */
  readonly usageOnAgentSpan: boolean
}

/** A span as it begins. */
export interface SpanStart {
  readonly name: string
  readonly kind: 'internal' | 'client'
  readonly attributes: Attributes
}

type Of<K extends Activity['kind']> = Extract<Activity, { kind: K }>

/** The span of an activity. */
export function startOf(activity: Activity, info: OperationInfo, options: RenderOptions): SpanStart {
  switch (activity.kind) {
    case 'operation':
      return operationStart(activity, info, options)
    case 'step':
      return stepStart(activity)
    case 'llm':
      return llmStart(activity, info, options)
    case 'tool':
      return toolStart(activity, info, options)
    case 'human':
      return humanStart(activity, info, options)
    case 'compact':
      return compactStart(activity)
    case 'agent':
      return agentStart(activity, info, options)
    case 'gate': {
      const attributes = { [HOOKSPAN.gateId]: activity.gateId, [HOOKSPAN.gatePoint]: activity.point }
      return { name: `gate ${activity.gateId}`, kind: 'internal', attributes }
    }
  }
}

/** Whether the operation that starts below a call is the run of the agent that was called: then the two are one span. */
export function continuesCall(activity: Activity, above: Activity | undefined): boolean {
  return activity.kind === 'operation' && above?.kind === 'agent' && !above.remote
}

/** Sets what is known; leaves out what is not, because an undefined attribute is a warning in the SDK. */
export function set(attributes: Attributes, name: string, value: Attributes[string] | undefined): void {
  if (value !== undefined) attributes[name] = value
}

function operationStart(activity: Of<'operation'>, info: OperationInfo, options: RenderOptions): SpanStart {
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
  contentWriter(options.content, attributes, info)?.instructions(activity.instructions).input(activity.input)
  const name = info.agentName === undefined ? 'invoke_agent' : `invoke_agent ${info.agentName}`
  return { name, kind: 'internal', attributes }
}

function agentStart(activity: Of<'agent'>, info: OperationInfo, options: RenderOptions): SpanStart {
  const { agentId, agentName = agentId, callKey, instruction, remote } = activity
  const attributes: Attributes = {
    [GEN_AI.operationName]: 'invoke_agent',
    [GEN_AI.agentName]: agentName,
    [HOOKSPAN.callKey]: callKey,
  }
  if (agentId !== activity.agentName) attributes[HOOKSPAN.agentId] = agentId
  contentWriter(options.content, attributes, info)?.text(HOOKSPAN.instruction, instruction).input(instruction)
  return { name: `invoke_agent ${agentName}`, kind: remote ? 'client' : 'internal', attributes }
}

function stepStart({ stepIndex, stepType }: Of<'step'>): SpanStart {
  const attributes: Attributes = { [HOOKSPAN.stepIndex]: stepIndex }
  set(attributes, HOOKSPAN.stepType, stepType)
  return { name: `step ${stepIndex}`, kind: 'internal', attributes }
}

function llmStart(activity: Of<'llm'>, info: OperationInfo, options: RenderOptions): SpanStart {
  const { callKey, model, provider, request } = activity
  const attributes: Attributes = {
    [GEN_AI.operationName]: 'chat',
    [GEN_AI.providerName]: provider,
    [GEN_AI.requestModel]: model,
    [HOOKSPAN.callKey]: callKey,
  }
  if (options.semconv === 'compat') attributes[GEN_AI.system] = provider
  set(attributes, GEN_AI.conversationId, info.conversationId)
  set(attributes, OTEL.serverAddress, activity.serverAddress)
  set(attributes, OTEL.serverPort, activity.serverPort)
  requestAttributes(attributes, request)
  contentWriter(options.content, attributes, info)?.request(request)
  return { name: `chat ${model}`, kind: 'client', attributes }
}

/** Sampling parameters under the names of the chat completions, responses and Anthropic APIs. */
export function requestAttributes(attributes: Attributes, request: LlmRequest): void {
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

function toolStart(activity: Of<'tool'>, info: OperationInfo, options: RenderOptions): SpanStart {
  const { apiName } = activity
  const attributes: Attributes = {
    [GEN_AI.operationName]: 'execute_tool',
    [GEN_AI.toolName]: apiName,
    [GEN_AI.toolType]: 'function',
    [GEN_AI.toolCallId]: activity.toolCallId,
    [HOOKSPAN.toolIdentifier]: activity.identifier,
    [HOOKSPAN.toolSource]: activity.source,
    [HOOKSPAN.callKey]: activity.callKey,
  }
  set(attributes, GEN_AI.agentName, info.agentName)
  set(attributes, GEN_AI.toolDescription, activity.description)
  const content = contentWriter(options.content, attributes, info, apiName)
  content?.object(GEN_AI.toolCallArguments, activity.args, 'input')
  return { name: `execute_tool ${apiName}`, kind: 'internal', attributes }
}

function humanStart(activity: Of<'human'>, info: OperationInfo, options: RenderOptions): SpanStart {
  const attributes: Attributes = { [HOOKSPAN.humanTools]: activity.pendingTools.map((tool) => tool.apiName) }
  set(attributes, HOOKSPAN.humanRequestId, activity.requestId)
  contentWriter(options.content, attributes, info)?.text(HOOKSPAN.humanInstructions, activity.instructions)
  return { name: 'human_intervention', kind: 'internal', attributes }
}

function compactStart({ messageCount, tokenCount }: Of<'compact'>): SpanStart {
  const attributes = {
    [HOOKSPAN.compactMessagesBefore]: messageCount,
    [HOOKSPAN.compactTokensBefore]: tokenCount,
  }
  return { name: 'compact_context', kind: 'internal', attributes }
}
