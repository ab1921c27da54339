import type { Loose } from '../../wire/reading.ts'

/** What is used of `@anthropic-ai/claude-agent-sdk`, by its shape: nothing of it is loaded here. */

export type HookOutput = Loose

export type HookCallback = (
  input: Loose & { readonly tool_use_id?: string },
  toolUseId: string | undefined,
  context: { readonly signal: AbortSignal },
) => Promise<HookOutput>

export interface HookMatcher {
  readonly matcher?: string
  readonly hooks: readonly HookCallback[]
  /** In seconds. */
  readonly timeout?: number
  readonly onFailure?: 'continue' | 'block'
}

export type CanUseTool = (
  toolName: string,
  input: Loose,
  context: { readonly toolUseID?: string; readonly [more: string]: unknown },
) => Promise<Loose & { readonly behavior: string }>

export interface ClaudeOptions {
  readonly abortController?: AbortController
  readonly agent?: string
  readonly canUseTool?: CanUseTool
  readonly cwd?: string
  readonly env?: Readonly<Record<string, string | undefined>>
  readonly hooks?: Readonly<Record<string, readonly HookMatcher[] | undefined>>
  /** Whether what agents in the foreground say is shown, and not their tools alone. */
  readonly forwardSubagentText?: boolean
  readonly includePartialMessages?: boolean
  readonly mcpServers?: Readonly<Record<string, McpServerConfig>>
  readonly pathToClaudeCodeExecutable?: string
  readonly resume?: string
  /** An object, JSON, or the path of a file. */
  readonly settings?: string | Loose
  readonly spawnClaudeCodeProcess?: unknown
  /** The built-in tools: all of them, where nothing is said. */
  readonly tools?: unknown
}

export interface McpServerConfig {
  readonly type?: string
  /** Of a server in this process. */
  readonly instance?: object
}

export interface QueryParams {
  readonly prompt?: unknown
  readonly options?: ClaudeOptions
}

export interface Message extends Loose {
  readonly type: string
  readonly subtype?: string
  readonly parent_tool_use_id?: string | null
}

export type Query = AsyncGenerator<Message, void>

export type QueryFunction = (params: QueryParams) => Query
