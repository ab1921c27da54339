/**
 * Attribute names of the OpenTelemetry GenAI conventions. Own constants, because the conventions have no release:
 * names are those of open-telemetry/semantic-conventions-genai, schema `gen-ai-dev/1.42.0-dev`, with the older
 * names that Jaeger and most backends still read where the two differ (profile `compat`).
 */
export const GEN_AI = {
  operationName: 'gen_ai.operation.name',
  providerName: 'gen_ai.provider.name',
  agentName: 'gen_ai.agent.name',
  agentId: 'gen_ai.agent.id',
  conversationId: 'gen_ai.conversation.id',
  conversationCompacted: 'gen_ai.conversation.compacted',
  requestModel: 'gen_ai.request.model',
  requestStream: 'gen_ai.request.stream',
  requestTemperature: 'gen_ai.request.temperature',
  requestTopP: 'gen_ai.request.top_p',
  requestTopK: 'gen_ai.request.top_k',
  requestMaxTokens: 'gen_ai.request.max_tokens',
  requestFrequencyPenalty: 'gen_ai.request.frequency_penalty',
  requestPresencePenalty: 'gen_ai.request.presence_penalty',
  requestStopSequences: 'gen_ai.request.stop_sequences',
  requestSeed: 'gen_ai.request.seed',
  requestChoiceCount: 'gen_ai.request.choice.count',
  requestReasoningLevel: 'gen_ai.request.reasoning.level',
  requestPreviousResponseId: 'gen_ai.request.previous_response.id',
  outputType: 'gen_ai.output.type',
  responseId: 'gen_ai.response.id',
  responseModel: 'gen_ai.response.model',
  responseFinishReasons: 'gen_ai.response.finish_reasons',
  responseTimeToFirstChunk: 'gen_ai.response.time_to_first_chunk',
  usageInputTokens: 'gen_ai.usage.input_tokens',
  usageOutputTokens: 'gen_ai.usage.output_tokens',
  usageCacheReadInputTokens: 'gen_ai.usage.cache_read.input_tokens',
  usageCacheCreationInputTokens: 'gen_ai.usage.cache_creation.input_tokens',
  /** Newer name of the same; profile `latest`. */
  usageCacheWriteInputTokens: 'gen_ai.usage.cache_write.input_tokens',
  /** Not of the conventions: what Langfuse and OpenLIT read as US dollars; profile `compat` only. */
  usageCost: 'gen_ai.usage.cost',
  usageReasoningOutputTokens: 'gen_ai.usage.reasoning.output_tokens',
  toolName: 'gen_ai.tool.name',
  toolType: 'gen_ai.tool.type',
  toolCallId: 'gen_ai.tool.call.id',
  toolDescription: 'gen_ai.tool.description',
  toolCallArguments: 'gen_ai.tool.call.arguments',
  toolCallResult: 'gen_ai.tool.call.result',
  toolDefinitions: 'gen_ai.tool.definitions',
  inputMessages: 'gen_ai.input.messages',
  outputMessages: 'gen_ai.output.messages',
  systemInstructions: 'gen_ai.system_instructions',
  tokenType: 'gen_ai.token.type',
  tokenModality: 'gen_ai.token.modality',
  /** Not of the conventions: seconds, as OpenLIT writes and SigNoz reads; profile `compat` only. */
  serverTtft: 'gen_ai.server.ttft',
} as const

/** What has no convention yet. The table in docs/attributes.md lists each with its type and meaning. */
export const HOOKSPAN = {
  operationId: 'hookspan.operation.id',
  operationRootId: 'hookspan.operation.root_id',
  operationParentId: 'hookspan.operation.parent_id',
  operationReason: 'hookspan.operation.reason',
  operationAbandoned: 'hookspan.operation.abandoned',
  operationResumed: 'hookspan.operation.resumed',
  operationDisabled: 'hookspan.operation.disabled',
  operationWaitingFor: 'hookspan.operation.waiting_for',
  operationKeep: 'hookspan.operation.keep',
  steps: 'hookspan.operation.steps',
  llmCalls: 'hookspan.operation.llm_calls',
  toolCalls: 'hookspan.operation.tool_calls',
  totalInputTokens: 'hookspan.operation.input_tokens',
  totalOutputTokens: 'hookspan.operation.output_tokens',
  usageCacheCreation1hInputTokens: 'hookspan.usage.cache_creation_1h.input_tokens',
  costUsd: 'hookspan.cost_usd',
  totalCostUsd: 'hookspan.operation.cost_usd',
  agentId: 'hookspan.agent.id',
  instruction: 'hookspan.instruction',
  stepIndex: 'hookspan.step.index',
  stepType: 'hookspan.step.type',
  callKey: 'hookspan.call.key',
  streamEnd: 'hookspan.stream.end',
  toolIdentifier: 'hookspan.tool.identifier',
  toolSource: 'hookspan.tool.source',
  toolOutcome: 'hookspan.tool.outcome',
  toolMocked: 'hookspan.tool.mocked',
  toolSuccess: 'hookspan.tool.success',
  toolCode: 'hookspan.tool.code',
  toolReason: 'hookspan.tool.reason',
  mockSource: 'hookspan.mock.source',
  mockRule: 'hookspan.mock.rule',
  humanAction: 'hookspan.human.action',
  humanOutcome: 'hookspan.human.outcome',
  humanApprover: 'hookspan.human.approver',
  humanChannel: 'hookspan.human.channel',
  humanIdentity: 'hookspan.human.identity',
  humanReason: 'hookspan.human.rejection_reason',
  humanWaitedMs: 'hookspan.human.waited_ms',
  humanTools: 'hookspan.human.tools',
  humanRequestId: 'hookspan.human.request_id',
  humanInstructions: 'hookspan.human.instructions',
  compactGroupId: 'hookspan.compaction.group_id',
  compactMessagesBefore: 'hookspan.compaction.messages_before',
  compactMessagesAfter: 'hookspan.compaction.messages_after',
  compactTokensBefore: 'hookspan.compaction.tokens_before',
  compactTokensAfter: 'hookspan.compaction.tokens_after',
  compactSummary: 'hookspan.compaction.summary',
  gateId: 'hookspan.gate.id',
  gatePoint: 'hookspan.gate.point',
  gateDecision: 'hookspan.gate.decision',
  gateEnforced: 'hookspan.gate.enforced',
  gateCode: 'hookspan.gate.code',
  gateReason: 'hookspan.gate.reason',
  gateDurationMs: 'hookspan.gate.duration_ms',
  gateChangedKeys: 'hookspan.gate.changed_keys',
  gateFailure: 'hookspan.gate.failure',
  subOperationId: 'hookspan.sub_operation.id',
  contentCut: 'hookspan.content.cut',
  contentCutBytes: 'hookspan.content.cut_bytes',
  spanState: 'hookspan.span.state',
} as const

/** The event of a span for what stood in for its tool or model: viewers mark it on the bar of the span. */
export const MOCK_EVENT = 'hookspan.mock'

/** The event of a span for the decision of a gate of this process. */
export const GATE_EVENT = 'hookspan.gate'

/** What Langfuse reads of the first chunk of a streamed reply: a point in time, ISO 8601; profile `compat` only. */
export const LANGFUSE_FIRST_CHUNK = 'langfuse.observation.completion_start_time'

/** What Phoenix reads beside the conventions, by option. */
export const OPEN_INFERENCE = {
  spanKind: 'openinference.span.kind',
  costTotal: 'llm.cost.total',
} as const

/** Generic conventions. */
export const OTEL = {
  errorType: 'error.type',
  serverAddress: 'server.address',
  serverPort: 'server.port',
  userId: 'user.id',
  exceptionType: 'exception.type',
  exceptionMessage: 'exception.message',
  exceptionStacktrace: 'exception.stacktrace',
} as const

/** Which names are emitted. `compat` adds what Jaeger and older backends read; `latest` is the newest text alone. */
export type SemconvProfile = 'compat' | 'latest'

/** The schema that each profile keeps to, on the instrumentation scope. */
export const SCHEMA_URLS: Readonly<Record<SemconvProfile, string>> = {
  compat: 'https://opentelemetry.io/schemas/1.41.0',
  latest: 'https://opentelemetry.io/schemas/gen-ai-dev/1.42.0-dev',
}

/** The name of the spans of steps: one for all, so that backends have few operations to list. */
export const STEP = 'step'

/** What a person reads of a span: its name, and for a step which one it is. */
export function spanTitle(name: string, attributes: Readonly<Record<string, unknown>>): string {
  const index = name === STEP ? attributes[HOOKSPAN.stepIndex] : undefined
  return index === undefined ? name : `${name} ${index}`
}
