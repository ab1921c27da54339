import type { Attributes } from '@opentelemetry/api'
import type { Activity, OperationInfo } from '../dispatcher/index.ts'
import type { LlmRequest } from '../hooks/index.ts'
import { conversationOf } from '../wire/reading.ts'
import { type Sampling, samplingOf } from '../wire/request.ts'
import { type ContentOptions, type ContentWriter, contentWriter } from './content.ts'
import { GEN_AI, HOOKSPAN, OPEN_INFERENCE, OTEL, type SemconvProfile, STEP } from './names.ts'

/** What may differ between the spans of two places: nothing else does. */
export interface RenderOptions {
  readonly content: ContentOptions
  readonly semconv: SemconvProfile
  /** Repeats the summed tokens as `gen_ai.usage.*` on `invoke_agent`. */
  readonly usageOnAgentSpan: boolean
  /** Says what spans are to those who read OpenInference, where the conventions have no word. */
  readonly openInference?: boolean
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
  const start = startIn(activity, info, options)
  const kind = options.openInference ? OPEN_INFERENCE_KINDS[activity.kind] : undefined
  set(start.attributes, OPEN_INFERENCE.spanKind, kind)
  return start
}

/** Of the others Phoenix knows by `gen_ai.operation.name` what they are. */
const OPEN_INFERENCE_KINDS: { readonly [K in Activity['kind']]?: string } = {
  step: 'CHAIN',
  human: 'CHAIN',
  compact: 'CHAIN',
  gate: 'GUARDRAIL',
}

function startIn(activity: Activity, info: OperationInfo, options: RenderOptions): SpanStart {
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

/** The place of a call, as far as it tells whether the run of its agent goes on in its span. */
interface CallPlace {
  readonly activity: Activity
  /** The operation that has its span, too. */
  readonly adoptedBy: string | undefined
}

/**
 * Whether the operation that starts below a call is the run of the agent that was called: then the two are one span. A run
 * that was parked goes on in it while the call waits for it.
 */
export function continuesCall(activity: Activity, { operationId }: OperationInfo, above: CallPlace): boolean {
  if (activity.kind !== 'operation' || above.activity.kind !== 'agent' || above.activity.remote) return false
  return above.adoptedBy === undefined || above.adoptedBy === operationId
}

/** Sets what is known; leaves out what is not, because an undefined attribute is a warning in the SDK. */
export function set(attributes: Attributes, name: string, value: Attributes[string] | undefined): void {
  if (value !== undefined) attributes[name] = value
}

interface Server {
  readonly serverAddress?: string
  readonly serverPort?: number
}

function setServer(attributes: Attributes, { serverAddress, serverPort }: Server): void {
  set(attributes, OTEL.serverAddress, serverAddress)
  set(attributes, OTEL.serverPort, serverPort)
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
  if (activity.disabled) attributes[HOOKSPAN.operationDisabled] = [...activity.disabled]
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
  set(attributes, GEN_AI.providerName, activity.provider)
  setServer(attributes, activity)
  writeInstruction(contentWriter(options.content, attributes, info), instruction)
  return { name: `invoke_agent ${agentName}`, kind: remote ? 'client' : 'internal', attributes }
}

export function writeInstruction(content: ContentWriter | undefined, instruction: string): void {
  content?.text(HOOKSPAN.instruction, instruction).input(instruction)
}

function stepStart({ stepIndex, stepType }: Of<'step'>): SpanStart {
  const attributes: Attributes = { [HOOKSPAN.stepIndex]: stepIndex }
  set(attributes, HOOKSPAN.stepType, stepType)
  return { name: STEP, kind: 'internal', attributes }
}

function llmStart(activity: Of<'llm'>, info: OperationInfo, options: RenderOptions): SpanStart {
  const { callKey, model, provider, request, operationName = 'chat', serverAddress, serverPort } = activity
  const attributes: Attributes = {
    [GEN_AI.operationName]: operationName,
    [GEN_AI.providerName]: provider,
    [GEN_AI.requestModel]: model,
    [HOOKSPAN.callKey]: callKey,
  }
  // Each in its place, here and where calls end: what `set` assigns for all, until the compiler has come to it, is slow.
  const conversationId = info.conversationId ?? conversationOf(request)
  if (conversationId !== undefined) attributes[GEN_AI.conversationId] = conversationId
  if (serverAddress !== undefined) attributes[OTEL.serverAddress] = serverAddress
  if (serverPort !== undefined) attributes[OTEL.serverPort] = serverPort
  writeRequest(attributes, contentWriter(options.content, attributes, info), activity, request)
  return { name: `${operationName} ${model}`, kind: 'client', attributes }
}

const SAMPLING: Readonly<Record<keyof Sampling, string>> = {
  temperature: GEN_AI.requestTemperature,
  topP: GEN_AI.requestTopP,
  topK: GEN_AI.requestTopK,
  maxTokens: GEN_AI.requestMaxTokens,
  frequencyPenalty: GEN_AI.requestFrequencyPenalty,
  presencePenalty: GEN_AI.requestPresencePenalty,
  seed: GEN_AI.requestSeed,
  choiceCount: GEN_AI.requestChoiceCount,
  stream: GEN_AI.requestStream,
  stopSequences: GEN_AI.requestStopSequences,
  reasoningLevel: GEN_AI.requestReasoningLevel,
  previousResponseId: GEN_AI.requestPreviousResponseId,
  outputType: GEN_AI.outputType,
}

/** What the model is asked: as the call began, and once more at its end where a gate or a human changed it. */
export function writeRequest(
  attributes: Attributes,
  content: ContentWriter | undefined,
  { operationName }: Of<'llm'>,
  request: LlmRequest,
): void {
  const sampling = samplingOf(request)
  for (const field in sampling) {
    const name = field as keyof Sampling
    attributes[SAMPLING[name]] = sampling[name] as Attributes[string]
  }
  // Texts to embed are no conversation.
  if (operationName !== 'embeddings') content?.request(request)
}

function toolStart(activity: Of<'tool'>, info: OperationInfo, options: RenderOptions): SpanStart {
  const { apiName, description } = activity
  const attributes: Attributes = {
    [GEN_AI.operationName]: 'execute_tool',
    [GEN_AI.toolName]: apiName,
    [GEN_AI.toolType]: activity.source === 'provider' ? 'extension' : 'function',
    [HOOKSPAN.toolIdentifier]: activity.identifier,
    [HOOKSPAN.toolSource]: activity.source,
    [HOOKSPAN.callKey]: activity.callKey,
  }
  if (info.agentName !== undefined) attributes[GEN_AI.agentName] = info.agentName
  if (activity.toolCallId !== '') attributes[GEN_AI.toolCallId] = activity.toolCallId
  if (description !== undefined) attributes[GEN_AI.toolDescription] = description
  const content = contentWriter(options.content, attributes, info, apiName)
  content?.object(GEN_AI.toolCallArguments, activity.args, 'input')
  return { name: `execute_tool ${apiName}`, kind: 'internal', attributes }
}

function humanStart(activity: Of<'human'>, info: OperationInfo, options: RenderOptions): SpanStart {
  const attributes: Attributes = { [HOOKSPAN.humanTools]: activity.pendingTools.map((tool) => tool.apiName) }
  set(attributes, HOOKSPAN.humanRequestId, activity.requestId)
  set(attributes, HOOKSPAN.callKey, activity.callKey)
  contentWriter(options.content, attributes, info)?.text(HOOKSPAN.humanInstructions, activity.instructions)
  return { name: 'human_intervention', kind: 'internal', attributes }
}

function compactStart({ callKey, messageCount, tokenCount }: Of<'compact'>): SpanStart {
  const attributes: Attributes = {
    [HOOKSPAN.compactMessagesBefore]: messageCount,
    [HOOKSPAN.compactTokensBefore]: tokenCount,
  }
  set(attributes, HOOKSPAN.callKey, callKey)
  return { name: 'compact_context', kind: 'internal', attributes }
}
