/** What is used of `@openai/agents`, by its shape: nothing of it is loaded here. */

/** A part of a conversation, in the SDK's words. */
export type Item = Readonly<Record<string, unknown>>

export interface ModelRequest {
  readonly input: string | readonly Item[]
  readonly systemInstructions?: string
  readonly tools?: readonly unknown[]
  readonly handoffs?: readonly Item[]
  readonly modelSettings?: Readonly<Record<string, unknown>>
  readonly previousResponseId?: string
  readonly conversationId?: string
  readonly signal?: AbortSignal
  readonly [more: string]: unknown
}

export interface ModelResponse {
  usage: Readonly<Record<string, unknown>>
  output: readonly Item[]
  responseId?: string
  providerData?: Record<string, unknown>
}

export interface Model {
  getResponse(request: ModelRequest): Promise<ModelResponse>
  getStreamedResponse(request: ModelRequest): AsyncIterable<Item>
}

export interface ModelProvider {
  getModel(name?: string): Promise<Model> | Model
}

export interface ToolCallDetails {
  readonly toolCall?: { readonly callId?: string }
  readonly signal?: AbortSignal
}

export interface FunctionTool {
  readonly type: 'function'
  readonly name: string
  readonly description?: string
  readonly parameters?: unknown
  readonly outputSchema?: unknown
  readonly inputGuardrails?: readonly ToolGuardrail[]
  readonly outputGuardrails?: readonly ToolGuardrail[]
  invoke(context: unknown, input: string, details?: ToolCallDetails): Promise<unknown>
  needsApproval?(context: unknown, args: unknown, callId?: string): Promise<boolean>
}

/** Checks a call of a function before it is run, or what it gave. */
export interface ToolGuardrail {
  run(data: GuardedCall, ...more: unknown[]): unknown
}

export interface GuardedCall {
  readonly toolCall?: Item & { readonly callId?: string }
}

/** A tool of any kind: those that are no functions are run by the provider, or by the SDK itself. */
export interface AnyTool {
  readonly type: string
  readonly name?: string
  readonly providerData?: Readonly<Record<string, unknown>>
}

export interface Handoff {
  readonly toolName: string
  readonly toolDescription?: string
  readonly agentName?: string
  readonly agent?: Agent
  readonly inputFilter?: HandoffFilter
  onInvokeHandoff(context: unknown, args: string): Promise<unknown>
}

/** What an agent that takes over is told of the conversation. */
export type HandoffFilter = (data: HandedOver) => HandedOver

export interface HandedOver {
  readonly inputHistory: unknown
  readonly preHandoffItems: unknown
  readonly newItems: readonly { readonly rawItem?: Item }[]
}

export interface McpServer {
  readonly name?: string
  callTool?(...args: unknown[]): Promise<unknown>
  callToolResult?(...args: unknown[]): Promise<unknown>
}

export interface Agent {
  readonly name?: string
  readonly instructions?: unknown
  readonly model?: unknown
  readonly tools?: readonly AnyTool[]
  readonly mcpServers?: readonly McpServer[]
  getAllTools?(...args: unknown[]): Promise<AnyTool[]>
  getMcpTools?(...args: unknown[]): Promise<AnyTool[]>
  getEnabledHandoffs?(...args: unknown[]): Promise<Handoff[]>
  asTool?(options: object): FunctionTool
  processFinalOutput?(output: string): unknown
}

/** A tool call that waits for a human, as the SDK tells it. */
export interface Interruption {
  readonly name?: string
  readonly functionToolStateKey?: string
  readonly agent?: Agent
  readonly rawItem: Item
}

export interface RunContext {
  isToolApproved(call: { toolName: string; callId: string; functionTool?: boolean }): boolean | undefined
  _getHostedMcpApprovalStatus?(interruption: Interruption): boolean | undefined
  getRejectionMessage?(toolName: string, callId: string, of: { functionTool: boolean }): string | undefined
  _getHostedMcpRejectionMessage?(interruption: Interruption): string | undefined
}

export interface RunState {
  readonly _modelResponses: readonly ModelResponse[]
  _originalInput?: unknown
  readonly _generatedItems?: readonly { readonly rawItem?: Item }[]
  readonly _currentAgent?: Agent
  readonly _currentStep?: { readonly type?: string; readonly output?: unknown }
  readonly _lastProcessedResponse?: {
    readonly functions?: readonly { readonly tool: FunctionTool }[]
    readonly handoffs?: readonly { readonly handoff: Handoff }[]
  }
  readonly _context: RunContext
  /** What searches of the user's own have found. */
  readonly _toolSearchRuntimeToolsByAgent?: ReadonlyMap<Agent, unknown>
  getToolSearchRuntimeTools?(agent: Agent): AnyTool[]
  getInterruptions(): readonly Interruption[]
  approve(interruption: Interruption): void
}

export interface RunResult {
  readonly state: RunState
  readonly interruptions?: readonly Interruption[]
  readonly finalOutput?: unknown
  readonly rawResponses?: readonly object[]
  readonly outputGuardrailResults?: readonly object[]
  /** Of a streamed run, which goes on behind its result. */
  readonly completed?: Promise<void>
  readonly cancelled?: boolean
}

export interface RunOptions {
  readonly stream?: boolean
  readonly signal?: AbortSignal
  readonly conversationId?: string
  /** What the user gives as a result in the place of an error. */
  readonly errorHandlers?: unknown
  readonly session?: Session
  readonly toolExecution?: ToolExecution
}

/** How functions are run. */
export interface ToolExecution {
  readonly preApprovalInputGuardrails?: boolean
}

/** Where the SDK remembers a conversation. */
export interface Session {
  getSessionId?(): Promise<string> | string
  addItems?(items: readonly Item[], ...more: unknown[]): Promise<void>
  addItemsWithCompactionOwnership?(items: readonly Item[], ...more: unknown[]): Promise<void>
}

export type Run = (
  agent: Agent,
  input: unknown,
  options?: RunOptions,
  ...more: unknown[]
) => Promise<RunResult>

export interface Runner {
  readonly config: {
    readonly modelProvider?: ModelProvider
    readonly model?: unknown
    readonly groupId?: string
    readonly handoffInputFilter?: HandoffFilter
    readonly toolExecution?: ToolExecution
  }
  run: Run
  on?(event: string, told: (...what: never[]) => void): unknown
  off?(event: string, told: (...what: never[]) => void): unknown
}

export function isRunState(input: unknown): input is RunState {
  const state = input as Partial<RunState> | null
  return (
    typeof state === 'object' &&
    state !== null &&
    Array.isArray(state._modelResponses) &&
    typeof state.getInterruptions === 'function'
  )
}

export function isModel(value: unknown): value is Model {
  return typeof (value as Partial<Model> | null | undefined)?.getResponse === 'function'
}

export function isFunctionTool(tool: AnyTool): tool is FunctionTool {
  return tool?.type === 'function' && typeof (tool as Partial<FunctionTool>).invoke === 'function'
}
