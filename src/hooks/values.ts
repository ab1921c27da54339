/** Where a tool runs. `provider`: inside the model provider, where nothing of ours can decide on it. */
export type ToolSource = 'local' | 'mcp' | 'http' | 'agent' | 'provider'

/** Why an operation ended. */
export type CompletionReason = (typeof COMPLETION_REASONS)[number]

export const COMPLETION_REASONS = [
  'done',
  'error',
  'interrupted',
  'max_steps',
  'cost_limit',
  'denied',
] as const

/** How one tool call ended. */
export type ToolCallOutcome = 'completed' | 'mocked' | 'skipped' | 'errored' | 'denied' | 'rejected'

/** What a human, or the lack of one, decided. */
export type HumanAction = (typeof HUMAN_ACTIONS)[number]

export const HUMAN_ACTIONS = ['approve', 'edit', 'reject', 'rejectAndContinue', 'timeout'] as const

/**
 * What asking a human came to: a yes, a yes to other arguments, a no, no answer in time, or a failure to ask. What a
 * gate refuses by itself is none of these.
 */
export type ApprovalOutcome = 'approved' | 'edited' | 'rejected' | 'timed_out' | 'failed'

/** How far it is known who answered: by something that only they have, as a token of their own, or because it was said. */
export type AnswerIdentity = (typeof ANSWER_IDENTITIES)[number]

export const ANSWER_IDENTITIES = ['proved', 'claimed'] as const

/** Why a human intervention ended the run. */
export type StopReason = 'rejected' | 'timeout'

/** Tokens of one model call, or their sum. Cached input is part of the input, reasoning part of the output. */
export interface TokenUsage {
  readonly inputTokens: number
  readonly outputTokens: number
  readonly cachedInputTokens?: number
  /** Part of the input that the provider wrote to its cache. */
  readonly cacheCreationInputTokens?: number
  /** Part of what was written there: what is kept for an hour, which costs more than five minutes. */
  readonly cacheCreation1hInputTokens?: number
  readonly reasoningTokens?: number
}

/** Where in a run a gate may decide. */
export const GATE_POINTS = [
  'onStart',
  'beforeLlmCall',
  'afterLlmCall',
  'beforeToolCall',
  'afterToolCall',
  'beforeCallAgent',
  'beforeCompact',
  'afterStep',
  'beforeComplete',
] as const

export type GatePoint = (typeof GATE_POINTS)[number]

/** One gate's decision, as it is told to hooks, recorded in traces and published on the diagnostics channel. */
export interface GateRecord {
  readonly gateId: string
  readonly point: GatePoint
  readonly decision: 'proceed' | 'mutate' | 'skip' | 'deny' | 'require_approval'
  /** False for a shadow gate and for a failure that was let through. */
  readonly enforced: boolean
  readonly code?: string
  readonly reason?: string
  readonly durationMs: number
  /** Names of the top-level keys a `mutate` changed; never their values. */
  readonly changedKeys?: readonly string[]
  /** Why the gate failed, when it did. */
  readonly failure?: 'gate_error' | 'gate_timeout' | 'gate_invalid'
  /** Absent for a gate that is a function of this process. */
  readonly runtime?: 'command' | 'http'
}

/** A tool call as the model asked for it. */
export interface ToolCallRequest {
  readonly toolCallId: string
  readonly apiName: string
  /** Parsed arguments, or the model's own text where it was not JSON. */
  readonly args: unknown
  /** The model's own text, only where the JSON of `args` is not that text again. */
  readonly argsText?: string
  readonly identifier?: string
}

/** A tool call that waits for a human. */
export interface PendingTool {
  readonly identifier: string
  readonly apiName: string
  readonly args: unknown
  readonly toolCallId: string
}

/**
 * A model request in the provider's own shape: messages or input, tools, sampling. Left as it was sent, so that
 * nothing a provider adds is lost.
 */
export type LlmRequest = Readonly<Record<string, unknown>>

/** A tool call that the model's provider ran by itself, or a call to it that its reply tells of. */
export interface ProviderToolCall {
  /** The provider's id of the call; empty where it has none. */
  readonly toolCallId: string
  /** `web_search`, `code_interpreter`, the name of an MCP server's tool, ... */
  readonly apiName: string
  /** The tool's home: an MCP server's name, else whose tool it is: `openai`, `anthropic`, `google`. */
  readonly identifier: string
  readonly args: unknown
  /** As the provider gave it; absent where the reply does not hold it. */
  readonly result?: unknown
  /** Absent where the reply does not say. */
  readonly success?: boolean
  readonly error?: unknown
}

/** A part of a message in the JSON shape of the OpenTelemetry GenAI conventions: `blob`, `uri`, `file`, `compaction`, ... */
export type MessagePart = { readonly type: string } & Readonly<Record<string, unknown>>

/** What one choice of a reply says. */
export interface LlmMessage {
  readonly content?: string
  readonly reasoning?: string
  readonly toolCalls?: readonly ToolCallRequest[]
  readonly refusal?: string
  /** What the provider ran to come to the reply. */
  readonly providerToolCalls?: readonly ProviderToolCall[]
  /** What is none of the above: images, audio, files, a compacted conversation, what a provider adds. */
  readonly parts?: readonly MessagePart[]
}

/** A model reply, the same for every provider. */
export interface LlmResponse extends LlmMessage {
  readonly id?: string
  /** The model that answered; may differ from the one that was asked. */
  readonly model?: string
  /** One for each choice, in the provider's words; `error` for a choice that was cut off. */
  readonly finishReasons?: readonly string[]
  /** Where the provider keeps conversations: the one that the reply belongs to. */
  readonly conversationId?: string
  /** Further choices, where more than one was asked for. */
  readonly alternatives?: readonly LlmMessage[]
}

/**
 * How a streamed reply ended: whole, its reader stopped before its end, or it stopped by itself before the model said
 * that it was done.
 */
export type StreamEndKind = 'finished' | 'abandoned' | 'cut'

/** What answers a tool call in the tool's place. */
export type ToolMock =
  | {
      /** What the model is told. */
      readonly content: string
      /** False simulates a tool that reports a failure. @default true */
      readonly success?: boolean
      /** What the caller of the tool gets as its result; `content` when absent. */
      readonly data?: unknown
      /** Milliseconds to wait before the call ends. @default 0 */
      readonly delayMs?: number
    }
  | {
      /** What the model is told of a tool that reports a failure. */
      readonly content: string
      readonly success: false
      /** What went wrong. The caller of the tool gets `{ content, success, error }`, unless there is `data`. */
      readonly error: unknown
      readonly data?: unknown
      readonly delayMs?: number
    }
  | {
      /** The tool throws this. A string becomes an `Error`. */
      readonly error: unknown
      readonly delayMs?: number
    }
