/** Reads from a span, on arrival, what lists and rows show; the rest stays packed until someone opens it. */
import {
  type AttributeSource,
  DIED,
  EXCEPTION_EVENT,
  GATE_EVENT,
  NAMES,
  readAmount,
  readBoolean,
  readNumber,
  readSum,
  readText,
  STARTED,
} from './attributes.ts'
import type { GateDecision, SpanCategory, SpanEvent, SpanRow } from './span.ts'

const PREVIEW_CHARS = 200
const REASON_CHARS = 1_000
const NO_NAME = /^[\da-f-]{16,}$/i
const NOT_ONE_LINE = /[^\S ]| {2}/

export interface SpanDigest
  extends Pick<
    SpanRow,
    Tokens | 'category' | 'label' | 'costUsd' | 'outcome' | 'mocked' | 'callId' | 'preview'
  > {
  /** A start snapshot: the span has begun and its end will follow. */
  started: boolean
  /** Of a span that has begun: its process died, says the next one. */
  died: boolean
  conversationId: string
  reason: string
  /** Of a call of a model that its trace does not price: what a table of prices needs, beside the tokens. */
  unpriced: UnpricedCall | undefined
  detail: DigestDetail | undefined
}

export interface UnpricedCall {
  provider: string
  /** The one that answered, where that is told: a name that is asked for may stand for several. */
  model: string
  cacheCreationTokens: number
  cacheCreation1hTokens: number
}

type Tokens = 'inputTokens' | 'outputTokens' | 'cachedTokens' | 'reasoningTokens'

export type DigestDetail = Partial<Pick<SpanRow, 'gates' | 'compaction' | 'human' | 'errorText'>>

const BY_OPERATION: Record<string, SpanCategory> = {
  chat: 'llm',
  text_completion: 'llm',
  generate_content: 'llm',
  call_llm: 'llm',
  fetch_response: 'llm',
  embeddings: 'embedding',
  retrieval: 'retrieval',
  execute_tool: 'tool',
  invoke_agent: 'agent',
  create_agent: 'agent',
  invoke_workflow: 'agent',
  plan: 'step',
  agent_step: 'step',
}
const BY_OPENINFERENCE: Record<string, SpanCategory> = {
  LLM: 'llm',
  TOOL: 'tool',
  AGENT: 'agent',
  CHAIN: 'chain',
  RETRIEVER: 'retrieval',
  RERANKER: 'retrieval',
  EMBEDDING: 'embedding',
  GUARDRAIL: 'gate',
}
const BY_TRACELOOP: Record<string, SpanCategory> = {
  workflow: 'agent',
  agent: 'agent',
  task: 'chain',
  tool: 'tool',
}

/** What `classify` goes by, with a quote on either side as in OTLP/JSON. */
const CATEGORY_KEYS = [
  NAMES.operation,
  NAMES.humanAction,
  NAMES.tokensBefore,
  NAMES.gateId,
  NAMES.stepIndex,
  NAMES.openInferenceKind,
  NAMES.traceloopKind,
  NAMES.aiOperation,
  NAMES.toolName,
  NAMES.requestModel,
].flatMap(({ keys }) => keys.map((key) => `"${key}"`))

/** Whether spans as OTLP/JSON may be of an agent, a model or a tool: `other` is all there is without. */
export function tellsOfAgents(spans: string): boolean {
  return CATEGORY_KEYS.some((key) => spans.includes(key))
}

export function classify(name: string, attributes: AttributeSource): SpanCategory {
  const operation = readText(attributes, NAMES.operation)
  const own = Object.hasOwn(BY_OPERATION, operation) ? BY_OPERATION[operation] : undefined
  if (own) return own
  if (name === 'human_intervention' || readText(attributes, NAMES.humanAction)) return 'human'
  if (name === 'compact_context' || readNumber(attributes, NAMES.tokensBefore) !== undefined) return 'compact'
  if (name.startsWith('gate ') && readText(attributes, NAMES.gateId)) return 'gate'
  if (readNumber(attributes, NAMES.stepIndex) !== undefined && name.startsWith('step')) return 'step'
  const open = readText(attributes, NAMES.openInferenceKind).toUpperCase()
  if (Object.hasOwn(BY_OPENINFERENCE, open)) return BY_OPENINFERENCE[open]!
  const loop = readText(attributes, NAMES.traceloopKind)
  if (Object.hasOwn(BY_TRACELOOP, loop)) return BY_TRACELOOP[loop]!
  const ai = readText(attributes, NAMES.aiOperation)
  if (ai) return classifyAiSdk(ai)
  if (readText(attributes, NAMES.toolName)) return 'tool'
  if (readText(attributes, NAMES.requestModel)) return 'llm'
  return 'other'
}

function classifyAiSdk(operation: string): SpanCategory {
  if (operation === 'ai.toolCall') return 'tool'
  if (operation.startsWith('ai.embed')) return 'embedding'
  if (operation.endsWith('.doGenerate') || operation.endsWith('.doStream')) return 'llm'
  return 'agent'
}

export function digestSpan(
  name: string,
  attributes: AttributeSource,
  events: readonly SpanEvent[],
  status: { code: number; message: string },
  category: SpanCategory = classify(name, attributes),
): SpanDigest {
  const usage = category === 'llm' || category === 'embedding'
  const state = readText(attributes, NAMES.spanState)
  const started = state === STARTED || state === DIED
  // A run that was parked goes on in another process, which ends its span.
  const parked = started && readText(attributes, NAMES.waitingFor) !== ''
  const costUsd = usage ? costOf(attributes) : 0
  const outcome = parked ? 'waiting' : readText(attributes, NAMES.toolOutcome)
  return {
    category,
    started,
    died: state === DIED && !parked,
    label: labelOf(category, name, attributes),
    conversationId: readText(attributes, NAMES.conversationId),
    reason: readText(attributes, NAMES.reason),
    inputTokens: usage ? (readAmount(attributes, NAMES.inputTokens) ?? 0) : 0,
    outputTokens: usage ? (readAmount(attributes, NAMES.outputTokens) ?? 0) : 0,
    cachedTokens: usage ? (readAmount(attributes, NAMES.cachedTokens) ?? 0) : 0,
    reasoningTokens: usage ? (readAmount(attributes, NAMES.reasoningTokens) ?? 0) : 0,
    costUsd,
    unpriced: usage && costUsd === 0 ? unpricedOf(attributes) : undefined,
    outcome,
    mocked: outcome === 'mocked' || readBoolean(attributes, NAMES.toolMocked) === true,
    callId: category === 'tool' ? readText(attributes, NAMES.toolCallId) : '',
    preview: category === 'tool' ? oneLine(readText(attributes, NAMES.toolArguments)) : '',
    // Most have none, and to find that out is not to make anything.
    detail: hasDetail(category, events, status) ? detailOf(category, attributes, events, status) : undefined,
  }
}

function labelOf(category: SpanCategory, name: string, attributes: AttributeSource): string {
  switch (category) {
    case 'llm':
    case 'embedding':
      return readText(attributes, NAMES.requestModel) || readText(attributes, NAMES.responseModel)
    case 'tool':
      return readText(attributes, NAMES.toolName) || name.replace(/^execute_tool /, '')
    case 'agent':
      return (
        readText(attributes, NAMES.agentName) ||
        readText(attributes, NAMES.graphNodeId).replace(NO_NAME, '') ||
        name.replace(/^(?:(?:invoke|create)_agent|invoke_workflow) /, '')
      )
    case 'gate':
      return readText(attributes, NAMES.gateId) || name.replace(/^gate /, '')
    case 'step':
      return name === 'step' ? `step ${readNumber(attributes, NAMES.stepIndex) ?? ''}`.trim() : ''
    default:
      return ''
  }
}

/** An SDK's own name, written for the provider whatever that is: the price goes by the model's name alone. */
const NO_PROVIDERS: ReadonlySet<string> = new Set(['strands-agents'])

/** What was mocked or replayed cost nothing, and so did what is known to be free. */
function unpricedOf(attributes: AttributeSource): UnpricedCall | undefined {
  if (readText(attributes, NAMES.mockSource)) return undefined
  if (readAmount(attributes, NAMES.knownCostUsd) !== undefined) return undefined
  const model = readText(attributes, NAMES.responseModel) || readText(attributes, NAMES.requestModel)
  const provider = readText(attributes, NAMES.provider)
  return {
    provider: NO_PROVIDERS.has(provider) ? '' : provider,
    model,
    cacheCreationTokens: readNumber(attributes, NAMES.cacheCreationTokens) ?? 0,
    cacheCreation1hTokens: readNumber(attributes, NAMES.cacheCreation1hTokens) ?? 0,
  }
}

function costOf(attributes: AttributeSource): number {
  const total = readAmount(attributes, NAMES.costUsd)
  return total ?? readSum(attributes, NAMES.costPartsUsd)
}

function hasDetail(category: SpanCategory, events: readonly SpanEvent[], status: { code: number }): boolean {
  return (
    status.code === 2 ||
    events.length > 0 ||
    category === 'gate' ||
    category === 'compact' ||
    category === 'human'
  )
}

function detailOf(
  category: SpanCategory,
  attributes: AttributeSource,
  events: readonly SpanEvent[],
  status: { code: number; message: string },
): DigestDetail | undefined {
  const detail: DigestDetail = {}
  const gates = events
    .filter((event) => event.name === GATE_EVENT)
    .map((event) => gateOf(event.attributes, event.timeUs))
  if (category === 'gate' && readText(attributes, NAMES.gateDecision)) gates.push(gateOf(attributes, 0))
  if (gates.length > 0) detail.gates = gates
  if (category === 'compact') {
    detail.compaction = {
      tokensBefore: readNumber(attributes, NAMES.tokensBefore),
      tokensAfter: readNumber(attributes, NAMES.tokensAfter),
      messagesBefore: readNumber(attributes, NAMES.messagesBefore),
      messagesAfter: readNumber(attributes, NAMES.messagesAfter),
    }
  }
  if (category === 'human') {
    detail.human = {
      action: readText(attributes, NAMES.humanAction) || undefined,
      approver: readText(attributes, NAMES.humanApprover) || undefined,
      channel: readText(attributes, NAMES.humanChannel) || undefined,
      identity: readText(attributes, NAMES.humanIdentity) || undefined,
      waitedMs: readNumber(attributes, NAMES.humanWaitedMs),
      reason: oneLine(readText(attributes, NAMES.humanReason), REASON_CHARS) || undefined,
    }
  }
  if (status.code === 2)
    detail.errorText = errorTextOf(category, attributes, status.message || thrown(events))
  return Object.keys(detail).length > 0 ? detail : undefined
}

/** What our tracing says of a tool that gave its failure as a result: the result says what went wrong. */
const TOLD_BY_RESULT = 'the tool reported a failure'

function errorTextOf(category: SpanCategory, attributes: AttributeSource, message: string): string {
  const type = readText(attributes, NAMES.errorType)
  // Some say no more than which kind of error it was.
  const isTold = message !== '' && message !== TOLD_BY_RESULT && message !== type
  const result = category === 'tool' && !isTold ? said(readText(attributes, NAMES.toolResult)) : ''
  return oneLine(result || message || type)
}

/** What a status that says nothing leaves to the event. */
function thrown(events: readonly SpanEvent[]): string {
  const event = events.findLast(({ name }) => name === EXCEPTION_EVENT)
  return event === undefined ? '' : readText(event.attributes, NAMES.exceptionMessage)
}

/** The words of a result of which perhaps only the beginning is here: a text, or the first text of an object. */
function said(result: string): string {
  const quoted = /^\s*(?:\{\s*"(?:content|error|message)"\s*:\s*)?"((?:[^"\\]|\\.)*)/.exec(result)?.[1]
  if (quoted === undefined) return result
  try {
    return JSON.parse(`"${quoted}"`) as string
  } catch {
    return result
  }
}

function gateOf(attributes: AttributeSource, timeUs: number): GateDecision {
  return {
    timeUs,
    id: readText(attributes, NAMES.gateId),
    decision: readText(attributes, NAMES.gateDecision),
    enforced: readBoolean(attributes, NAMES.gateEnforced) ?? true,
    code: readText(attributes, NAMES.gateCode) || undefined,
    reason: oneLine(readText(attributes, NAMES.gateReason), REASON_CHARS) || undefined,
    durationMs: readNumber(attributes, NAMES.gateDurationMs),
  }
}

/** Short, on one line, cut between code points. */
export function oneLine(text: string, maxChars = PREVIEW_CHARS): string {
  const start = text.slice(0, maxChars * 4)
  // Most of what is read is on one line: to look is quicker than to replace.
  const flat = (NOT_ONE_LINE.test(start) ? start.replace(/\s+/g, ' ') : start).trim()
  return flat.length <= maxChars ? flat : `${flat.slice(0, maxChars - 1).replace(/[\uD800-\uDBFF]$/, '')}…`
}
