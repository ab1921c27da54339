/** What is used of LangChain, by its shape: nothing of it is imported before it runs. */

export interface LcMessage {
  readonly id?: string
  readonly content: unknown
  readonly text?: unknown
  readonly name?: string
  readonly tool_calls?: readonly LcToolCall[]
  readonly tool_call_id?: string
  readonly status?: string
  readonly artifact?: unknown
  readonly invalid_tool_calls?: readonly LcInvalidCall[]
  readonly usage_metadata?: Readonly<Record<string, unknown>>
  readonly response_metadata?: Readonly<Record<string, unknown>>
  readonly additional_kwargs?: Readonly<Record<string, unknown>>
  getType?(): string
}

export interface LcToolCall {
  readonly id?: string
  readonly name: string
  readonly args: unknown
}

/** A call whose arguments LangChain could not read, with what the model wrote. */
export interface LcInvalidCall {
  readonly id?: string | undefined
  readonly name?: string | undefined
  readonly args?: string | undefined
  readonly error?: string | undefined
}

export interface LcTool {
  readonly name?: string
  readonly type?: string
  readonly description?: unknown
  readonly schema?: unknown
  readonly metadata?: unknown
  readonly responseFormat?: unknown
  readonly invoke?: unknown
}

export interface LcState {
  readonly messages?: readonly LcMessage[]
}

/** What hooks are given of the run. `writer` is made anew for each run of a graph, and is the same in all of it and in graphs inside. */
export interface LcRuntime {
  readonly writer?: object
  readonly signal?: AbortSignal
  readonly interrupt?: (value: unknown) => unknown
  readonly configurable?: Readonly<Record<string, unknown>>
}

export interface LcModelRequest {
  readonly model?: unknown
  readonly messages: readonly LcMessage[]
  readonly systemMessage?: LcMessage
  /** The same as text. Only one of the two may be changed. */
  readonly systemPrompt?: string
  readonly tools?: readonly LcTool[]
  readonly modelSettings?: Readonly<Record<string, unknown>>
  readonly toolChoice?: unknown
  readonly state: LcState
  readonly runtime: LcRuntime
}

export interface LcToolRequest {
  readonly toolCall: LcToolCall
  readonly tool?: LcTool
  readonly state: LcState
  readonly runtime: LcRuntime
}

export type LcHandler<R> = (request: R) => PromiseLike<unknown> | unknown

/** The classes that results are made of. */
export interface LcMessages {
  readonly AIMessage: new (fields: object) => LcMessage
  readonly ToolMessage: new (fields: object) => LcMessage
}

/** The user's agent has it: it runs in it. */
/** Kept, because to ask for a module that is loaded costs more than a span. */
let messages: Promise<LcMessages> | undefined
let toJsonSchema: Promise<LcToJsonSchema> | undefined

export function loadMessages(): Promise<LcMessages> {
  messages ??= import('@langchain/core/messages') as Promise<unknown> as Promise<LcMessages>
  return messages
}

/** What LangChain makes of a tool's schema for the model, whatever it was written with. */
export type LcToJsonSchema = (schema: unknown) => unknown

export function loadToJsonSchema(): Promise<LcToJsonSchema> {
  toJsonSchema ??= import('@langchain/core/utils/json_schema').then(
    (schemas) => schemas.toJsonSchema as LcToJsonSchema,
  )
  return toJsonSchema
}

export function isToolMessage(message: unknown): message is LcMessage & { readonly tool_call_id: string } {
  return typeof (message as LcMessage | undefined)?.tool_call_id === 'string'
}
