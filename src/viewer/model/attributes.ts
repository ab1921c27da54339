/**
 * Every attribute name the viewer knows, in one place. Each list is read from left to right:
 * our own and the newest OpenTelemetry GenAI name first, then its older names, then other conventions
 * (OpenInference, Traceloop, Vercel AI SDK, any-agent).
 */
import type { Attributes, AttributeValue } from './span.ts'

interface AttributeName {
  readonly keys: readonly string[]
  /** Those by which `RowValues` knows the keys; none for what no row shows. */
  readonly numbers: readonly number[]
}

const NUMBERS = new Map<string, number>()
/** The keys whose values rows and lists are made of; everything else stays packed until someone opens the span. */
export const READ_FOR_ROWS: ReadonlyMap<string, number> = NUMBERS

function named(...keys: readonly string[]): AttributeName {
  return { keys, numbers: [] }
}

/** Likewise, of what rows or lists show. */
function shown(...keys: readonly string[]): AttributeName {
  for (const key of keys) if (!NUMBERS.has(key)) NUMBERS.set(key, NUMBERS.size)
  return { keys, numbers: keys.map((key) => NUMBERS.get(key)!) }
}

/** Some thirty are asked for of each span: to find one by what it is called would cost more than to read its value. */
export const NAMES = {
  spanState: shown('hookspan.span.state'),
  waitingFor: shown('hookspan.operation.waiting_for'),
  operation: shown('gen_ai.operation.name'),
  openInferenceKind: shown('openinference.span.kind'),
  traceloopKind: shown('traceloop.span.kind'),
  aiOperation: shown('ai.operationId'),
  agentName: shown(
    'gen_ai.agent.name',
    'gen_ai.workflow.name',
    'agent.name',
    'ai.telemetry.functionId',
    'traceloop.entity.name',
    'graph.node.name',
  ),
  /** A name, or an id that says nothing. */
  graphNodeId: shown('graph.node.id'),
  conversationId: shown(
    'gen_ai.conversation.id',
    'session.id',
    'ai.telemetry.metadata.sessionId',
    'traceloop.association.properties.session_id',
  ),
  operationId: named('hookspan.operation.id'),
  reason: shown('hookspan.operation.reason'),
  stepIndex: shown('hookspan.step.index'),
  toolName: shown('gen_ai.tool.name', 'ai.toolCall.name', 'tool.name'),
  toolCallId: shown('gen_ai.tool.call.id', 'ai.toolCall.id', 'tool_call.id'),
  toolArguments: shown(
    'gen_ai.tool.call.arguments',
    'ai.toolCall.args',
    'gen_ai.tool.args',
    'traceloop.entity.input',
    'input.value',
    // Of OpenInference the tool's schema today, and its arguments in older traces, which have no other.
    'tool.parameters',
    'tool_arguments',
    'gen_ai.prompt',
  ),
  toolResult: shown(
    'gen_ai.tool.call.result',
    'ai.toolCall.result',
    'genai.output',
    'gen_ai.output',
    'traceloop.entity.output',
    'output.value',
    'tool_response',
    'gen_ai.completion',
  ),
  toolOutcome: shown('hookspan.tool.outcome'),
  toolMocked: shown('hookspan.tool.mocked'),
  toolSuccess: named('hookspan.tool.success'),
  toolSource: named('hookspan.tool.source'),
  toolIdentifier: named('hookspan.tool.identifier'),
  requestModel: shown(
    'gen_ai.request.model',
    'ai.model.id',
    'llm.model_name',
    'embedding.model_name',
    'llm.request.model',
  ),
  responseModel: shown('gen_ai.response.model', 'ai.response.model', 'llm.response.model'),
  inputTokens: shown(
    'gen_ai.usage.input_tokens',
    'gen_ai.usage.prompt_tokens',
    'ai.usage.inputTokens',
    'ai.usage.promptTokens',
    'llm.token_count.prompt',
    'llm.usage.prompt_tokens',
  ),
  outputTokens: shown(
    'gen_ai.usage.output_tokens',
    'gen_ai.usage.completion_tokens',
    'ai.usage.outputTokens',
    'ai.usage.completionTokens',
    'llm.token_count.completion',
    'llm.usage.completion_tokens',
  ),
  cachedTokens: shown(
    'gen_ai.usage.cache_read.input_tokens',
    'gen_ai.usage.cached_input_tokens',
    'gen_ai.usage.cache_read_input_tokens',
    'ai.usage.cachedInputTokens',
    'llm.token_count.prompt_details.cache_read',
  ),
  reasoningTokens: shown(
    'gen_ai.usage.reasoning.output_tokens',
    'gen_ai.usage.reasoning_tokens',
    'ai.usage.reasoningTokens',
    'llm.token_count.completion_details.reasoning',
  ),
  provider: shown('gen_ai.provider.name', 'gen_ai.system', 'llm.provider', 'llm.system', 'ai.model.provider'),
  cacheCreationTokens: shown(
    'gen_ai.usage.cache_write.input_tokens',
    'gen_ai.usage.cache_creation.input_tokens',
    'gen_ai.usage.cache_creation_input_tokens',
    'llm.token_count.prompt_details.cache_write',
  ),
  cacheCreation1hTokens: shown(
    'hookspan.usage.cache_creation_1h.input_tokens',
    'anthropic.usage.cache_creation.ephemeral_1h_input_tokens',
  ),
  mockSource: shown('hookspan.mock.source'),
  mockRule: shown('hookspan.mock.rule'),
  costUsd: shown('hookspan.cost_usd', 'gen_ai.usage.cost', 'llm.cost.total', 'operation.cost'),
  /** Ours is there only where somebody knew the price; others write 0 also where nobody did. */
  knownCostUsd: shown('hookspan.cost_usd'),
  /** Summed when no total is given. */
  costPartsUsd: shown(
    'gen_ai.usage.input_cost',
    'gen_ai.usage.output_cost',
    'cost_prompt',
    'cost_completion',
  ),
  inputMessages: named('gen_ai.input.messages', 'gen_ai.prompt', 'ai.prompt.messages', 'genai.input'),
  outputMessages: named('gen_ai.output.messages', 'gen_ai.completion'),
  finishReasons: named(
    'gen_ai.response.finish_reasons',
    'gen_ai.response.finish_reason',
    'ai.response.finishReason',
    'llm.finish_reason',
  ),
  systemInstructions: named('gen_ai.system_instructions'),
  toolDefinitions: named('gen_ai.tool.definitions', 'ai.prompt.tools', 'gen_ai.request.tools'),
  anyInput: named(
    'input.value',
    'traceloop.entity.input',
    'ai.prompt',
    'gen_ai.input',
    'pydantic_ai.all_messages',
  ),
  anyOutput: named(
    'genai.output',
    'gen_ai.output',
    'output.value',
    'traceloop.entity.output',
    'ai.response.text',
    'ai.response.object',
    'final_result',
  ),
  /** Messages as a list of the events that they were before they became attributes. */
  messageEvents: named('events'),
  aiText: named('ai.response.text', 'ai.response.object'),
  aiReasoning: named('ai.response.reasoning'),
  aiToolCalls: named('ai.response.toolCalls'),
  messagesBefore: shown('hookspan.compaction.messages_before'),
  messagesAfter: shown('hookspan.compaction.messages_after'),
  tokensBefore: shown('hookspan.compaction.tokens_before'),
  tokensAfter: shown('hookspan.compaction.tokens_after'),
  compactionSummary: named('hookspan.compaction.summary'),
  humanAction: shown('hookspan.human.action'),
  humanWaitedMs: shown('hookspan.human.waited_ms'),
  humanApprover: shown('hookspan.human.approver'),
  humanChannel: shown('hookspan.human.channel'),
  humanIdentity: shown('hookspan.human.identity'),
  humanReason: shown('hookspan.human.rejection_reason'),
  gateId: shown('hookspan.gate.id'),
  gateDecision: shown('hookspan.gate.decision'),
  gateEnforced: shown('hookspan.gate.enforced'),
  gateCode: shown('hookspan.gate.code'),
  gateReason: shown('hookspan.gate.reason'),
  gateDurationMs: shown('hookspan.gate.duration_ms'),
  errorType: shown('error.type', 'exception.type'),
  exceptionMessage: named('exception.message'),
  exceptionStack: named('exception.stacktrace'),
  serviceName: named('service.name'),
  processId: named('process.pid'),
  hostName: named('host.name'),
}

/** The span event in which an in-process gate records its decision. */
export const GATE_EVENT = 'hookspan.gate'
/** The span event with what was thrown. */
export const EXCEPTION_EVENT = 'exception'
/** The span event with what the user said after the last call of the model. */
export const USER_MESSAGE_EVENT = 'hookspan.user_message'
/** The value of `hookspan.span.state` that marks a start snapshot. */
export const STARTED = 'started'
/** A span whose process died, told by the next that has its spool, or ended its tracing first: where it ended is not known. */
export const DIED = 'interrupted'

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
    return this.#values[name.numbers[index]!]
  }

  first(name: AttributeName): AttributeValue | undefined {
    const values = this.#values
    for (const number of name.numbers) {
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
  for (const key of name.keys) {
    const value = attributes[key]
    if (value !== undefined && value !== null && value !== '') return value
  }
  return undefined
}

/** Of all the names: what is no number counts as 0. */
export function readSum(attributes: AttributeSource, name: AttributeName): number {
  const { keys } = name
  let sum = 0
  for (let index = 0; index < keys.length; index++) {
    const value = attributes instanceof RowValues ? attributes.at(name, index) : attributes[keys[index]!]
    const part = Number(value ?? 0)
    if (Number.isFinite(part) && part > 0) sum += part
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

/** The same of what sums count: less than nothing, as the -1 of what is not known, would be taken off what others used. */
export function readAmount(attributes: AttributeSource, name: AttributeName): number | undefined {
  const number = readNumber(attributes, name)
  return number !== undefined && number >= 0 ? number : undefined
}

export function readBoolean(attributes: AttributeSource, name: AttributeName): boolean | undefined {
  const value = read(attributes, name)
  if (typeof value === 'boolean') return value
  return value === 'true' ? true : value === 'false' ? false : undefined
}
