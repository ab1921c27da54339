import { assertGates } from '../../gates/gate.ts'
import type { ApprovalRequest, Approver, Gate, TreeTotals } from '../../gates/index.ts'
import type { AgentHook, TokenUsage } from '../../hooks/index.ts'
import { describeValue, HookspanError } from '../../internal/errors.ts'
import type { OpenQuestions } from '../humans/open-questions.ts'
import type { Operation } from '../operation.ts'
import type { PriceOf } from '../options.ts'
import type { TracedActivity } from '../plugins/traced-activity.ts'
import type { LlmNote } from './operation-core.ts'
import type { RunTree } from './run-tree.ts'

/**
 * The caller of a sub-agent, as it is handed to the child's `startOperation({ parent })`. In another process only
 * the plain fields arrive (`JSON.stringify(parent)`): the child then joins the trace through `traceparent`, and
 * brings gates of its own.
 */
export interface ParentOperation {
  readonly operationId: string
  readonly rootOperationId: string
  /** W3C trace context of the call. */
  readonly traceparent?: string
  /** Agent names from the root to the parent. */
  readonly agentPath: readonly string[]
  readonly userId?: string
  readonly conversationId?: string
}

/** What only a parent in the same process carries. */
export interface LiveParent extends ParentOperation {
  readonly live: {
    readonly traced: TracedActivity
    readonly gates: () => readonly Gate[]
    readonly approver: Approver | undefined
    readonly tree: RunTree
    readonly questions: OpenQuestions
    readonly signal: AbortSignal | undefined
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
  parent?: ParentOperation | Operation
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
  /** Asked when a gate answers `requireApproval`, here and in sub-agents; else the dispatcher's is. */
  approver?: Approver
  /** Aborting it aborts the tools and model calls in flight. */
  signal?: AbortSignal
  /** Prices model calls that carry no cost of their own; else the dispatcher's is asked. */
  priceOf?: PriceOf
  /** Put on the operation's span. */
  attributes?: Record<string, string | number | boolean>
  /** Epoch milliseconds of each moment, instead of the real time: for replaying recorded runs. */
  clock?: () => number
  /** Continues a parked operation: what `op.park()` gave. */
  resume?: ParkedOperation
}

/** What continues an operation later, or elsewhere. Plain JSON, versioned. */
export interface ParkedOperation {
  readonly version: 1
  readonly operationId: string
  readonly rootOperationId: string
  readonly parentOperationId?: string
  readonly agentName?: string
  readonly agentId?: string
  readonly userId?: string
  readonly conversationId?: string
  readonly traceparent?: string
  readonly sequence: number
  readonly stepIndex: number
  readonly waitingFor: string
  /** Epoch milliseconds. */
  readonly parkedAt: number
  readonly totals: {
    readonly steps: number
    readonly llmCalls: number
    readonly toolCalls: number
    readonly inputTokens: number
    readonly outputTokens: number
    readonly costUsd?: number
  }
  /** Tells this run from another of the same operation id: what approval requests are bound to. */
  readonly runKey?: string
  readonly callCount?: number
  /** The step in which the run was parked: it is taken up again, not begun anew. */
  readonly openStep?: SavedStep
  /** The calls that wait. A call of the same `toolCallId` and `apiName` continues them. */
  readonly waiting?: readonly WaitingCall[]
  /** Ids of all approval requests that are open, sub-agents' included: withdrawn when the run ends without them. */
  readonly questions?: readonly string[]
  /** Sums over the run tree, for budgets. */
  readonly tree?: { readonly sums: TreeTotals; readonly state: Readonly<Record<string, unknown>> }
}

/** A tool call, or the call of an agent, that waits for a human. */
export interface WaitingCall {
  readonly toolCallId: string
  readonly apiName: string
  readonly callKey: string
  readonly callIndex: number
  /** What the human is asked; absent where the call runs, and a call inside of it waits. */
  readonly request?: ApprovalRequest
  /** Ids of the requests about it that were answered before: what happened then has been told. */
  readonly settled?: readonly string[]
  /** `agent`: the call of an agent, whose own run is parked. */
  readonly kind?: 'agent'
  /** The call runs already: its gates have decided and its first hooks have fired. */
  readonly running?: { readonly args: unknown; readonly approvedBy?: string }
}

/** A step that was suspended. */
export interface SavedStep {
  readonly stepIndex: number
  readonly stepType?: string
  readonly callCount: number
  readonly last?: LlmNote
  readonly usage?: TokenUsage
  readonly costUsd?: number
}

/** @throws HookspanError `INVALID_OPTION`, or `INVALID_GATE`: a guard that is misspelt must not be missing. */
export function assertOperationInit(init: OperationInit): void {
  if (typeof init !== 'object' || init === null) {
    throw invalid('init', 'an object such as { agentName }', init)
  }
  const { clock, gates, parent, priceOf, resume, signal } = init
  const { agentName, agentId, userId, conversationId } = init
  for (const [name, value] of Object.entries({ agentName, agentId, userId, conversationId })) {
    if (value !== undefined && typeof value !== 'string') throw invalid(name, 'a string', value)
  }
  if (parent !== undefined && (typeof parent !== 'object' || typeof parent?.operationId !== 'string')) {
    throw invalid('parent', 'what `callAgent` or `op.asParent()` gave, whole', parent)
  }
  if (gates !== undefined) assertGates(gates)
  for (const [name, value] of Object.entries({ clock, priceOf })) {
    if (value !== undefined && typeof value !== 'function') throw invalid(name, 'a function', value)
  }
  if (signal !== undefined && !(signal instanceof AbortSignal)) {
    throw invalid('signal', 'an AbortSignal', signal)
  }
  if (resume !== undefined && resume?.version !== 1) {
    throw invalid('resume', 'what op.park() gave, of version 1', resume)
  }
}

export function invalidCall(name: string, what: string, expected: string, value: unknown): HookspanError {
  return new HookspanError(
    'INVALID_CALL',
    `Expected \`${name}\` of ${what} to be ${expected}, got ${describeValue(value)}.`,
  )
}

/** @throws HookspanError `INVALID_OPTION`. */
export function assertOperationId(operationId: unknown): void {
  if (typeof operationId === 'string' && operationId !== '') return
  throw invalid('operationId', 'a non-empty string', operationId)
}

function invalid(name: string, expected: string, value: unknown): HookspanError {
  return new HookspanError(
    'INVALID_OPTION',
    `Expected \`${name}\` to be ${expected}, got ${describeValue(value)}.`,
  )
}
