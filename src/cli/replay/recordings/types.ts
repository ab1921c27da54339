import type { TokenUsage } from '../../../hooks/index.ts'

export type RecordingFormat =
  | 'openai-chat'
  | 'tau-bench'
  | 'tau2-bench'
  | 'swe-agent'
  | 'who-and-when'
  | 'langsmith'
  | 'langfuse'
  | 'phoenix'

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
  /** The agent that the recording names, if it does. */
  agentName?: string
  /** Everything that was said, in order. */
  items: RecordedItem[]
  /** Every tool call, in order; `call.index` is the position here. Ids repeat in some runs, positions do not. */
  calls: RecordedCall[]
  outcome: RecordedOutcome
  /** What the recording does not hold, or what of it is not replayed: sentences for a person. */
  notes?: readonly string[]
}

export interface RecordedOutcome {
  reward?: number
  terminationReason?: string
  /** Why the run failed, where the recording says that it did. */
  error?: string
  /** Where a person found what went wrong. */
  mistake?: { agent?: string; step?: string; reason?: string }
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
  | RecordedCodeCalls
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

export type RecordedUsage = Omit<TokenUsage, 'cacheCreationInputTokens' | 'cacheCreation1hInputTokens'>

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
  /** Who said it, where it was another agent or a program. */
  name?: string
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
  /** Whose answer it is, where several agents talk. */
  name?: string
  /** The model that was asked for, where the recording says so of each answer. */
  requestModel?: string
  /** The model that answered, where the recording says so. */
  responseModel?: string
  /** The chat messages that it was sent, where the recording says so of each answer. @default what was said before */
  sent?: readonly object[]
  /** Why there was no answer. */
  error?: string
  calls: RecordedCall[]
  origin: RecordedOrigin
}

/** Tools that the agent's code ran without a call in the model's answer: it read the text, or follows a plan of its own. */
export interface RecordedCodeCalls extends Timed {
  kind: 'code'
  calls: RecordedCall[]
  /** There is no text. */
  content: null
  origin: RecordedOrigin
}

/** Whose call it is: the model's, the user's own, or the agent's code's. */
export type CallMakerName = 'assistant' | 'user' | 'code'

export interface RecordedCall {
  /** Position among all calls of the run, from 0: the call's only name that is sure to be unique. */
  index: number
  id: string
  name: string
  /** What the model wrote, byte for byte where the recording has it. */
  argumentsText: string
  /** The parsed text; undefined when it is not JSON. */
  args: unknown
  madeBy: CallMakerName
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
  madeBy: CallMakerName
  /** Verbatim. */
  content: string
  /** The recording says that there was a result, and not which: the content is none of its. */
  invented?: true
  /**
   * tau2-bench and traces say so in a flag; in tau-bench the text starts with exactly "Error", in Who&When with the
   * exit code. OpenAI chat messages and SWE-agent do not say, so there it is always false.
   */
  isError: boolean
  origin: RecordedOrigin
}
