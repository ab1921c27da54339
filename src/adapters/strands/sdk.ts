/** What is used of `@strands-agents/sdk`, by its shape: nothing of it is imported. */

import type { Loose } from '../../wire/reading.ts'

/** A block of a message. All classes of blocks say by `toJSON()` what they are. */
export interface StrandsBlock {
  readonly type: string
  readonly text?: string
  readonly name?: string
  readonly toolUseId?: string
  readonly input?: unknown
  readonly status?: 'success' | 'error'
  readonly content?: readonly StrandsBlock[]
  readonly json?: unknown
  readonly error?: unknown
  readonly format?: string
  /** Of media: where they are. */
  readonly source?: {
    readonly bytes?: Uint8Array
    readonly url?: string
    readonly location?: { readonly uri?: string }
    readonly text?: string
    readonly content?: readonly StrandsBlock[]
  }
  toJSON?(): Loose
}

export interface StrandsMessage {
  readonly role: string
  readonly content: readonly StrandsBlock[]
  toJSON(): Loose
}

/** The class of messages, of the agent's own copy of the SDK. */
export interface StrandsMessageClass {
  fromMessageData(data: { readonly role: string; readonly content: readonly object[] }): StrandsMessage
}

export interface StrandsTool {
  readonly name: string
  readonly description?: string
  readonly toolSpec?: { readonly inputSchema?: unknown; readonly outputSchema?: unknown }
  /** The agent that the tool asks, where it is one. */
  readonly agent?: unknown
  /** What asks the server that runs the tool, where there is one. */
  readonly mcpClient?: { readonly serverVersion?: { readonly name?: unknown } }
  stream?(context: ToolContext): AsyncGenerator<StrandsEvent, StrandsBlock>
  /** Gives its value: for code. */
  invoke?(input: unknown, ...more: unknown[]): unknown
}

export interface StrandsModel {
  readonly modelId?: string
  /** Of OpenAI's: `chat` or `responses`. */
  readonly api?: unknown
  getConfig?(): Loose
}

export interface StrandsInterrupt {
  readonly id: string
  readonly reason?: unknown
}

export interface StrandsResult {
  readonly stopReason: string
  readonly lastMessage?: StrandsMessage
  readonly interrupts?: readonly StrandsInterrupt[]
}

export interface StrandsOptions {
  readonly cancelSignal?: AbortSignal
}

export interface ModelContext {
  readonly agent: {
    /** Throws what the SDK itself ends a cancelled agent by. */
    _throwIfCancelled?(): void
  }
  readonly model: StrandsModel
  readonly messages: readonly StrandsMessage[]
  readonly systemPrompt?: unknown
  readonly toolSpecs: readonly Loose[]
  readonly toolChoice?: unknown
}

/** What a model call gives the agent. */
export interface ModelResult {
  readonly message: StrandsMessage
  readonly stopReason: string
  readonly metadata?: { readonly usage?: Readonly<Record<string, number>> }
}

export interface ToolContext {
  readonly agent: { readonly messages: readonly StrandsMessage[] }
  readonly tool?: StrandsTool
  /** It has no id where code asks for the tool's value. */
  readonly toolUse: { readonly name: string; readonly toolUseId?: string; readonly input: unknown }
  /** Stops the agent, by a throw; gives the answer where it was given one. */
  interrupt(asked: { readonly name: string; readonly reason?: unknown }): unknown
}

export type StrandsEvent = Loose

export type Stage<C, R> = (context: C) => AsyncGenerator<StrandsEvent, { readonly result: R }>

/** Where an agent keeps its middleware: all that it does goes through `invoke`. */
export interface StrandsRegistry {
  invoke(
    stage: { readonly name: string },
    context: unknown,
    terminal: Stage<never, unknown>,
  ): AsyncGenerator<StrandsEvent, unknown>
}

export interface StrandsAgent {
  readonly name?: string
  readonly messages: readonly StrandsMessage[]
  readonly systemPrompt?: unknown
  readonly tools: readonly StrandsTool[]
  initialize(): Promise<void>
  stream(args: unknown, options?: StrandsOptions): AsyncGenerator<StrandsEvent, StrandsResult>
  cancel(): void
  takeSnapshot(options: { readonly include: readonly string[] }): { readonly data: Loose }
  readonly _middlewareRegistry: StrandsRegistry
  /** Where it has tools that may run in the background. */
  readonly _backgroundTasks?: object
  /** It runs tools in the background since 1.18 or so. */
  readonly toolExecutor?: {
    executeBackground?(scope: { readonly tracer?: SpanHolder }, ...asked: unknown[]): unknown
  }
  readonly _tracer?: SpanHolder
}

export interface SpanHolder {
  _tracer?: { startSpan?: unknown }
  withSpanContext?: unknown
}

/** By what is built upon. */
export function isStrandsAgent(value: unknown): value is StrandsAgent {
  const agent = value as Partial<StrandsAgent> | null | undefined
  return (
    typeof agent?.stream === 'function' &&
    typeof agent.initialize === 'function' &&
    typeof agent._middlewareRegistry?.invoke === 'function'
  )
}
