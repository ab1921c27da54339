import type {
  HookDispatcher,
  Operation,
  OperationInit,
  ParentOperation,
  PriceOf,
} from '../dispatcher/index.ts'
import type { ApprovalOptions, ApprovalRequest, Approver, Gate } from '../gates/index.ts'
import type { AgentHook, CompletionReason, TokenUsage, ToolSource } from '../hooks/index.ts'

import type { CheckpointStore } from './checkpoint/store.ts'
import type { AgentMessage, SavedRun } from './run-state.ts'

/** A JSON Schema. */
export type JsonSchema = Readonly<Record<string, unknown>>

/** What a tool gets beside its arguments. */
export interface ToolContext {
  /** Aborted when the run is aborted. */
  readonly signal: AbortSignal
  readonly toolCallId: string
  /**
   * The run's id and the call's key in it: the same when the call is made again after its process died, and no other call's.
   * Hand it to a service that does nothing twice for one key.
   */
  readonly idempotencyKey: string
  /** W3C trace context of the call, to pass on to another process. */
  readonly traceparent: string | undefined
}

/** Written as a method, so that a tool of narrower arguments fits into a list of tools. */
type ApprovalPredicate<A> = { decide(args: A): boolean | Promise<boolean> }['decide']

export interface AgentTool<A = Record<string, unknown>> {
  /** Letters, digits, `_` and `-`, at most 64; unique among the tools and sub-agents of the agent. */
  name: string
  /** Tells the model when to use it. */
  description?: string
  /** JSON Schema of the arguments, an object. @default no arguments */
  parameters?: JsonSchema
  /**
   * Does the work. What it returns is told to the model: text as it is, pictures of a result in the shape of MCP's
   * (`{ content: [{ type: 'image', data, mimeType }, ...] }`) as pictures, anything else as JSON; what it throws, too, as an
   * error. An async generator's yields are progress, its return value is the result.
   */
  execute(args: A, context: ToolContext): unknown
  /** Whether a human is asked first. A predicate that throws denies the call. @default false */
  needsApproval?: boolean | ApprovalPredicate<A>
  /** How the human is asked: time limit, instructions, who may answer. */
  approval?: ApprovalOptions
  /** Where the tool lives: the name of an MCP server, a plugin's id. @default 'local' */
  identifier?: string
  /** @default 'local' */
  source?: ToolSource
  /** Lets the provider hold the model to the schema. @default false */
  strict?: boolean
  /**
   * True when it may be run twice for one call without harm, as one that hands on its `idempotencyKey`: then a call that was
   * at work when its process died is made again by `resumeAgent`. Else the model is told `execution_unknown`.
   *
   * @default false
   */
  idempotent?: boolean
}

/**
 * When the conversation outgrows the model, its older part is replaced by a summary that the model writes; by none that it
 * refused, or that was cut. Not where that part is too small to be worth a call, and not again, after a summary that did not
 * bring the conversation below the threshold, until it has grown by half. What is over the threshold because of what stays is
 * told once on the console.
 */
export interface Compaction {
  /** Tokens of the next request, tools included, from which on the conversation is compacted. Minimum 1. */
  thresholdTokens: number
  /**
   * How many of the youngest messages stay as they are, at least: a tool call is never parted from its result.
   *
   * @default 6
   */
  keepMessages?: number
  /** What the model that summarises is told. */
  instructions?: string
  /** Who summarises. @default the agent's model */
  model?: string
  /** Counts the tokens of a text. @default the `gpt-tokenizer` package, an optional peer */
  countTokens?: (text: string) => number
}

export interface Agent {
  /** Where it is a sub-agent also its tool's name: letters, digits, `_` and `-`, at most 64. */
  name: string
  /** Tells a calling agent when to use this one. */
  description?: string
  /** The system prompt. */
  instructions?: string
  model: string
  /** An OpenTelemetry GenAI provider name. @default told by the client's base URL, else `openai` */
  provider?: string
  tools?: readonly AgentTool[]
  /** Agents that this one may call, each as a tool that takes an `instruction`. */
  subAgents?: readonly Agent[]
  /** Decide wherever this agent runs and, inherited, on its sub-agents. */
  gates?: readonly Gate[]
  /** @default 'chat' */
  api?: 'chat' | 'responses'
  /** Streams the model's replies: see `onText`. @default false */
  stream?: boolean
  /** Model turns after which the run ends with reason `max_steps`. Minimum 1. @default 50 */
  maxSteps?: number
  /**
   * US dollars, sub-agents included. Checked before each model call: once they are spent, the run ends with reason
   * `cost_limit`. Needs prices, `priceOf` or the optional peer `@pydantic/genai-prices`, where replies do not say what they cost.
   */
  maxCostUsd?: number
  compaction?: Compaction
  temperature?: number
  topP?: number
  maxOutputTokens?: number
  /** Further fields of each request, as the API names them. They win over what the agent says. */
  request?: Readonly<Record<string, unknown>>
  /** Bytes of a tool's result that the model is told; the rest is cut off, and said to be. @default 1_000_000 */
  maxToolResultBytes?: number
}

/** What is used of an `openai` client. */
export interface OpenAIClient {
  readonly baseURL?: string
  readonly chat: {
    readonly completions: { create(body: never, options?: never): PromiseLike<unknown> }
  }
  readonly responses?: { create(body: never, options?: never): PromiseLike<unknown> }
}

/** Where a piece of streamed text comes from. */
export interface TextOrigin {
  readonly operationId: string
  readonly agentName: string
  readonly stepIndex: number
}

export interface ExecAgentOptions
  extends Pick<OperationInit, 'operationId' | 'userId' | 'conversationId' | 'traceparent' | 'attributes'> {
  agent: Agent
  /** The user's message; follows `messages` where both are given. */
  prompt?: string
  /** The conversation until now, in the shape of the agent's API. The list is not changed. */
  messages?: readonly AgentMessage[]
  /** An `openai` client, or one that looks like it. @default `new OpenAI()` */
  client?: OpenAIClient
  /** Observe this run, themselves or by the names that the dispatcher knows; its own observe sub-agents, too. */
  hooks?: readonly (AgentHook | string)[]
  /** Decide on this run and, inherited, on its sub-agents, beside the dispatcher's. */
  gates?: readonly Gate[]
  /** Ids of gates and hooks that the dispatcher has in use, and that take no part in this run and in its sub-agents'. */
  disable?: readonly string[]
  /** @default one of its own */
  dispatcher?: HookDispatcher
  /** Aborting it ends the run with status `interrupted`, with what is in flight. */
  signal?: AbortSignal
  /** Whoever calls this agent: what `callAgent` hands over, or the calling operation. */
  parent?: ParentOperation | Operation
  /** Asked when a tool needs an approval. @default the dispatcher's; where there is none, the call is denied */
  approver?: Approver | Approver['requestApproval']
  /** Told each piece of text of streamed replies, sub-agents' too. What it throws is reported, not passed on. */
  onText?: (text: string, origin: TextOrigin) => void
  /** Prices model calls. @default the dispatcher's, else `@pydantic/genai-prices` where that is installed */
  priceOf?: PriceOf
  /**
   * Saves the run there after every step, and before each tool is run, so that `resumeAgent` goes on with it when its
   * process dies. `true`: an SQLite file in the data folder of the user (`HOOKSPAN_CHECKPOINTS_DB` names another). What
   * cannot be saved fails the run before the next tool is run.
   *
   * @default false
   */
  checkpoint?: boolean | CheckpointStore
}

/** How a run ended. */
export interface AgentRun {
  readonly operationId: string
  /**
   * `done`: by itself or at a limit of steps or cost; `interrupted`: by the signal, a gate or a human;
   * `error`: see `error`; `waiting_for_human`: not ended, see `state`.
   */
  readonly status: 'done' | 'interrupted' | 'error' | 'waiting_for_human'
  /** `waiting` only where `status` is `waiting_for_human`. */
  readonly reason: CompletionReason | 'waiting'
  /** The model's last word; empty when it said nothing. */
  readonly content: string
  /** The whole conversation in the shape of the agent's API, also where the model was sent a summary of it. */
  readonly messages: readonly AgentMessage[]
  /** Tokens of all model calls, compaction and sub-agents included. */
  readonly usage: TokenUsage
  /** US dollars of the same calls; absent when the price of any of them is not known. */
  readonly costUsd?: number
  /** Model turns, those of sub-agents not included. */
  readonly steps: number
  /** What failed the run. */
  readonly error?: unknown
  /** What humans are asked before the run can go on, sub-agents' requests included. */
  readonly pendingApprovals?: readonly ApprovalRequest[]
  /** What `resumeAgent` continues the run from, in this process or another. Plain JSON: keep it as it is. */
  readonly state?: SavedRun
  /** `resumeAgent` ran nothing: the run had gone on from this state before, and this is what came of it then. */
  readonly resumedBefore?: true
  /** Who ended the run, where `reason` is `denied`. */
  readonly denial?: { readonly code: string; readonly reason: string }
}
