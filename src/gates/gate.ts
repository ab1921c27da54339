import { GATE_POINTS, type GatePoint, type TokenUsage, type ToolSource } from '../hooks/index.ts'
import { describeValue, HookspanError } from '../internal/errors.ts'
import { a, assertFields, expected, type Fields, required, type Shape, shape } from '../internal/expect.ts'
import { GLOB_LIST, GLOBS, mayMeanTool } from '../internal/glob.ts'
import type { Decision } from './decision.ts'

/** Sums over the whole run: every agent of the tree that runs in this process, and what remote ones reported. */
export interface TreeTotals {
  readonly steps: number
  readonly llmCalls: number
  /** The call that is decided on included. */
  readonly toolCalls: number
  readonly inputTokens: number
  readonly outputTokens: number
  /** US dollars; 0 while no call had a known price. */
  readonly costUsd: number
  /** Model calls that used tokens whose price is not known, those included that did not say how many. */
  readonly unpricedCalls: number
  /** The model of the first of them that names one. */
  readonly unpricedModel?: string
  /** Model calls that used tokens, and did not say how many. */
  readonly unmeasuredCalls: number
  /** Milliseconds since the root operation started, time spent parked not included. */
  readonly durationMs: number
}

/** Of a run in which nothing has happened. */
export const NO_TOTALS: TreeTotals = {
  steps: 0,
  llmCalls: 0,
  toolCalls: 0,
  inputTokens: 0,
  outputTokens: 0,
  costUsd: 0,
  unpricedCalls: 0,
  unmeasuredCalls: 0,
  durationMs: 0,
}

/** What a gate is told. It is the gate's own copy: editing it changes nothing. */
export interface GateContext {
  readonly point: GatePoint
  readonly operationId: string
  readonly rootOperationId: string
  readonly parentOperationId?: string
  readonly agentName?: string
  readonly agentId?: string
  readonly userId?: string
  readonly conversationId?: string
  readonly stepIndex?: number
  /** Tool points only: where the tool lives and what it is called. */
  readonly identifier?: string
  /** Tool points only: how it is reached. */
  readonly source?: ToolSource
  readonly apiName?: string
  readonly toolCallId?: string
  /** The dispatcher's own key of the call, unique within the operation and the same after a resume. */
  readonly callKey?: string
  /** `afterToolCall` only: the arguments that were effective. */
  readonly args?: unknown
  /**
   * `afterToolCall` only: what the model is told of the result, where the tool says that in words of its own (`ToolResult`). A
   * `mutate` with a `ToolResult` gives both; with anything else the model is told that.
   */
  readonly content?: string
  /** `afterToolCall` only: false where the tool reports a failure, which no `mutate` takes back but one with a `ToolResult`. */
  readonly success?: boolean
  /** Model points only. */
  readonly model?: string
  readonly provider?: string
  /** `afterLlmCall` only: the tokens of the reply, where the provider tells them. `totals` has them once it is let through. */
  readonly usage?: TokenUsage
  /**
   * By point: tool arguments (`beforeToolCall`), tool result (`afterToolCall`), model request (`beforeLlmCall`),
   * model reply (`afterLlmCall`), instruction (`beforeCallAgent`), counts (`beforeCompact`), the step's summary
   * (`afterStep`), the input (`onStart`), the outcome (`beforeComplete`).
   */
  readonly payload: unknown
  /** W3C trace context of the call that is decided on, to hand to a policy service. */
  readonly traceparent?: string
  readonly totals: TreeTotals
  /**
   * Where a gate keeps what it counts, under a key of its own: one map for the whole run tree. Values that JSON can
   * carry survive a park and resume. Commands and endpoints do not get it.
   */
  readonly state: Map<string, unknown>
  /** Aborted at the gate's timeout and when the run is aborted. */
  readonly signal: AbortSignal
}

export interface Gate {
  /** Unique among the gates of one operation. */
  id: string
  /** Where it decides; a gate with several points is told which in `ctx.point`. */
  point: GatePoint | readonly GatePoint[]
  /** Answering nothing means: proceed. */
  // biome-ignore lint/suspicious/noConfusingVoidType: a function without a return statement is a valid gate
  decide(ctx: GateContext): Decision | undefined | void | Promise<Decision | undefined | void>
  /** Lower decides first; equal priorities in the order of registration. @default 100 */
  priority?: number
  /** Milliseconds the gate may take; past it `onFailure` applies with code `gate_timeout`. @default 5_000 */
  timeoutMs?: number
  /**
   * What a gate that throws, times out or answers nonsense means. Only an explicit `proceed` opens it.
   *
   * @default 'deny'
   */
  onFailure?: 'deny' | 'proceed'
  /** Records what would have been decided and enforces nothing. @default false */
  shadow?: boolean
  /**
   * Tool points and `beforeCallAgent`: globs over the tool's name and over `identifier/name`, of an MCP server's tool over
   * `mcp__identifier__name` and `identifier-name`, too, and over its name at the server where the SDK puts that of the server before it
   * (`identifier_name`); the gate is asked about no other call. Ignored at points that have no name.
   */
  match?: string | readonly string[]
  /**
   * Globs over the tools that `decide` itself looks for, beside `match`. They decide nothing: one that matches none of
   * the tools of a run is reported.
   */
  names?: readonly string[]
  /** Where the gate runs. `command` and `http` get a span of their own. @default 'function' */
  runtime?: 'function' | 'command' | 'http'
  /** Proves that the gate can start and answers; rejects when not. What `hookspan hooks check` runs. */
  check?(options: { signal: AbortSignal }): Promise<void>
}

export const DEFAULT_GATE_TIMEOUT_MS = 5_000
export const DEFAULT_GATE_PRIORITY = 100

const isPoint = (value: unknown) => GATE_POINTS.includes(value as GatePoint)

export const POINTS: Shape = shape(
  `one of ${GATE_POINTS.join(', ')}, or a list of these`,
  (value) => isPoint(value) || (Array.isArray(value) && value.length > 0 && value.every(isPoint)),
)

const FIELDS: Fields<Gate> = {
  id: required(a.name),
  point: a.value,
  decide: required(a.function),
  priority: a.finite,
  timeoutMs: a.milliseconds,
  onFailure: a.oneOf('deny', 'proceed'),
  shadow: a.boolean,
  match: GLOBS,
  names: GLOB_LIST,
  runtime: a.oneOf('function', 'command', 'http'),
  check: a.function,
}

/** @throws HookspanError `INVALID_GATE` naming the value and the mend. */
export function assertGate(gate: unknown): asserts gate is Gate {
  if (typeof gate !== 'object' || gate === null) throw expected('a gate object', gate, 'INVALID_GATE')
  const { id, point } = gate as Record<string, unknown>
  const whose = a.name.fits(id) ? `gate "${id}"` : 'the gate'
  assertFields<Gate>(gate, FIELDS, whose, 'INVALID_GATE')
  const points: readonly unknown[] = Array.isArray(point) && point.length > 0 ? point : [point]
  const stray = points.findIndex((one) => !GATE_POINTS.includes(one as GatePoint))
  if (stray < 0) return
  const message = `Unknown point ${describeValue(points[stray])} in ${whose}. Known points: ${GATE_POINTS.join(', ')}.`
  throw new HookspanError('INVALID_GATE', message)
}

/** @throws HookspanError `INVALID_GATE` for a malformed gate, and for two of one id. */
export function assertGates(gates: unknown): asserts gates is Gate[] {
  if (!Array.isArray(gates)) throw expected('a list of gates', gates, 'INVALID_GATE')
  const ids = new Set<string>()
  for (const gate of gates) {
    assertGate(gate)
    if (ids.has(gate.id)) {
      const message = `Two gates have the id "${gate.id}". Give each gate an id of its own.`
      throw new HookspanError('INVALID_GATE', message)
    }
    ids.add(gate.id)
  }
}

export function decidesAt(gate: Gate, point: GatePoint): boolean {
  return typeof gate.point === 'string' ? gate.point === point : gate.point.includes(point)
}

/** Whether a gate is asked of a command or an endpoint. */
export function runsElsewhere(gate: Gate): gate is Gate & { runtime: 'command' | 'http' } {
  return gate.runtime !== undefined && gate.runtime !== 'function'
}

/** Whether a gate is asked about this call. */
export function concerns(
  gate: Gate,
  call: { identifier?: string; apiName?: string; source?: ToolSource },
): boolean {
  const { apiName, identifier, source } = call
  if (gate.match === undefined || apiName === undefined) return true
  const globs = typeof gate.match === 'string' ? [gate.match] : gate.match
  return globs.some((glob) => mayMeanTool(glob, { apiName, identifier, source }))
}
