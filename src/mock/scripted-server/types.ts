import type { FormatName } from '../../wire/formats.ts'

/** One answer of the model, in a form that a reply of any API can be made from. */
export interface ScriptedStep {
  /** Sent as it is. Left out, the answer has no text (`null` on the wire), which is not the same as `''`. */
  content?: string | null
  /** Sent as `reasoning_content` by chat completions, as a summary by the responses API, as thoughts by the others. */
  reasoning?: string
  toolCalls?: readonly ScriptedToolCall[]
  /** Left out, the answer reports no usage at all, as some compatible servers do. */
  usage?: ScriptedUsage
  /** In the words of chat completions. @default 'tool_calls' with tool calls, else 'stop' */
  finishReason?: string
  /** @default the model that was asked for */
  model?: string
  /** Id of the answer. @default one that names the request's position */
  id?: string
  /** Answers with this error instead of a message. */
  error?: ScriptedError
  /** Answers with these bytes instead of a message: a recorded reply. */
  raw?: ScriptedReply
  /**
   * Breaks the connection after so many server-sent events, counting from 1; `0` breaks it before the first.
   * An answer that is not streamed is broken in the middle of its body, whatever the number.
   */
  cutAfterChunks?: number
  /** How long until the answer starts, in milliseconds. @default `latencyMs` of the whole script */
  latencyMs?: number
  /** How long between two events of a streamed answer, in milliseconds. @default 0 */
  chunkDelayMs?: number
  /**
   * How a stream mixes the arguments of parallel tool calls. OpenAI sends one call after the other; some
   * compatible servers take turns, telling them apart by `index` only.
   *
   * @default 'sequential'
   */
  toolCallOrder?: 'sequential' | 'interleaved'
}

export interface ScriptedToolCall {
  /** @default one that names the request's and the call's position */
  id?: string
  name: string
  /** A string is sent as it is, also when it is not JSON; anything else as its JSON. @default '{}' */
  arguments?: unknown
}

/** Counts of tokens. Cached tokens are part of the input, reasoning tokens part of the output. */
export interface ScriptedUsage {
  inputTokens: number
  outputTokens: number
  cachedInputTokens?: number
  cacheCreationInputTokens?: number
  /** Of these, what Anthropic keeps for an hour; no other API tells it. */
  cacheCreation1hInputTokens?: number
  reasoningTokens?: number
}

/** A reply as it was recorded, sent as it is. */
export interface ScriptedReply {
  /** Server-sent events are sent one by one, so that they can be delayed and cut. */
  body: string
  /** @default 200 */
  status?: number
  /** @default 'application/json' */
  contentType?: string
}

export interface ScriptedError {
  /** From 400 to 599. */
  status: number
  message: string
  code?: string
  /** @default the type OpenAI gives for the status */
  type?: string
  /** Sent as `retry-after-ms` and, in whole seconds, as `retry-after`. */
  retryAfterMs?: number
}

/** What the server received. */
export interface ScriptedRequest {
  /** Position among all requests of the script, from 0. */
  readonly index: number
  /** Undefined when the request is for none of the routes. */
  readonly api: FormatName | undefined
  readonly method: string
  readonly path: string
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  /** The parsed body; `{}` when it is not a JSON object. */
  readonly body: Readonly<Record<string, unknown>>
  /** The body byte for byte. */
  readonly bodyText: string
  readonly stream: boolean
  /** `messages`, `input` of the responses API, `contents` of Google's, as a list. */
  readonly messages: readonly unknown[]
}

export interface RespondInfo {
  /** Requests answered by a step so far, this one not counted. */
  answered: number
  /** Aborted when the client goes away. */
  signal: AbortSignal
}

/**
 * Picks the answer by the request, for several conversations at once.
 * `undefined` means the request is not expected.
 */
export type Respond = (
  request: ScriptedRequest,
  info: RespondInfo,
) => ScriptedStep | undefined | Promise<ScriptedStep | undefined>

export interface ScriptOptions {
  /** Answers, in the order in which requests arrive. Either this or `respond`. */
  steps?: readonly ScriptedStep[]
  respond?: Respond
  /** How long until each answer starts, in milliseconds, unless its step says otherwise. @default 0 */
  latencyMs?: number
  /** Keep every request in `requests`. Turn it off for benchmarks that run long. @default true */
  recordRequests?: boolean
}

/** What can be asked of a script while and after it runs. */
export interface ScriptReport {
  readonly requests: readonly ScriptedRequest[]
  /** Why requests were refused, in order. */
  readonly unexpected: readonly string[]
  /** Steps not used yet; always 0 with `respond`. */
  readonly remaining: number
  /** @throws ScriptError when a request was unexpected or a step is unused, naming each. */
  assertDone(): void
}
