import type { ToolSource } from '../../hooks/index.ts'
import { a, assertFields, type Fields, required } from '../../internal/expect.ts'

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
   * is made again by the run that goes on, where it says so, too. Else that run is told `execution_unknown`. @default false
   */
  idempotent?: boolean
  /**
   * True when whoever runs the tool says which tools an abort of the run still lets begin, and waits for those at work: then
   * the call ends with its tool, and not with the abort. Gates and humans are not waited for after one, as in any call.
   * @default false
   */
  outlastsAbort?: boolean
  /** False when this call cannot wait for a human across processes, though other calls of the runtime can. @default true */
  parkable?: boolean
  /** False when nothing can stand in for this call, though for others: one that a mock or a gate answers for is refused, and does not run. @default true */
  mockable?: boolean
  /**
   * True when the runtime itself asks a human about this call before it runs it, in a run that it parks: gates decide, and
   * again once the run goes on; hooks are told, and mocks asked, then alone. @default false
   */
  asksFirst?: boolean
  /**
   * Whom the runtime itself asked has refused the call, and the model is told so: gates and mocks are not asked, hooks are told.
   * `code` is `rejected` where it is left out.
   */
  refused?: ToolCallRefused
  /**
   * The runtime itself has told the model that the call failed, and why, before any tool could run, as of one that there is not: gates
   * and mocks are not asked, hooks are told.
   */
  failed?: ToolCallFailed
  /**
   * Whom the runtime itself asks about the call in this process, once gates let it through with these arguments, and before hooks are
   * told and mocks asked. Gives why the call is refused, or other arguments for it, where there are.
   */
  permit?(args: A): PromiseLike<ToolCallRefused | { readonly args: A } | undefined>
  /** Told each value that a tool written as an async generator yields. */
  onProgress?: (value: unknown) => void
}

export interface ToolCallRefused {
  readonly kind: 'deny' | 'reject'
  readonly code?: string
  readonly reason: string
}

export interface ToolCallFailed {
  readonly error: unknown
}

const SOURCES: readonly ToolSource[] = ['local', 'mcp', 'http', 'agent', 'provider']

/** What a model or an SDK said is passed on as it is; what the runtime's author writes is held to its shape. */
const FIELDS: Fields<ToolCallInit> = {
  toolCallId: a.value,
  identifier: a.value,
  apiName: required(a.name),
  args: a.value,
  source: a.oneOf(...SOURCES),
  description: a.value,
  inputSchema: a.value,
  outputSchema: a.value,
  idempotent: a.boolean,
  outlastsAbort: a.boolean,
  parkable: a.boolean,
  mockable: a.boolean,
  asksFirst: a.boolean,
  refused: a.object,
  failed: a.object,
  permit: a.function,
  onProgress: a.function,
}

/**
 * A switch, and not a look into the table, which would cost each call some 30 nanoseconds. A field that is in neither does
 * not compile.
 */
function isFine(name: keyof ToolCallInit, value: unknown): boolean {
  switch (name) {
    case 'toolCallId':
    case 'identifier':
    case 'apiName':
    case 'args':
    case 'description':
    case 'inputSchema':
    case 'outputSchema':
      return true
    case 'source':
    case 'idempotent':
    case 'outlastsAbort':
    case 'parkable':
    case 'mockable':
    case 'asksFirst':
    case 'refused':
    case 'failed':
    case 'permit':
    case 'onProgress':
      return value === undefined || FIELDS[name].fits(value)
    default:
      name satisfies never
      return false
  }
}

const REFUSED: Fields<ToolCallRefused> = {
  kind: required(a.oneOf('deny', 'reject')),
  code: a.name,
  reason: required(a.string),
}

const FAILED: Fields<ToolCallFailed> = { error: required(a.value) }

/** @throws HookspanError `INVALID_CALL` for what does not say why a call is refused. */
export function assertRefused(refused: unknown): asserts refused is ToolCallRefused {
  assertFields<ToolCallRefused>(
    refused as ToolCallRefused,
    REFUSED,
    'what refuses a tool call',
    'INVALID_CALL',
  )
}

/** @throws HookspanError `INVALID_CALL` for a key that there is not, and for a value that is not what it has to be. */
export function assertToolCallKeys(init: ToolCallInit): void {
  for (const key in init) {
    const name = key as keyof ToolCallInit
    if (!isFine(name, init[name])) assertFields<ToolCallInit>(init, FIELDS, 'a tool call', 'INVALID_CALL')
  }
  if (init.refused !== undefined) assertRefused(init.refused)
  if (init.failed !== undefined)
    assertFields<ToolCallFailed>(init.failed, FAILED, 'what failed of a tool call', 'INVALID_CALL')
}

/** What the tool's function gets beside its arguments. */
export interface ToolRunContext {
  /** Aborted when the run is aborted. */
  readonly signal: AbortSignal
  readonly toolCallId: string
  /**
   * The operation's id and the call's key in it: the same when the call is made again after its process died, and no other
   * call's. To hand to a service that does nothing twice for one key.
   */
  readonly idempotencyKey: string
  /** W3C trace context of the call, to pass on to another process. */
  readonly traceparent: string | undefined
}

/** Of one call in one operation; see {@link ToolRunContext}. */
export function idempotencyKeyOf(operationId: string, callKey: string): string {
  return `${operationId}:${callKey}`
}

export type ToolFunction<A, R> = (
  args: A,
  context: ToolRunContext,
) => R | PromiseLike<R> | AsyncGenerator<unknown, R>
