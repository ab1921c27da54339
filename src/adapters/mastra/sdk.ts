/** What is used of `@mastra/core`, by its shape: nothing of it is loaded here. */

export type MastraOptions = Readonly<Record<string, unknown>> & {
  readonly runId?: string
  readonly toolCallId?: string
  readonly requestContext?: unknown
  readonly abortSignal?: unknown
  readonly memory?: { readonly thread?: unknown }
  readonly model?: unknown
  readonly toolsets?: Readonly<Record<string, MastraTools>>
  readonly maxSteps?: unknown
  readonly stopWhen?: unknown
  readonly prepareStep?: (options: never) => unknown
  readonly inputProcessors?: readonly unknown[]
  readonly outputProcessors?: readonly unknown[]
  readonly onFinish?: (event: never) => unknown
  readonly onChunk?: (chunk: never) => unknown
}

/** `generate`, `stream`: with messages; `resumeGenerate`, `resumeStream`: with what a human said. */
export type MastraMethod = (
  first: unknown,
  options?: MastraOptions,
  ...more: unknown[]
) => Promise<MastraResult>

export interface MastraAgent {
  readonly id?: string
  readonly name?: string
  readonly model?: unknown
  readonly durable?: unknown
  /** Of a durable one, that which it runs. */
  readonly agent?: unknown
  readonly voice?: unknown
  generate: MastraMethod
  stream: MastraMethod
  resumeGenerate: MastraMethod
  resumeStream: MastraMethod
  network?: MastraMethod
  resumeNetwork?: MastraMethod
  generateLegacy?: MastraMethod
  streamLegacy?: MastraMethod
  getModel(asked: { requestContext?: unknown; modelConfig: unknown }): Promise<unknown>
  getDefaultOptions(asked: { requestContext?: unknown }): Promise<MastraOptions> | MastraOptions
  /** Makes the tools of a run, whatever they come from. The SDK keeps it to itself. */
  convertTools(options: MastraOptions): Promise<MastraTools>
  /** Asked before a run. The SDK keeps it to itself. */
  requireAgentExecutionFGA?(asked: object): Promise<void>
  getToolsForExecution?(options: MastraOptions): Promise<MastraTools>
  __fork?(): MastraAgent
  getMastraInstance?(): { readonly backgroundTaskManager?: unknown } | undefined
  getBackgroundTasksConfig?(): MastraBackground | undefined
  listConfiguredInputProcessors?(requestContext?: unknown): Promise<readonly unknown[]>
  listConfiguredOutputProcessors?(requestContext?: unknown): Promise<readonly unknown[]>
  /** Those that are given to the agent, as they are given. */
  listTools?(asked?: object): MastraTools | Promise<MastraTools>
  listWorkflows?(asked?: object): Promise<Readonly<Record<string, MastraWorkflow>>>
}

/** What a call of an agent gives: of `stream()`, before it is over. */
export interface MastraResult {
  readonly text?: unknown
  readonly runId?: string
  readonly finishReason?: unknown
  readonly suspendPayload?: unknown
  /** What a processor said that ended it. */
  readonly tripwire?: unknown
  /** Of a stream. */
  readonly status?: string
  readonly error?: unknown
  _waitUntilFinished?(): Promise<void>
}

export type MastraTools = Readonly<Record<string, MastraTool>>

/** A tool as the loop runs it. */
export interface MastraTool {
  /** That of the tool that the agent was given. */
  readonly id?: unknown
  readonly type?: string
  readonly description?: unknown
  readonly parameters?: unknown
  readonly inputSchema?: unknown
  readonly backgroundConfig?: { readonly enabled?: boolean }
  /** Of a tool of an MCP server, as long as the loop has not made it its own. */
  readonly mcpMetadata?: { readonly serverName?: unknown }
  /** What the model is told of its result. */
  readonly toModelOutput?: (result: unknown) => unknown
  readonly execute?: (input: unknown, options?: MastraToolOptions) => unknown
}

/** Which tools of an agent may run in the background. */
export interface MastraBackground {
  readonly disabled?: boolean
  readonly tools?: 'all' | Readonly<Record<string, boolean | { readonly enabled?: boolean }>>
}

export interface MastraToolOptions {
  readonly toolCallId?: string
  readonly abortSignal?: AbortSignal
  readonly suspend?: (payload: unknown, options?: unknown) => Promise<unknown>
  readonly resumeData?: unknown
  /** The loop goes on without it. */
  readonly isBackgroundTask?: boolean
}

export interface MastraWorkflow {
  readonly id?: string
  readonly stepFlow?: readonly unknown[]
  /** `default`: in the process, where it is called. */
  readonly engineType?: string
  readonly mastra?: { getTool?(id: string): unknown }
}

/** A tool that is a step of a workflow, or belongs to an agent. */
export interface MastraWorkflowTool {
  readonly id: string
  readonly description?: unknown
  execute?(input: unknown, context?: InnerContext): unknown
}

/** What code that calls a tool by itself hands to it. */
export interface InnerContext {
  readonly agent?: Suspending
  readonly workflow?: Suspending
}

export interface Suspending {
  readonly suspend?: (...payload: unknown[]) => unknown
}
