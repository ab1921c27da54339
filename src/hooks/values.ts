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
export type HumanAction = 'approve' | 'edit' | 'reject' | 'rejectAndContinue' | 'timeout'

/**
 * What asking a human came to: a yes, a yes to other arguments, a no, no answer in time, or a failure to ask. What a
 * gate refuses by itself is none of these.
 */
export type ApprovalOutcome = 'approved' | 'edited' | 'rejected' | 'timed_out' | 'failed'

/** Why a human intervention ended the run. */
export type StopReason = 'rejected' | 'timeout'

/** Tokens of one model call, or their sum. Cached input is part of the input, reasoning part of the output. */
export interface TokenUsage {
  readonly inputTokens: number
  readonly outputTokens: number
  readonly cachedInputTokens?: number
  readonly reasoningTokens?: number
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

/** A model reply, the same for every provider. */
export interface LlmResponse {
  readonly id?: string
  /** The model that answered; may differ from the one that was asked. */
  readonly model?: string
  readonly finishReasons?: readonly string[]
  readonly content?: string
  readonly reasoning?: string
  readonly toolCalls?: readonly ToolCallRequest[]
  readonly refusal?: string
}

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
      /** The tool throws this. A string becomes an `Error`. */
      readonly error: unknown
      readonly delayMs?: number
    }
