/** The shapes the viewer works with. Pure types: the page and the server share them. */

export type AttributeValue =
  | string
  | number
  | boolean
  | null
  | AttributeValue[]
  | { [key: string]: AttributeValue }
export type Attributes = Record<string, AttributeValue>

/** What a span stands for in an agent's run; each has its own icon, colour and row in the page. */
export type SpanCategory =
  | 'agent'
  | 'step'
  | 'llm'
  | 'tool'
  | 'human'
  | 'compact'
  | 'gate'
  | 'retrieval'
  | 'embedding'
  | 'chain'
  | 'other'
  | 'missing'

export interface SpanEvent {
  name: string
  timeUs: number
  attributes: Attributes
}

export interface SpanLink {
  traceId: string
  spanId: string
  attributes: Attributes
}

/** A whole span, attributes turned into plain values. */
export interface SpanRecord {
  traceId: string
  spanId: string
  /** Empty for a root. */
  parentSpanId: string
  name: string
  /** OTLP number: 0 unspecified, 1 internal, 2 server, 3 client, 4 producer, 5 consumer. */
  kind: number
  startUs: number
  /** 0 while the span runs. */
  endUs: number
  status: { code: 0 | 1 | 2; message: string }
  attributes: Attributes
  events: SpanEvent[]
  links: SpanLink[]
  resource: Attributes
  scope: { name: string; version: string }
}

export interface GateDecision {
  id: string
  /** When it was decided. */
  timeUs: number
  decision: string
  enforced: boolean
  code?: string
  /** As the gate says it, on one line. */
  reason?: string
  durationMs?: number
}

export interface CompactionFacts {
  tokensBefore?: number
  tokensAfter?: number
  messagesBefore?: number
  messagesAfter?: number
}

export interface HumanFacts {
  action?: string
  approver?: string
  /** By what way the answer came, and whether it is known who gave it: `page`, `claimed`. */
  channel?: string
  identity?: string
  waitedMs?: number
  /** Why it was rejected. */
  reason?: string
}

/** What one row of a run needs, without the content; cheap to send ten thousand of. */
export interface SpanRow {
  spanId: string
  parentSpanId: string
  name: string
  category: SpanCategory
  startUs: number
  /** 0 while the span runs. */
  endUs: number
  state: 'running' | 'ended' | 'interrupted'
  /** Of an interrupted span in a tree: when something in it was last heard of. */
  lastSeenUs?: number
  error: boolean
  /** The model, tool, agent or gate the span is about. */
  label: string
  service: string
  inputTokens: number
  outputTokens: number
  cachedTokens: number
  reasoningTokens: number
  costUsd: number
  /** The cost is not the trace's: it was made from tokens and a table of prices. */
  costEstimated: boolean
  /** `completed`, `mocked`, `skipped`, `errored`, `denied`, `rejected`, or empty. */
  outcome: string
  mocked: boolean
  /** Tool call id, to pair a call with what the model asked for. */
  callId: string
  /** One line of what went in: tool arguments, mostly. */
  preview: string
  errorText: string
  gates?: GateDecision[]
  compaction?: CompactionFacts
  human?: HumanFacts
}

export const RUN_STATUSES = [
  'ok',
  'with_errors',
  'failed',
  'denied',
  'interrupted',
  'waiting',
  'running',
] as const

/**
 * How a run stands: `failed` and `denied` are what it ended with, `interrupted` was stopped or died, `with_errors` came to
 * its end though something in it failed, `ok` came to its end.
 */
export type RunStatus = (typeof RUN_STATUSES)[number]

/** What people are asked in a run, as the approval store tells. */
export interface AskedInRun {
  /** Questions that nobody has answered yet. */
  readonly open: number
  readonly agentName?: string | undefined
}

export interface RunSummary {
  traceId: string
  title: string
  agent: string
  service: string
  model: string
  conversationId: string
  status: RunStatus
  /** Why the run ended, when its tracing says so. */
  reason: string
  inputPreview: string
  /** What the run said last: the answer, or as far as it came. */
  answerPreview: string
  startUs: number
  endUs: number
  durationMs: number
  spans: number
  steps: number
  llmCalls: number
  toolCalls: number
  mockedCalls: number
  errors: number
  waiting: number
  inputTokens: number
  outputTokens: number
  cachedTokens: number
  costUsd: number
  /** What of `costUsd` is not the trace's, but made from tokens and a table of prices. */
  estimatedUsd: number
  agents: string[]
  tools: string[]
  models: string[]
  /** What a person says of it: empty until one does. */
  mark: Mark
  note: string
  labels: string[]
}

export const MARKS = ['', 'good', 'bad'] as const
export type Mark = (typeof MARKS)[number]

/** What a person says of a run. What is left out stays as it was. */
export type Marking = Partial<Pick<RunSummary, 'mark' | 'note' | 'labels'>>
