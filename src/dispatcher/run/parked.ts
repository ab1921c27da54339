import type { ApprovalRequest, TreeTotals } from '../../gates/index.ts'
import type { EventInit, GateRecord, TokenUsage, ToolSource } from '../../hooks/index.ts'
import type { OperationInfo, ResumedSpan } from '../plugins/instrument.ts'

/** What continues an operation later, or elsewhere. Plain JSON, versioned. */
export interface ParkedOperation extends OperationInfo {
  readonly version: 1
  /** W3C trace context of the run's own span, which goes on when the run does. */
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
  /** What the run was asked to do, where the `onStart` gates have not decided: the resumed run asks them. */
  readonly unadmitted?: { readonly input?: unknown }
  /** Set once a gate or a human said that the run is to end: the resumed one is to end, too. */
  readonly stop?: { readonly code: string; readonly reason: string }
  /** Sums over the run tree, for budgets. */
  readonly tree?: { readonly sums: TreeTotals; readonly state: Readonly<Record<string, unknown>> }
  /** Epoch milliseconds of the run's beginning. */
  readonly startedAt?: number
  /** W3C trace context that the run's own span lies below. */
  readonly parentTraceparent?: string
  /** What gates decided about the run itself, before it was parked. */
  readonly gates?: readonly GateRecord[]
  /** Ids of the run's own gates: who goes on with it has to give them again. */
  readonly gateIds?: readonly string[]
  /** The run is saved on its way: a process that dies leaves spans open, which are ended where it goes on. */
  readonly kept?: true
  /** Runs that its tools had begun when it was saved: nobody goes on with them, and who goes on with this one ends them. */
  readonly inside?: readonly ParkedOperation[]
  /** How often it was parked: what goes on after a park is another part of its step, with a span of its own. */
  readonly parks?: number
}

/** A tool call, or the call of an agent, that waits for a human. */
export interface WaitingCall {
  readonly toolCallId: string
  readonly apiName: string
  readonly callKey: string
  readonly callIndex: number
  readonly identifier?: string
  readonly source?: ToolSource
  /** What the human is asked; absent where the call runs, and a call inside of it waits, or the runtime itself asks. */
  readonly request?: ApprovalRequest
  /** What the runtime itself asks a human about. */
  readonly args?: unknown
  /** Ids of the requests about it that were answered before: what happened then has been told. */
  readonly settled?: readonly string[]
  /** `agent`: the call of an agent, whose own run is parked. */
  readonly kind?: 'agent'
  /** Which agent was asked, and for what. */
  readonly agent?: { readonly agentId: string; readonly agentName?: string; readonly instruction: string }
  /** Its span, which goes on with the agent's run. */
  readonly span?: ResumedSpan
  /** The call runs already: its gates have decided and its first hooks have fired. */
  readonly running?: { readonly args: unknown; readonly approvedBy?: string }
  /**
   * The tool was at work when the state was saved, and nobody knows what it did: its process may have died. It is not
   * run again, but answered with `execution_unknown`, unless the call said, and says, that it is `idempotent`.
   */
  readonly unknown?: true
  /** The tool that was at work was not `idempotent`: whatever the call says now, it acted without the key. */
  readonly once?: true
  /** The call whose tool makes it: its own code does, and nobody else takes it up. */
  readonly within?: string
}

/** A step that was suspended. */
export interface SavedStep {
  readonly stepIndex: number
  readonly stepType?: string
  readonly callCount: number
  /** Epoch milliseconds; absent where the step's part has ended with its own span. */
  readonly startedAt?: number
  readonly last?: LlmNote
  readonly usage?: TokenUsage
  readonly costUsd?: number
}

/** What the last model call of a step said. */
export interface LlmNote {
  readonly content: string | undefined
  readonly reasoning: string | undefined
  readonly toolCalls: EventInit<'afterStep'>['toolCalls']
}
