/** What is used of `@google/adk`, by its shape: nothing of it is imported. */

import type { Loose } from '../../wire/reading.ts'

export interface AdkContent {
  readonly role?: string
  readonly parts?: readonly Loose[]
}

export interface AdkEvent {
  readonly author?: string
  readonly invocationId?: string
  content?: AdkContent
  readonly partial?: boolean
}

export interface AdkAgent {
  readonly name?: string
  runAsync(context: AdkInvocation): AsyncGenerator<AdkEvent, void>
  runLive(context: AdkInvocation): AsyncGenerator<AdkEvent, void>
  readonly canonicalModel?: AdkModel
  findAgent?(name: string): AdkAgent | undefined
  findSubAgent?(name: string): AdkAgent | undefined
  readonly rootAgent?: AdkAgent
  readonly subAgents?: readonly AdkAgent[]
  /** Tools, toolsets, and agents or workflows that are made tools of. */
  readonly tools?: readonly object[]
  /** Runs the code that its model writes. */
  readonly codeExecutor?: AdkCodeExecutor
}

export interface AdkCodeExecutor {
  executeCode(asked: AdkExecution): Promise<AdkCodeResult>
}

export interface AdkExecution {
  readonly invocationContext?: AdkInvocation
  readonly codeExecutionInput: Loose
}

export interface AdkCodeResult {
  readonly stdout: string
  /** Where it is not empty, the code has failed. */
  readonly stderr: string
  readonly outputFiles: readonly unknown[]
}

export interface AdkPluginManager {
  getPlugin(name: string): unknown
  registerPlugin(plugin: object): void
  runBeforeRunCallback?(asked: { invocationContext: AdkInvocation }): Promise<AdkContent | undefined>
  runBeforeNodeCallback?(asked: { node?: AdkFunctionNode | AdkAgent; nodeContext: AdkNode }): Promise<unknown>
}

/** A node of a workflow that is the user's own function. */
export interface AdkFunctionNode {
  readonly handler?: unknown
  runImpl(context: AdkNode, ...input: unknown[]): AsyncGenerator<unknown, void>
}

/** Where a node of a workflow runs. */
export interface AdkNode {
  readonly invocationContext: AdkInvocation
  readonly channel?: AdkChannel
}

/** What the events of a workflow go through. Closed once by the workflow and once by who reads them, or failed by the workflow. */
export interface AdkChannel {
  close(): void
  fail(error: unknown): void
}

export interface AdkSessionService {
  appendEvent(asked: { readonly event?: AdkEvent }): Promise<unknown>
}

/** One call of a runner; agents below it have a copy with the same id. */
export interface AdkInvocation {
  readonly invocationId: string
  agent?: AdkAgent
  userContent?: AdkContent
  readonly session?: { readonly events?: readonly AdkEvent[] }
  readonly sessionService?: AdkSessionService
  readonly abortSignal?: AbortSignal
  /** Of a live run, which has no message. */
  readonly liveRequestQueue?: unknown
  readonly pluginManager?: AdkPluginManager
}

export interface AdkRequest {
  readonly model?: string
  readonly contents: readonly AdkContent[]
  readonly config?: Loose
  readonly toolsDict: Record<string, AdkTool>
}

export interface AdkResponse {
  readonly content?: AdkContent
  readonly partial?: boolean
  readonly finishReason?: unknown
  readonly errorCode?: unknown
  readonly errorMessage?: unknown
  readonly usageMetadata?: unknown
  readonly groundingMetadata?: unknown
  readonly citationMetadata?: unknown
}

export interface AdkModel {
  readonly model?: string
  generateContentAsync(
    request: AdkRequest,
    stream?: boolean,
    signal?: AbortSignal,
  ): AsyncGenerator<AdkResponse, void>
}

export interface AdkTool {
  readonly name: string
  readonly description?: string
  /** The agent that the tool asks, where it is one. */
  readonly agent?: AdkAgent
  runAsync(call: AdkToolCall): Promise<unknown>
  processLlmRequest?(asked: object): Promise<void>
  readonly parameters?: unknown
}

/** Gives tools, which may be others each time. */
export interface AdkToolset {
  getTools(context?: object): Promise<readonly AdkTool[]>
}

export interface AdkToolCall {
  readonly args: Loose
  readonly toolContext: {
    readonly functionCallId?: string
    readonly invocationContext?: AdkInvocation
    /** What a human said to the SDK's own question about the call. */
    readonly toolConfirmation?: { readonly confirmed?: boolean }
    readonly actions?: { readonly requestedToolConfirmations?: Loose }
  }
}

export function textOf(content: AdkContent | undefined): string {
  return (content?.parts ?? [])
    .map(({ text, thought }) => (typeof text === 'string' && thought !== true ? text : ''))
    .join('')
}

/** What gates made of an input, as the SDK takes it. */
export function contentOf(input: unknown): AdkContent | undefined {
  if (typeof input === 'string') return { role: 'user', parts: [{ text: input }] }
  const [content] = Array.isArray(input) ? (input as AdkContent[]) : []
  return content
}

/** The message of a run is in its session by now. */
export function askInstead(context: AdkInvocation, input: unknown): void {
  const { session, invocationId } = context
  const said = session?.events?.findLast((one) => one.author === 'user' && one.invocationId === invocationId)
  const content = contentOf(input) ?? context.userContent
  context.userContent = content
  if (said !== undefined) said.content = content
}
