import type { AnyHookType } from './hook-types.ts'
import type {
  AnswerIdentity,
  ApprovalOutcome,
  CompletionReason,
  GateRecord,
  HumanAction,
  LlmRequest,
  LlmResponse,
  PendingTool,
  StopReason,
  StreamEndKind,
  TokenUsage,
  ToolCallOutcome,
  ToolCallRequest,
  ToolMock,
  ToolSource,
} from './values.ts'

/** Version of the event shapes below and of the published JSON Schemas. Grows with each incompatible change. */
export const EVENT_SCHEMA_VERSION = '1.0'

/** What every event carries. */
export interface EventBase {
  readonly hookType: AnyHookType
  readonly operationId: string
  /** Position among the events of this operation: gapless, from 0. */
  readonly sequence: number
  /** When the event was dispatched, in milliseconds since 1970-01-01 UTC. */
  readonly timestamp: number
  /** See {@link EVENT_SCHEMA_VERSION}. */
  readonly schemaVersion: string
  /** The operation at the top of the tree; the operation itself when it has no parent. */
  readonly rootOperationId: string
  readonly parentOperationId?: string
  /** Key of the call, in the parent, that runs this operation. */
  readonly parentCallKey?: string
  readonly agentName?: string
  readonly agentId?: string
  readonly userId?: string
  readonly conversationId?: string
  /** 0 for the first step; absent outside of steps. */
  readonly stepIndex?: number
  /** Key of the call of this operation that it happened in: in a tool's code, or as the question about a call. */
  readonly withinCallKey?: string
}

/** What gates decided about a call, a step or a run, until its end: in the order in which they did. */
interface Decided {
  readonly gates?: readonly GateRecord[]
}

/** Sums over a run, its sub-agents not included. */
export interface RunTotals {
  readonly steps: number
  readonly llmCalls: number
  readonly toolCalls: number
  readonly usage: TokenUsage
  /** US dollars; absent when no call had a known price. */
  readonly costUsd?: number
  /** Milliseconds from the start of the operation. */
  readonly durationMs: number
}

export interface StartEvent extends EventBase {
  readonly hookType: 'onStart'
  /** What the run was asked to do, where the runtime says so. */
  readonly input?: unknown
  /** The system prompt, where the runtime says so. */
  readonly instructions?: string
  /** What the runtime puts on the run's span. */
  readonly attributes?: Readonly<Record<string, string | number | boolean>>
  /** Ids of the dispatcher's gates and hooks that take no part in the run. */
  readonly disabled?: readonly string[]
}

export interface BeforeStepEvent extends EventBase {
  readonly hookType: 'beforeStep'
  readonly stepIndex: number
  /** The runtime's own word for the kind of step, for example `call_llm`. */
  readonly stepType?: string
}

export interface AfterStepEvent extends EventBase, Decided {
  readonly hookType: 'afterStep'
  readonly stepIndex: number
  readonly stepType?: string
  /** Assistant text of the step's last model call. */
  readonly content?: string
  readonly reasoning?: string
  readonly toolCalls?: readonly ToolCallRequest[]
  readonly usage?: TokenUsage
  readonly costUsd?: number
  readonly executionTimeMs?: number
  /** The run's sums so far, this step included. */
  readonly totals?: RunTotals
  /** False when the runtime said that this was the last step. */
  readonly shouldContinue?: boolean
  /** Present when the step ended by throwing. */
  readonly errorMessage?: string
  readonly errorType?: string
}

/** Fires exactly once per operation, at its true end. Parking for a human is not the end. */
export interface CompleteEvent extends EventBase, Decided {
  readonly hookType: 'onComplete'
  readonly reason: CompletionReason
  /** True when the dispatcher ended the operation because its owner was gone. */
  readonly abandoned?: boolean
  readonly content?: string
  readonly totals?: RunTotals
  readonly errorMessage?: string
  readonly errorType?: string
}

/** Fires before `onComplete` when the run failed. */
export interface ErrorEvent extends EventBase {
  readonly hookType: 'onError'
  readonly errorMessage: string
  /** Stable and low in cardinality: the error's `code` or class name. Switch on this, not on the message. */
  readonly errorType: string
  readonly error?: unknown
}

/** What is known of a tool call before it runs. */
export interface ToolCallContext {
  /** The tool's home: `local`, the name of an MCP server, a plugin's id. */
  readonly identifier: string
  readonly source: ToolSource
  /** The function's name. */
  readonly apiName: string
  /** The arguments the tool gets, after gates. */
  readonly args: unknown
  /** Position of the call within its step, from 0. */
  readonly callIndex: number
  /** The model's id of the call. Real models repeat ids: tell calls apart by `callKey`. */
  readonly toolCallId: string
  /** The dispatcher's own key of the call, unique within the operation. */
  readonly callKey?: string
  /** What the tool does, where the runtime says so. */
  readonly description?: string
}

export interface BeforeToolCallEvent extends EventBase, ToolCallContext {
  readonly hookType: 'beforeToolCall'
  /**
   * Answers the call in the tool's place. The first call wins; later handlers still observe.
   *
   * @throws HookspanError `MOCK_TOO_LATE` once the call was decided; `MOCK_INVALID` on a malformed result, which also
   * fails the call, because whoever mocks does not want the real tool to run.
   */
  mock(result: ToolMock): void
}

export interface AfterToolCallEvent extends EventBase, ToolCallContext, MockOrigin, Decided {
  readonly hookType: 'afterToolCall'
  /** What the model is told. */
  readonly content: string
  /** What the tool returned, as it returned it. */
  readonly result?: unknown
  /** False when the tool said that it failed, and when a gate or a human stopped the call. */
  readonly success: boolean
  readonly mocked: boolean
  readonly outcome?: ToolCallOutcome
  /** Why a gate or a human stopped the call: `policy_denied`, `gate_error`, `rejected`, `no_approver`, ... */
  readonly code?: string
  readonly reason?: string
  readonly executionTimeMs: number
}

/** Where the result of a mocked call came from. */
interface MockOrigin {
  /** What stood in for the tool: `event.mock`, `mock`, `replay`, `simulated`. */
  readonly mockSource?: string
  /** Which rule of it answered. */
  readonly mockRule?: string
}

/** The tool threw. A tool that returns a failure ends in `afterToolCall` with `success: false`. */
export interface ToolCallErrorEvent extends EventBase, ToolCallContext, MockOrigin, Decided {
  readonly hookType: 'onToolCallError'
  readonly error?: unknown
  readonly errorType: string
  readonly errorMessage: string
  readonly mocked?: boolean
  readonly executionTimeMs: number
}

/** One of the two tells a question from others. */
interface QuestionContext {
  /** Id of the approval request. */
  readonly requestId?: string
  /** Key of a question that the runtime asked itself. */
  readonly callKey?: string
}

export interface BeforeHumanInterventionEvent extends EventBase, QuestionContext {
  readonly hookType: 'beforeHumanIntervention'
  readonly pendingTools: readonly PendingTool[]
  readonly instructions?: string
  /** Milliseconds since 1970; after it the call is denied. Absent: waits for ever. */
  readonly expiresAt?: number
}

export interface AfterHumanInterventionEvent extends EventBase, QuestionContext {
  readonly hookType: 'afterHumanIntervention'
  readonly action: HumanAction
  /** Tells a no from a failure to ask, which `action` does not. */
  readonly outcome?: ApprovalOutcome
  readonly rejectionReason?: string
  readonly approver?: string
  /** By what way the answer came: `http`, `webhook`, `redis`, `page`, `cli`, `mcp`, `code`, or what whoever took it calls it. */
  readonly channel?: string
  /** Whether the name of the approver is known to be theirs. */
  readonly identity?: AnswerIdentity
  /** Milliseconds between asking and the answer. */
  readonly waitedMs: number
  readonly toolCallIds: readonly string[]
  /** Why what was asked about is refused: `rejected`, `approval_timeout`, `approval_error`, ... */
  readonly code?: string
  /** Present when asking failed. */
  readonly errorMessage?: string
  readonly errorType?: string
}

/** The human's answer ended the run. */
export interface StopByHumanInterventionEvent extends EventBase {
  readonly hookType: 'onStopByHumanIntervention'
  readonly reason: StopReason
  readonly rejectionReason?: string
  readonly approver?: string
  readonly waitedMs: number
  readonly toolCallIds: readonly string[]
}

interface CompactContext {
  readonly callKey?: string
}

export interface BeforeCompactEvent extends EventBase, CompactContext {
  readonly hookType: 'beforeCompact'
  readonly messageCount: number
  readonly tokenCount: number
}

export interface AfterCompactEvent extends EventBase, CompactContext, Decided {
  readonly hookType: 'afterCompact'
  /** The runtime's id of the group of messages that was compacted. */
  readonly groupId?: string
  readonly messagesBefore: number
  readonly messagesAfter: number
  readonly tokensBefore: number
  readonly tokensAfter: number
  readonly summary?: string
}

/** Compaction failed; the run goes on with what it had. */
export interface CompactErrorEvent extends EventBase, CompactContext, Decided {
  readonly hookType: 'onCompactError'
  readonly error?: unknown
  readonly errorType: string
  readonly errorMessage: string
  readonly messageCount: number
  readonly tokenCount: number
}

/** `agentId` and `agentName` are the called agent's; the event is dispatched on the parent's operation. */
interface CallAgentContext {
  /** The name of the agent that calls, where it has one. */
  readonly callerName?: string
  /** The called agent's id; its name where it has none. */
  readonly agentId: string
  readonly agentName?: string
  /** Whole, never cut. */
  readonly instruction: string
  /** Id of this call within the parent's operation. */
  readonly callKey?: string
  /** True when the agent runs in another process. */
  readonly remote?: boolean
  /** Who runs it where it is remote: an OpenTelemetry GenAI provider name, or a word of the runtime's own. */
  readonly provider?: string
  readonly serverAddress?: string
  readonly serverPort?: number
}

export interface BeforeCallAgentEvent extends Omit<EventBase, 'agentId'>, CallAgentContext {
  readonly hookType: 'beforeCallAgent'
}

/** The child has *finished*, with or without success. Without it, `onCallAgentError` follows. */
export interface AfterCallAgentEvent extends Omit<EventBase, 'agentId'>, CallAgentContext, Decided {
  readonly hookType: 'afterCallAgent'
  readonly subOperationId?: string
  readonly threadId?: string
  readonly success: boolean
  /** How the child ended, where it says so: `done`, `error`, `max_steps`, `denied`, ... */
  readonly reason?: string
  /** Why there was no success: stable, for switching on. The error's `code` or class, a refusal's code, else the reason. */
  readonly errorType?: string
  readonly errorMessage?: string
  readonly content?: string
  readonly usage?: TokenUsage
  /** What the child says that it and its sub-agents cost, in US dollars. */
  readonly costUsd?: number
  readonly executionTimeMs: number
}

/**
 * The child could not be run, or has finished without success: then it follows `afterCallAgent`, which has what came of
 * it.
 */
export interface CallAgentErrorEvent extends Omit<EventBase, 'agentId'>, CallAgentContext, Decided {
  readonly hookType: 'onCallAgentError'
  readonly subOperationId?: string
  readonly error?: unknown
  readonly errorType: string
  readonly errorMessage: string
  readonly executionTimeMs: number
}

interface LlmCallContext {
  readonly model: string
  /** An OpenTelemetry GenAI provider name, for example `openai`, `anthropic`, `gcp.gemini`. */
  readonly provider: string
  readonly request: LlmRequest
  readonly callKey?: string
  /** What the conventions call it, where it is no chat: `embeddings`, `text_completion`, `generate_content`, ... */
  readonly operationName?: string
  readonly serverAddress?: string
  readonly serverPort?: number
}

export interface BeforeLlmCallEvent extends EventBase, LlmCallContext {
  readonly hookType: 'beforeLlmCall'
}

export interface AfterLlmCallEvent extends EventBase, LlmCallContext, Decided {
  readonly hookType: 'afterLlmCall'
  readonly response: LlmResponse
  readonly usage?: TokenUsage
  readonly costUsd?: number
  /** Milliseconds from the request to the first streamed chunk. */
  readonly timeToFirstChunkMs?: number
  readonly executionTimeMs: number
  /** True when a scripted model answered, in this process or over HTTP, so that no price and no latency of it is real. */
  readonly mocked?: boolean
  readonly streamEnd?: StreamEndKind
}

export interface LlmCallErrorEvent extends EventBase, LlmCallContext, Decided {
  readonly hookType: 'onLlmCallError'
  /** What had come of a streamed reply, and how many tokens it says. */
  readonly response?: LlmResponse
  readonly usage?: TokenUsage
  /** Milliseconds from the request to the first streamed chunk. */
  readonly timeToFirstChunkMs?: number
  /** True when it was a scripted model that failed. */
  readonly mocked?: boolean
  readonly error?: unknown
  readonly errorType: string
  readonly errorMessage: string
  readonly executionTimeMs: number
}

/** Which event belongs to which hook type. */
export interface HookEventMap {
  beforeStep: BeforeStepEvent
  afterStep: AfterStepEvent
  onComplete: CompleteEvent
  onError: ErrorEvent
  beforeToolCall: BeforeToolCallEvent
  afterToolCall: AfterToolCallEvent
  onToolCallError: ToolCallErrorEvent
  beforeHumanIntervention: BeforeHumanInterventionEvent
  afterHumanIntervention: AfterHumanInterventionEvent
  onStopByHumanIntervention: StopByHumanInterventionEvent
  beforeCompact: BeforeCompactEvent
  afterCompact: AfterCompactEvent
  onCompactError: CompactErrorEvent
  beforeCallAgent: BeforeCallAgentEvent
  afterCallAgent: AfterCallAgentEvent
  onCallAgentError: CallAgentErrorEvent
  onStart: StartEvent
  beforeLlmCall: BeforeLlmCallEvent
  afterLlmCall: AfterLlmCallEvent
  onLlmCallError: LlmCallErrorEvent
}

/** The event of a hook type: `HookEvent<'afterToolCall'>`. A type that has none is an error here, and not wherever events are. */
export type HookEvent<T extends AnyHookType = AnyHookType> = Whole<HookEventMap>[T & keyof HookEventMap]
type Whole<M extends { readonly [T in AnyHookType]: EventBase }> = M

/**
 * What a runtime hands to `dispatch`: the fields of the event that the dispatcher does not stamp itself.
 * `operationId`, `hookType`, `sequence`, `timestamp`, `schemaVersion` and the operation's identity are stamped.
 */
export type EventInit<T extends AnyHookType = AnyHookType> = T extends AnyHookType
  ? Omit<HookEvent<T>, StampedField> & Partial<Pick<HookEvent<T>, keyof HookEvent<T> & StampedField>>
  : never

type StampedField = Exclude<keyof EventBase, 'stepIndex' | 'withinCallKey'> | 'mock'
