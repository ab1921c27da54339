/** What is used of the `ai` package, by its shape: nothing of it is imported. */

export interface ToolOptions {
  readonly toolCallId: string
  readonly [more: string]: unknown
}

export interface SdkTool {
  execute?: (input: unknown, options: ToolOptions) => unknown
  readonly needsApproval?: unknown
  readonly type?: string
  /** Of one that a provider defines: whether it runs it, too. */
  readonly isProviderExecuted?: boolean
  readonly description?: unknown
  readonly inputSchema?: unknown
  readonly outputSchema?: unknown
  readonly experimental_toolCaller?: unknown
  /** What the model is told of its output. */
  readonly toModelOutput?: (asked: ModelOutputAsked) => unknown
}

/** A provider defines tools that are run here, too, by their `execute` or by the client: shells, editors, computers. */
export function ranByProvider({ type, isProviderExecuted, execute }: SdkTool): boolean {
  return type === 'provider' && isProviderExecuted !== false && execute === undefined
}

export interface ModelOutputAsked {
  readonly toolCallId: string
  readonly output: unknown
}

/** Of a tool that is run with tools which it calls by itself. */
export interface LocalCaller {
  readonly type: 'local'
  readonly bind: (tools: SdkTools) => SdkTool
}

export type SdkTools = Readonly<Record<string, SdkTool>>

/** How a call is to be treated, as the SDK's `toolApproval` answers. */
export type ApprovalStatus =
  | string
  | { readonly type: string; readonly reason?: string | undefined }
  | null
  | undefined

/** What a per-tool approval is given beside the input. */
export interface ApprovalOptions {
  readonly toolCallId: string
  readonly messages: unknown
  readonly toolContext: unknown
  readonly runtimeContext: unknown
}

export interface SdkToolCall {
  readonly toolCallId: string
  readonly toolName: string
  readonly input: unknown
  readonly providerExecuted?: boolean
}

export type ApproveAny = (asked: {
  readonly toolCall: SdkToolCall
  readonly [more: string]: unknown
}) => unknown

/** Versions 2 to 4 of the SDK's models, as far as they are called. */
export interface SdkModel {
  readonly specificationVersion: string
  readonly provider: string
  readonly modelId: string
  doGenerate?: (options: SdkModelOptions) => PromiseLike<unknown>
  doStream?: (options: SdkModelOptions) => PromiseLike<SdkStreamReply>
  doEmbed?: (options: SdkModelOptions) => PromiseLike<unknown>
  doRerank?: (options: SdkModelOptions) => PromiseLike<unknown>
}

export type SdkModelOptions = Readonly<Record<string, unknown>>

export interface SdkStreamReply {
  readonly stream: ReadableStream<unknown>
  readonly [more: string]: unknown
}

type Callback = ((event: never) => unknown) | undefined

/** What the SDK's functions are called with, as far as it is looked at. */
export interface SdkArguments {
  readonly model?: unknown
  readonly tools?: SdkTools
  readonly toolApproval?: unknown
  readonly prompt?: unknown
  readonly messages?: unknown
  readonly instructions?: unknown
  readonly system?: unknown
  readonly abortSignal?: AbortSignal
  readonly stopWhen?: unknown
  readonly prepareStep?: (options: { readonly model: unknown; readonly stepNumber: number }) => unknown
  readonly telemetry?: SdkTelemetry
  readonly experimental_telemetry?: SdkTelemetry
  readonly onStepStart?: Callback
  readonly experimental_onStepStart?: Callback
  readonly onStepEnd?: Callback
  readonly onStepFinish?: Callback
  readonly onChunk?: Callback
  readonly onEnd?: Callback
  readonly onFinish?: Callback
  readonly onError?: Callback
  readonly [more: PropertyKey]: unknown
}

export interface SdkTelemetry {
  readonly functionId?: string
  readonly integrations?: unknown
}

export type SdkFunction = (args: SdkArguments, ...more: unknown[]) => unknown
