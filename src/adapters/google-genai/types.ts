import type { Loose } from '../../wire/reading.ts'

/** A request as the SDK takes it. */
export interface Params {
  readonly model: string
  readonly contents: unknown
  readonly config?: Loose & { readonly abortSignal?: AbortSignal; readonly tools?: readonly unknown[] }
}

/** What speaks HTTP for all of the client. */
export interface ApiClient {
  request(request: unknown): Promise<HttpResponse>
  requestStream(request: unknown): Promise<AsyncGenerator<HttpResponse>>
  isVertexAI?(): boolean
  getBaseUrl?(): string
  getTimeout?(): number | undefined
  getDefaultHeaders?(): Readonly<Record<string, string>>
}

export interface HttpResponse {
  readonly headers: Readonly<Record<string, string>>
  json(): Promise<unknown>
}

/** What is used of `client.models`. */
export interface Models {
  readonly apiClient: ApiClient
  generateContent(params: Params): Promise<unknown>
  generateContentStream(params: Params): Promise<AsyncGenerator<unknown>>
  /** One request of the above, which make several. */
  generateContentInternal(params: Params): Promise<unknown>
  generateContentStreamInternal(params: Params): Promise<AsyncGenerator<unknown>>
}

/** A request of the Interactions API: of a model, or of an agent of Google's. */
export interface InteractionParams extends Loose {
  readonly model?: unknown
  readonly agent?: unknown
  readonly input?: unknown
}

export interface RequestOptions extends Loose {
  readonly signal?: AbortSignal | null
}

/** What is used of `client.interactions`. */
export interface Interactions {
  create(params: InteractionParams, options?: RequestOptions): Promise<unknown>
  get?(id: string, params?: Loose, options?: RequestOptions): Promise<unknown>
  cancel?(id: string, params?: Loose, options?: RequestOptions): Promise<unknown>
}

/** A tool that the SDK runs. */
export interface CallableTool {
  tool(): Promise<{ readonly functionDeclarations?: readonly FunctionDeclaration[] }>
  callTool(calls: readonly FunctionCall[]): Promise<readonly Loose[]>
}

interface FunctionDeclaration {
  readonly name?: string
  readonly description?: string
}

export interface FunctionCall {
  readonly id?: string
  readonly name?: string
  readonly args?: Loose
}
