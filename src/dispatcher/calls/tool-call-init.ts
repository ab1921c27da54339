import type { ToolSource } from '../../hooks/index.ts'

/** A tool call that a runtime is about to make. */
export interface ToolCallInit<A = unknown> {
  /** The model's id of the call; made up when absent. May repeat: calls are told apart by the dispatcher. */
  toolCallId?: string
  /** The tool's home: `local`, the name of an MCP server, a plugin's id. @default 'local' */
  identifier?: string
  /** The function's name. */
  apiName: string
  args: A
  /** @default 'local' */
  source?: ToolSource
  /** Shown in traces. */
  description?: string
  /** JSON Schema, or a Standard Schema (zod, valibot, ...), of the arguments. Mocked calls are held to it. */
  inputSchema?: unknown
  /** The same for the result. */
  outputSchema?: unknown
  /**
   * True when the tool may be run twice for one call without harm: then a call that was at work when its process died
   * is made again by the run that goes on. Else that run is told `execution_unknown`. @default false
   */
  idempotent?: boolean
  /** Told each value that a tool written as an async generator yields. */
  onProgress?: (value: unknown) => void
}

/** What the tool's function gets beside its arguments. */
export interface ToolRunContext {
  /** Aborted when the run is aborted. */
  readonly signal: AbortSignal
  readonly toolCallId: string
  /** W3C trace context of the call, to pass on to another process. */
  readonly traceparent: string | undefined
}

export type ToolFunction<A, R> = (
  args: A,
  context: ToolRunContext,
) => R | PromiseLike<R> | AsyncGenerator<unknown, R>
