import { assertApprover } from '../../gates/approver.ts'
import { assertGates } from '../../gates/gate.ts'
import type { Approver, Gate } from '../../gates/index.ts'
import type { AgentHook } from '../../hooks/index.ts'
import { HookspanError } from '../../internal/errors.ts'
import { a, assertFields, expected, type Fields, required, type Shape, shape } from '../../internal/expect.ts'
import type { OpenQuestions } from '../humans/open-questions.ts'
import type { PriceOf } from '../options.ts'
import type { StandIn } from '../plugins/stand-in.ts'
import type { TracedActivity } from '../plugins/traced-activity.ts'
import { type AdapterInfo, assertAdapter } from './capabilities.ts'
import type { Disabled } from './disabled.ts'
import type { Inside } from './inside.ts'
import type { ParkedOperation } from './parked.ts'
import type { RunTool } from './run-tool.ts'
import type { RunTree } from './run-tree.ts'
import type { SeenTools } from './seen-tools.ts'

/**
 * The caller of a sub-agent, as it is handed to the child's `startOperation({ parent })`. In another process only
 * the plain fields arrive (`JSON.stringify(parent)`): the child then joins the trace through `traceparent`, and
 * brings gates of its own.
 */
export interface ParentOperation {
  readonly operationId: string
  readonly rootOperationId: string
  /** Key of the call, unique in the caller's operation; absent where the caller starts the child outside of `callAgent`. */
  readonly callKey?: string
  /** W3C trace context of the call. */
  readonly traceparent?: string
  /** Agent names from the root to the parent. */
  readonly agentPath: readonly string[]
  readonly userId?: string
  readonly conversationId?: string
}

/** An `Operation` that calls an agent of its own accord, outside of `callAgent`. */
export interface CallingOperation {
  readonly operationId: string
  asParent(): ParentOperation
}

/** What only a parent in the same process carries. */
export interface LiveParent extends ParentOperation {
  readonly live: {
    readonly traced: TracedActivity
    readonly gates: () => readonly Gate[]
    readonly standIns: () => readonly StandIn[]
    readonly disabled: Disabled
    readonly approver: Approver | undefined
    readonly tree: RunTree
    readonly seen: SeenTools | undefined
    readonly questions: OpenQuestions
    readonly signal: AbortSignal | undefined
    readonly inside: Inside | undefined
    /** Told the id of the child, so that `afterCallAgent` can name it. */
    readonly started: (operationId: string) => void
  }
}

export interface OperationInit {
  /** Unique among the operations that run; made up when absent. */
  operationId?: string
  agentName?: string
  agentId?: string
  /** Taken from the parent when absent. */
  userId?: string
  /** Only a real conversation's id; taken from the parent when absent. */
  conversationId?: string
  /** Whoever calls this agent: what `callAgent` hands over, or the calling operation. Its gates hold here, too. */
  parent?: ParentOperation | CallingOperation
  /** What the run is asked to do. */
  input?: unknown
  /** The system prompt, for traces with content. */
  instructions?: string
  /** W3C `traceparent` of the caller, when it is not a parent operation. Wins over a derived trace id. */
  traceparent?: string
  /** Registered before `onStart` fires. */
  hooks?: AgentHook[]
  /** Decide on this operation and, inherited, on its sub-agents. */
  gates?: Gate[]
  /**
   * Ids of gates and hooks that the dispatcher has in use (`use()`, a config file) and that take no part in this run and in
   * those that it calls; a config entry of several hooks by the entry's id. On the run's span. Said anew where a run is
   * resumed: else they are back. Not for a run that another one calls.
   */
  disable?: readonly string[]
  /**
   * The tools that the run has, where the runtime knows them; else those count that its model calls offer. At the end of the run,
   * a pattern of a gate or a hook that matches none of them, and none of an agent that the run called, is reported once, as
   * `unmatched`.
   */
  tools?: readonly RunTool[]
  /** Asked when a gate answers `requireApproval`, here and in sub-agents; else the dispatcher's is. */
  approver?: Approver
  /** Aborting it aborts the tools and model calls in flight. */
  signal?: AbortSignal
  /** Prices model calls whose replies say no cost, or that they cost nothing; else the dispatcher's is asked. */
  priceOf?: PriceOf
  /** Put on the operation's span. */
  attributes?: Record<string, string | number | boolean>
  /** Epoch milliseconds of each moment, instead of the real time: for replaying recorded runs. */
  clock?: () => number
  /** Set by adapters of foreign SDKs: what they can do. Without it all is taken as possible. */
  adapter?: AdapterInfo
  /** Continues a parked operation: what `op.park()` or `op.checkpoint()` gave. */
  resume?: ParkedOperation
}

export const PARENT: Shape = shape(
  'what `callAgent` or `op.asParent()` gave, whole',
  (parent) => typeof (parent as Partial<ParentOperation> | null)?.operationId === 'string',
)

/** It comes from outside: what is not there would be missed in the middle of a run. */
function isParked(value: unknown): boolean {
  const { version, operationId, rootOperationId, sequence, stepIndex, totals } = (value ??
    {}) as Partial<ParkedOperation>
  return (
    version === 1 &&
    [operationId, rootOperationId].every(a.name.fits) &&
    [sequence, stepIndex].every(a.integer(0).fits) &&
    [totals?.steps, totals?.llmCalls, totals?.toolCalls].every(a.integer(0).fits) &&
    [totals?.inputTokens, totals?.outputTokens].every(a.finite.fits)
  )
}

/**
 * A guard that held the run before holds what is left of it.
 *
 * @param whose «Run "run-7"»
 * @throws HookspanError `INVALID_STATE`.
 */
export function assertGatesOf(whose: string, gateIds: readonly string[], gates: readonly Gate[]): void {
  const given = new Set(gates.map(({ id }) => id))
  const missing = gateIds.filter((id) => !given.has(id))
  if (missing.length === 0) return
  throw new HookspanError(
    'INVALID_STATE',
    `${whose} was held by the gate(s) ${missing.join(', ')}, which are missing. Give \`gates\` with the same ids.`,
  )
}

const FIELDS: Fields<OperationInit> = {
  operationId: a.name,
  agentName: a.string,
  agentId: a.string,
  userId: a.string,
  conversationId: a.string,
  parent: PARENT,
  input: a.value,
  instructions: a.value,
  traceparent: a.value,
  hooks: a.value,
  gates: a.value,
  disable: a.list,
  tools: a.list,
  approver: a.value,
  signal: a.signal,
  priceOf: a.function,
  attributes: a.object,
  clock: a.function,
  adapter: a.object,
  resume: shape('what op.park() gave, whole and of version 1', isParked),
}

const TOOL: Fields<RunTool> = { name: required(a.name), identifier: a.name }

/** @throws HookspanError `INVALID_OPTION`, or `INVALID_GATE`: a guard that is misspelt must not be missing. */
export function assertOperationInit(init: OperationInit): void {
  if (typeof init !== 'object' || init === null) {
    throw expected('`init` to be an object such as { agentName }', init)
  }
  assertFields<OperationInit>(init, FIELDS, 'the operation')
  if (init.gates !== undefined) assertGates(init.gates)
  for (const tool of init.tools ?? []) assertFields<RunTool>(tool, TOOL, 'a tool of the operation')
  if (init.approver !== undefined) assertApprover(init.approver, 'the operation', 'INVALID_OPTION')
  if (init.adapter !== undefined) assertAdapter(init.adapter)
}

export function invalidCall(name: string, what: string, shape: string, value: unknown): HookspanError {
  return expected(`\`${name}\` of ${what} to be ${shape}`, value, 'INVALID_CALL')
}

export function newOperationId(): string {
  return `op_${crypto.randomUUID()}`
}

/** @throws HookspanError `INVALID_OPTION`. */
export function assertOperationId(operationId: unknown): void {
  if (!a.name.fits(operationId)) throw expected('`operationId` to be a non-empty string', operationId)
}
