import type { Loose } from '../../wire/reading.ts'

/** What is used of `@github/copilot-sdk`, whatever its types are called. */
export interface CopilotClient {
  readonly options?: { readonly telemetry?: unknown }
  /** What Copilot's process is started with. */
  buildRuntimeEnv?(): Readonly<Record<string, string | undefined>>
  createSession(config: CopilotConfig): Promise<CopilotSession>
  resumeSession(sessionId: string, config: CopilotConfig): Promise<CopilotSession>
}

export interface CopilotSession {
  readonly sessionId: string
  /** Below which span Copilot's own are to lie. */
  traceContextProvider?: () => unknown
  send(options: Prompt): Promise<string>
  sendAndWait(options: Prompt, timeoutMs?: number): Promise<unknown>
  abort(): Promise<void>
  disconnect(): Promise<void>
  /** The SDK's own: its client was stopped, or its process is gone. */
  _markDisconnected?(): void
  on(handler: (event: CopilotEvent) => void): () => void
  /** All that was said in it, also by processes before. */
  getEvents(): Promise<readonly CopilotEvent[]>
  readonly rpc: {
    suspend(): Promise<unknown>
    readonly tools: { handlePendingToolCall(answer: Loose): Promise<unknown> }
  }
}

export type Prompt = string | ({ readonly prompt: string } & Loose)

export interface CopilotEvent {
  readonly type: string
  readonly data?: Loose
  /** Set where an agent says it that Copilot has called. */
  readonly agentId?: string
}

export interface CopilotConfig {
  readonly model?: string
  readonly agent?: string
  readonly tools?: readonly CopilotTool[]
  readonly hooks?: CopilotHooks
  readonly provider?: { readonly type?: string }
  readonly systemMessage?: { readonly mode?: string; readonly content?: string }
  readonly availableTools?: unknown
}

export interface CopilotTool {
  readonly name: string
  readonly description?: string
  readonly parameters?: unknown
  /** Without it whoever hears of a call answers it (`rpc.tools.handlePendingToolCall`), in which process ever. */
  readonly handler?: ToolHandler
}

/** Whether it is a tool that the session was given, with its code. */
export function isRunHere({ tools = [] }: CopilotConfig, name: string): boolean {
  return tools.some((tool) => tool.name === name && tool.handler !== undefined)
}

export type ToolHandler = (args: unknown, invocation: ToolInvocation) => unknown

export interface ToolInvocation {
  readonly toolCallId: string
  readonly sessionId?: string
  readonly toolName?: string
  readonly arguments?: unknown
  readonly signal?: AbortSignal
}

export type Hook = (input: Loose, invocation: unknown) => unknown

export interface CopilotHooks {
  readonly onPreToolUse?: Hook
  readonly onPostToolUse?: Hook
  readonly onPostToolUseFailure?: Hook
}
