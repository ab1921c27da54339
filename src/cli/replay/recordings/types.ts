export type RecordingFormat = 'openai-chat' | 'tau-bench' | 'tau2-bench'

/** One recorded conversation, whatever format it came in. Plain data; nothing of the recording is lost. */
export interface RecordedRun {
  /** The recording's own name of the run, or one made of its position. */
  id: string
  /** The file it came from, as it was named. */
  source: string
  format: RecordingFormat
  /** Position among the runs of its file, from 0. */
  index: number
  /** What the model was told first: the first system message, or tau2-bench's policy, which is no message. */
  systemPrompt?: string
  /** Text of the first user message. Some runs have none: the agent starts and works alone. */
  userPrompt?: string
  /** The model that the recording names, if it does. */
  model?: string
  /** Everything that was said, in order. */
  items: RecordedItem[]
  /** Every tool call, in order; `call.index` is the position here. Ids repeat in some runs, positions do not. */
  calls: RecordedCall[]
  outcome: RecordedOutcome
}

export interface RecordedOutcome {
  reward?: number
  terminationReason?: string
  startedAtMs?: number
  endedAtMs?: number
  durationMs?: number
  agentCostUsd?: number
  userCostUsd?: number
}

export type RecordedItem =
  | RecordedSystemMessage
  | RecordedUserMessage
  | RecordedAssistantTurn
  | RecordedToolResult

/** What is needed to write a message as it was, beside the fields that have a meaning here. */
export interface RecordedOrigin {
  /** The keys the message had, in its order. */
  keys: readonly string[]
  /** Fields without a meaning here, and those whose recorded form says more than ours. */
  extra: Readonly<Record<string, unknown>>
}

interface Timed {
  /** As recorded, to the digit. */
  timestamp?: string
  /** The same in milliseconds since the epoch; a time without a zone counts as UTC. */
  timestampMs?: number
}

interface Counted {
  usage?: RecordedUsage
  costUsd?: number
}

export interface RecordedUsage {
  inputTokens: number
  outputTokens: number
  cachedInputTokens?: number
  reasoningTokens?: number
}

export interface RecordedSystemMessage {
  kind: 'system'
  role: 'system' | 'developer'
  content: string
  origin: RecordedOrigin
}

/** `calls` are tools that the user operated: no model of the agent asked for them. */
export interface RecordedUserMessage extends Timed, Counted {
  kind: 'user'
  /** Null when the message only carries calls. Parts that are no text are in `origin` only. */
  content: string | null
  calls: RecordedCall[]
  origin: RecordedOrigin
}

/** One answer of the agent's model. */
export interface RecordedAssistantTurn extends Timed, Counted {
  kind: 'assistant'
  /** Verbatim; null and '' are told apart. */
  content: string | null
  reasoning?: string
  finishReason?: string
  calls: RecordedCall[]
  origin: RecordedOrigin
}

export interface RecordedCall {
  /** Position among all calls of the run, from 0: the call's only name that is sure to be unique. */
  index: number
  id: string
  name: string
  /** What the model wrote, byte for byte where the recording has it. */
  argumentsText: string
  /** The parsed text; undefined when it is not JSON. */
  args: unknown
  madeBy: 'assistant' | 'user'
  /** Position in `run.items` of the result; undefined when the recording ends before it. */
  resultItem?: number
  origin: RecordedOrigin
}

export interface RecordedToolResult extends Timed {
  kind: 'toolResult'
  /** Which call it answers: the position in `run.calls`. */
  callIndex: number
  toolCallId: string
  /** Name of the tool. */
  name: string
  madeBy: 'assistant' | 'user'
  /** Verbatim. */
  content: string
  /**
   * tau2-bench says so in a flag; in tau-bench the text starts with exactly "Error". OpenAI chat messages do
   * not say, so there it is always false.
   */
  isError: boolean
  origin: RecordedOrigin
}
