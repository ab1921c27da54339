/**
 * Every attribute name the viewer knows, in one place. Each list is read from left to right:
 * our own and the newest OpenTelemetry GenAI name first, then its older names, then other conventions
 * (OpenInference, Traceloop, Vercel AI SDK, any-agent).
 */
import type { Attributes, AttributeValue } from './span.ts'

export const NAMES = {
  spanState: ['hookspan.span.state'],
  waitingFor: ['hookspan.operation.waiting_for'],
  operation: ['gen_ai.operation.name'],
  openInferenceKind: ['openinference.span.kind'],
  traceloopKind: ['traceloop.span.kind'],
  aiOperation: ['ai.operationId'],
  agentName: ['gen_ai.agent.name', 'agent.name', 'ai.telemetry.functionId', 'traceloop.entity.name'],
  conversationId: [
    'gen_ai.conversation.id',
    'session.id',
    'ai.telemetry.metadata.sessionId',
    'traceloop.association.properties.session_id',
  ],
  operationId: ['hookspan.operation.id'],
  reason: ['hookspan.operation.reason'],
  stepIndex: ['hookspan.step.index'],
  toolName: ['gen_ai.tool.name', 'ai.toolCall.name', 'tool.name'],
  toolCallId: ['gen_ai.tool.call.id', 'ai.toolCall.id', 'tool_call.id'],
  toolArguments: [
    'gen_ai.tool.call.arguments',
    'ai.toolCall.args',
    'gen_ai.tool.args',
    'tool.parameters',
    'traceloop.entity.input',
    'input.value',
  ],
  toolResult: [
    'gen_ai.tool.call.result',
    'ai.toolCall.result',
    'genai.output',
    'gen_ai.output',
    'traceloop.entity.output',
    'output.value',
  ],
  toolOutcome: ['hookspan.tool.outcome'],
  toolMocked: ['hookspan.tool.mocked'],
  toolSuccess: ['hookspan.tool.success'],
  toolSource: ['hookspan.tool.source'],
  toolIdentifier: ['hookspan.tool.identifier'],
  requestModel: [
    'gen_ai.request.model',
    'ai.model.id',
    'llm.model_name',
    'embedding.model_name',
    'llm.request.model',
  ],
  responseModel: ['gen_ai.response.model', 'ai.response.model', 'llm.response.model'],
  inputTokens: [
    'gen_ai.usage.input_tokens',
    'gen_ai.usage.prompt_tokens',
    'ai.usage.inputTokens',
    'ai.usage.promptTokens',
    'llm.token_count.prompt',
    'llm.usage.prompt_tokens',
  ],
  outputTokens: [
    'gen_ai.usage.output_tokens',
    'gen_ai.usage.completion_tokens',
    'ai.usage.outputTokens',
    'ai.usage.completionTokens',
    'llm.token_count.completion',
    'llm.usage.completion_tokens',
  ],
  cachedTokens: [
    'gen_ai.usage.cache_read.input_tokens',
    'gen_ai.usage.cached_input_tokens',
    'gen_ai.usage.cache_read_input_tokens',
    'ai.usage.cachedInputTokens',
    'llm.token_count.prompt_details.cache_read',
  ],
  reasoningTokens: [
    'gen_ai.usage.reasoning.output_tokens',
    'gen_ai.usage.reasoning_tokens',
    'ai.usage.reasoningTokens',
    'llm.token_count.completion_details.reasoning',
  ],
  provider: ['gen_ai.provider.name', 'gen_ai.system', 'llm.provider', 'ai.model.provider'],
  cacheCreationTokens: [
    'gen_ai.usage.cache_creation.input_tokens',
    'gen_ai.usage.cache_creation_input_tokens',
    'llm.token_count.prompt_details.cache_write',
  ],
  mockSource: ['hookspan.mock.source'],
  costUsd: ['hookspan.cost_usd', 'gen_ai.usage.cost', 'llm.cost.total'],
  /** Summed when no total is given. */
  costPartsUsd: ['gen_ai.usage.input_cost', 'gen_ai.usage.output_cost', 'cost_prompt', 'cost_completion'],
  inputMessages: ['gen_ai.input.messages', 'gen_ai.prompt', 'ai.prompt.messages', 'genai.input'],
  outputMessages: ['gen_ai.output.messages', 'gen_ai.completion'],
  systemInstructions: ['gen_ai.system_instructions'],
  toolDefinitions: ['gen_ai.tool.definitions', 'ai.prompt.tools', 'gen_ai.request.tools'],
  anyInput: ['input.value', 'traceloop.entity.input', 'ai.prompt', 'gen_ai.input'],
  anyOutput: [
    'genai.output',
    'gen_ai.output',
    'output.value',
    'traceloop.entity.output',
    'ai.response.text',
    'ai.response.object',
  ],
  aiText: ['ai.response.text', 'ai.response.object'],
  aiReasoning: ['ai.response.reasoning'],
  aiToolCalls: ['ai.response.toolCalls'],
  messagesBefore: ['hookspan.compaction.messages_before'],
  messagesAfter: ['hookspan.compaction.messages_after'],
  tokensBefore: ['hookspan.compaction.tokens_before'],
  tokensAfter: ['hookspan.compaction.tokens_after'],
  compactionSummary: ['hookspan.compaction.summary'],
  humanAction: ['hookspan.human.action'],
  humanWaitedMs: ['hookspan.human.waited_ms'],
  humanApprover: ['hookspan.human.approver'],
  gateId: ['hookspan.gate.id'],
  gateDecision: ['hookspan.gate.decision'],
  gateEnforced: ['hookspan.gate.enforced'],
  gateCode: ['hookspan.gate.code'],
  gateReason: ['hookspan.gate.reason'],
  gateDurationMs: ['hookspan.gate.duration_ms'],
  errorType: ['error.type', 'exception.type'],
  serviceName: ['service.name'],
  processId: ['process.pid'],
  hostName: ['host.name'],
} as const

export type AttributeName = keyof typeof NAMES

/** The span event in which an in-process gate records its decision. */
export const GATE_EVENT = 'hookspan.gate'
/** The span event with what the user said after the last call of the model. */
export const USER_MESSAGE_EVENT = 'hookspan.user_message'
/** The value of `hookspan.span.state` that marks a start snapshot. */
export const STARTED = 'started'

/** Prefixes of the numbered attributes of OpenInference and Traceloop, and where each keeps its message. */
export const NUMBERED_MESSAGES = {
  input: [
    { prefix: 'llm.input_messages.', infix: 'message.' },
    { prefix: 'gen_ai.prompt.', infix: '' },
  ],
  output: [
    { prefix: 'llm.output_messages.', infix: 'message.' },
    { prefix: 'gen_ai.completion.', infix: '' },
  ],
} as const

/** Names whose values rows and lists are made of; everything else stays packed until someone opens the span. */
const NAMES_READ_FOR_ROWS: AttributeName[] = [
  'spanState',
  'waitingFor',
  'operation',
  'openInferenceKind',
  'traceloopKind',
  'aiOperation',
  'agentName',
  'conversationId',
  'reason',
  'stepIndex',
  'toolName',
  'toolCallId',
  'toolArguments',
  'toolResult',
  'toolOutcome',
  'toolMocked',
  'requestModel',
  'responseModel',
  'inputTokens',
  'outputTokens',
  'cachedTokens',
  'reasoningTokens',
  'provider',
  'cacheCreationTokens',
  'mockSource',
  'costUsd',
  'costPartsUsd',
  'messagesBefore',
  'messagesAfter',
  'tokensBefore',
  'tokensAfter',
  'humanAction',
  'humanWaitedMs',
  'humanApprover',
  'gateId',
  'gateDecision',
  'gateEnforced',
  'gateCode',
  'gateReason',
  'gateDurationMs',
  'errorType',
]
export const READ_FOR_ROWS: ReadonlySet<string> = new Set(NAMES_READ_FOR_ROWS.flatMap((name) => NAMES[name]))
const NUMBERS: ReadonlyMap<string, number> = new Map([...READ_FOR_ROWS].map((key, number) => [key, number]))
const NUMBERS_OF: Partial<Record<AttributeName, readonly number[]>> = Object.fromEntries(
  NAMES_READ_FOR_ROWS.map((name) => [name, NAMES[name].map((key) => NUMBERS.get(key)!)]),
)

/** The number by which `RowValues` knows an attribute of `READ_FOR_ROWS`. */
export function rowNumber(key: string): number {
  return NUMBERS.get(key)!
}

/**
 * What is read for rows of one span after the other, by number: an object with names for keys would be made, filled and asked for
 * each, at several times the cost.
 */
export class RowValues {
  readonly #values: (AttributeValue | undefined)[] = Array.from(NUMBERS, () => undefined)
  /** Counted, and not emptied: a list that is would be made and grown again for each span. */
  readonly #given: number[] = []
  #count = 0

  clear(): void {
    for (let at = 0; at < this.#count; at++) this.#values[this.#given[at]!] = undefined
    this.#count = 0
  }

  set(number: number, value: AttributeValue): void {
    this.#given[this.#count++] = number
    this.#values[number] = value
  }

  at(name: AttributeName, index: number): AttributeValue | undefined {
    return this.#values[NUMBERS_OF[name]![index]!]
  }

  first(name: AttributeName): AttributeValue | undefined {
    const values = this.#values
    for (const number of NUMBERS_OF[name]!) {
      const value = values[number]
      if (value !== undefined && value !== null && value !== '') return value
    }
    return undefined
  }
}

export type AttributeSource = Attributes | RowValues

/** The first of the names that has a value. */
export function read(attributes: AttributeSource, name: AttributeName): AttributeValue | undefined {
  if (attributes instanceof RowValues) return attributes.first(name)
  for (const key of NAMES[name]) {
    const value = attributes[key]
    if (value !== undefined && value !== null && value !== '') return value
  }
  return undefined
}

/** Of all the names: what is no number counts as 0. */
export function readSum(attributes: AttributeSource, name: AttributeName): number {
  const names = NAMES[name]
  let sum = 0
  for (let index = 0; index < names.length; index++) {
    const value = attributes instanceof RowValues ? attributes.at(name, index) : attributes[names[index]!]
    const part = Number(value ?? 0)
    if (Number.isFinite(part)) sum += part
  }
  return sum
}

export function readText(attributes: AttributeSource, name: AttributeName): string {
  const value = read(attributes, name)
  if (value === undefined) return ''
  return typeof value === 'string' ? value : typeof value === 'object' ? JSON.stringify(value) : String(value)
}

/** `undefined` for what is absent or not a finite number; numbers sent as text count. */
export function readNumber(attributes: AttributeSource, name: AttributeName): number | undefined {
  const value = read(attributes, name)
  if (typeof value !== 'number' && typeof value !== 'string') return undefined
  const number = Number(value)
  return Number.isFinite(number) ? number : undefined
}

export function readBoolean(attributes: AttributeSource, name: AttributeName): boolean | undefined {
  const value = read(attributes, name)
  if (typeof value === 'boolean') return value
  return value === 'true' ? true : value === 'false' ? false : undefined
}
