import type {
  AnswerIdentity,
  AnyHookType,
  ApprovalOutcome,
  CompletionReason,
  EventBase,
  GateRecord,
  HookEvent,
  HumanAction,
  LlmRequest,
  LlmResponse,
  PendingTool,
  RunTotals,
  StreamEndKind,
  TokenUsage,
  ToolCallContext,
  ToolCallOutcome,
} from '../../hooks/index.ts'
import type { LlmHead } from '../../wire/reading.ts'

type Who = 'agentName' | 'agentId' | 'userId' | 'conversationId'

/** Who an operation is: the same for all of its activities. */
export interface OperationInfo
  extends Pick<EventBase, Who | 'operationId' | 'rootOperationId' | 'parentOperationId' | 'parentCallKey'> {}

/** Something with a beginning and an end, as a tracer needs it: raw values, never copied, never to be changed. */
export type Activity =
  | {
      readonly kind: 'operation'
      readonly input?: unknown
      readonly instructions?: string
      /** W3C `traceparent` of a caller in another process. */
      readonly traceparent?: string
      /** Set when this operation continues one that was parked or saved. */
      readonly resumed?: ResumedSpan
      /** Ids of the dispatcher's guards and hooks that take no part in it. */
      readonly disabled?: readonly string[]
      readonly attributes?: Readonly<Record<string, string | number | boolean>>
    }
  | {
      readonly kind: 'step'
      readonly stepIndex: number
      readonly stepType?: string
      /** Of a run that is saved on its way: what its span's id is made of. */
      readonly spanKey?: string
    }
  | {
      readonly kind: 'llm'
      readonly callKey: string
      readonly model: string
      readonly provider: string
      readonly request: LlmRequest
      readonly serverAddress?: string
      readonly serverPort?: number
      /** @default 'chat' */
      readonly operationName?: string | undefined
    }
  | (ToolCallContext & { readonly kind: 'tool'; readonly callKey: string; readonly spanKey?: string })
  | {
      readonly kind: 'human'
      /** Of a question that is no approval request. */
      readonly callKey?: string
      readonly pendingTools: readonly PendingTool[]
      readonly instructions?: string
      readonly requestId?: string
    }
  | {
      readonly kind: 'compact'
      readonly callKey?: string
      readonly spanKey?: string
      readonly messageCount: number
      readonly tokenCount: number
    }
  | {
      readonly kind: 'agent'
      readonly callKey: string
      readonly agentName?: string
      readonly agentId: string
      readonly instruction: string
      /** True when the child runs in another process, so that no operation of this process continues the span. */
      readonly remote: boolean
      /** Who runs a remote one. */
      readonly provider?: string
      readonly serverAddress?: string
      readonly serverPort?: number
      /** Set when the agent's run was parked, and goes on. */
      readonly resumed?: ResumedSpan
    }
  | { readonly kind: 'gate'; readonly gateId: string; readonly point: string }

/** The span of a run that was parked, or whose process died: it is one span, ended by whoever ends the run. */
export interface ResumedSpan {
  /** W3C trace context of the run's own span. */
  readonly traceparent?: string
  /** That of the span above it. */
  readonly parentTraceparent?: string | undefined
  /** Epoch milliseconds. */
  readonly startedAt?: number
  /** What was decided about it before. */
  readonly gates?: readonly GateRecord[]
}

/** How an activity ended, by its kind. `error` is what it failed with: absent unless it failed by throwing. */
export type ActivityEnd =
  | OperationEnd
  | StepEnd
  | LlmEnd
  | ToolEnd
  | HumanEnd
  | CompactEnd
  | AgentEnd
  | GateEnd

export interface OperationEnd {
  readonly kind: 'operation'
  /** Absent while the run is parked. */
  readonly reason?: CompletionReason
  readonly totals?: RunTotals
  readonly abandoned?: boolean
  /** What it waits for; it goes on in another operation of the same id. */
  readonly waitingFor?: string
  /** It was another process's all along: nothing is to be shown of what was begun of it here. */
  readonly left?: boolean
  /** The run's last word. */
  readonly content?: string
  readonly error?: unknown
}

export interface StepEnd {
  readonly kind: 'step'
  readonly error?: unknown
  readonly waitingFor?: string
}

export interface LlmEnd {
  readonly kind: 'llm'
  readonly error?: unknown
  readonly response?: LlmResponse
  /** What heads the response, where that costs less than all of it. */
  readonly reply?: LlmHead
  readonly usage?: TokenUsage
  readonly costUsd?: number
  readonly timeToFirstChunkMs?: number
  /** Of a stream: from each chunk to the next. Of the first 10,000. */
  readonly chunkGapsMs?: readonly number[]
  /** True where the reply was streamed and the request does not say so, as those of LangChain. */
  readonly streamed?: boolean
  /** `cut`: the stream stopped with neither a finish reason nor an end marker. */
  readonly streamEnd?: StreamEndKind
  /** The effective one, after the gates. */
  readonly request?: LlmRequest
  readonly mocked?: boolean
}

export interface ToolEnd {
  readonly kind: 'tool'
  readonly outcome: ToolCallOutcome | 'waiting'
  /** Those that were effective, after the gates. */
  readonly args: unknown
  readonly result?: unknown
  readonly success?: boolean
  readonly mocked?: boolean
  /** Why a gate or a human refused. */
  readonly code?: string
  readonly refusal?: string
  /** What the model is told. */
  readonly content?: string
  readonly error?: unknown
}

export interface HumanEnd {
  readonly kind: 'human'
  readonly action?: HumanAction
  readonly approvalOutcome?: ApprovalOutcome
  readonly approver?: string
  readonly channel?: string
  readonly identity?: AnswerIdentity
  readonly rejectionReason?: string
  readonly waitedMs?: number
  readonly code?: string
  readonly waitingFor?: string
  readonly error?: unknown
}

export interface CompactEnd {
  readonly kind: 'compact'
  readonly groupId?: string
  readonly messagesBefore?: number
  readonly messagesAfter?: number
  readonly tokensBefore?: number
  readonly tokensAfter?: number
  readonly summary?: string
  readonly error?: unknown
}

export interface AgentEnd {
  readonly kind: 'agent'
  readonly success?: boolean
  readonly subOperationId?: string
  readonly threadId?: string
  readonly content?: string
  readonly usage?: TokenUsage
  readonly waitingFor?: string
  /** What the child failed with. One that was stopped, or came to a limit, has not failed. */
  readonly error?: unknown
}

export interface GateEnd {
  readonly kind: 'gate'
  readonly gate: GateRecord
  /** A gate that fails decides all the same: the record tells. */
  readonly error?: undefined
}

/** Something that happened while an activity was open. */
export type Annotation =
  | { readonly kind: 'gate'; readonly record: GateRecord }
  /** `source`: what stood in for the tool or model: `event.mock`, `mock`, `replay`, `simulated`, `scripted`. */
  | { readonly kind: 'mock'; readonly source: string; readonly rule?: string; readonly hookId?: string }
  /** A gate changed what the called agent is asked to do. */
  | { readonly kind: 'instruction'; readonly instruction: string }

/** An open activity. */
export interface ActivityScope {
  /**
   * Runs code with this activity as the current one, so that what the code traces becomes its child. `place` may be
   * taken along, to be found by whoever set itself as the carrier of places; one that is not is kept elsewhere.
   */
  run<T>(fn: () => T, place?: unknown): T
  annotate?(annotation: Annotation): void
  /** Called once. `timestamp`: epoch milliseconds, only when the operation has a clock of its own. */
  end(result: ActivityEnd, timestamp?: number): void
  /** W3C trace context of this activity. */
  readonly traceparent?: string | undefined
  /** That of what it lies below, where that is known: for a run that goes on in another process. */
  readonly parentTraceparent?: string | undefined
}

/**
 * What a tracer plugs in. It sees activities, not events: their beginning, their end, and the code between the
 * two. Whatever it throws is reported and changes nothing.
 */
export interface Instrument {
  /**
   * Opens an activity below `parent`, a scope this instrument made (absent for a root operation).
   * `timestamp`: epoch milliseconds, only when the operation has a clock of its own.
   */
  start(
    activity: Activity,
    operation: OperationInfo,
    parent: ActivityScope | undefined,
    timestamp?: number,
  ): ActivityScope | undefined
  /** Every event of an operation that is driven by `dispatch` alone. Raw: not a copy. */
  onEvent?(event: HookEvent<AnyHookType>): void
  /** An operation driven by `dispatch` alone was unregistered or swept; whatever is open of it ends now. */
  onRelease?(operationId: string, info: { abandoned: boolean }): void
}
