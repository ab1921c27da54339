import type { LlmRequest, LlmResponse } from '../../hooks/index.ts'
import { a, assertFields, type Fields, required } from '../../internal/expect.ts'
import type { LlmReading } from '../../wire/reading.ts'

/** A model call that a runtime is about to make. */
export interface LlmCallInit<R = unknown> {
  model: string
  /** An OpenTelemetry GenAI provider name: `openai`, `anthropic`, `gcp.gemini`, ... @default 'openai' */
  provider?: string
  /** As it is sent: messages or input, tools, sampling. */
  request: LlmRequest
  serverAddress?: string
  serverPort?: number
  /** What the conventions call it: `embeddings`, `text_completion`, `generate_content`, ... @default 'chat' */
  operationName?: string
  /** Understands the reply where its shape is not one of those known (see `src/wire`: OpenAI, Anthropic, Google, the AI SDK). */
  read?: (reply: R) => LlmReading
  /**
   * Makes a reply out of a message that a gate put in the model's place. Without it such a gate's answer throws. Where the gate
   * changed a reply that the model gave, `given` is that one: what was left alone in it is to stay.
   */
  standIn?: (message: LlmResponse, given?: unknown) => R
  /**
   * The same for a streamed reply that a gate decides on: its chunks. With it the caller gets the stream at once, and its
   * first read waits for the gate, and rejects where the stream fails. Without it the call itself waits for both. `given` is the
   * reply that the stream was of, whole.
   */
  standInChunks?: (message: LlmResponse, given?: unknown) => Iterable<unknown> | AsyncIterable<unknown>
}

/** What an SDK said is passed on as it is; what the runtime's author writes is held to its shape. */
const FIELDS: Fields<LlmCallInit> = {
  model: required(a.name),
  operationName: a.value,
  provider: a.value,
  request: a.object,
  serverAddress: a.value,
  serverPort: a.value,
  read: a.function,
  standIn: a.function,
  standInChunks: a.function,
}

/**
 * A switch, and not a look into the table, which would cost each call some 30 nanoseconds. A field that is in neither does
 * not compile.
 */
function isFine(name: keyof LlmCallInit, value: unknown): boolean {
  switch (name) {
    case 'model':
    case 'operationName':
    case 'provider':
    case 'serverAddress':
    case 'serverPort':
      return true
    case 'request':
    case 'read':
    case 'standIn':
    case 'standInChunks':
      return value === undefined || FIELDS[name].fits(value)
    default:
      name satisfies never
      return false
  }
}

/** @throws HookspanError `INVALID_CALL` for a key that there is not, and for a value that is not what it has to be. */
export function assertLlmCallKeys<R>(init: LlmCallInit<R>): void {
  for (const key in init) {
    const name = key as keyof LlmCallInit
    if (!isFine(name, init[name])) assertFields<LlmCallInit>(init, FIELDS, 'a model call', 'INVALID_CALL')
  }
}

/** What the function that asks the model gets beside the request. */
export interface LlmRunContext {
  readonly signal: AbortSignal | undefined
  readonly traceparent: string | undefined
  /** Whether a gate decides on the reply: until it has, nobody may be shown anything of it. */
  readonly gated: boolean
}

export type LlmFunction<R> = (request: LlmRequest, context: LlmRunContext) => R | PromiseLike<R>
