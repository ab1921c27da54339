import type { HookEvent, LlmRequest } from '../hooks/index.ts'
import { a, assertFields, type Fields, required } from '../internal/expect.ts'
import { toolDefinitions } from '../wire/request.ts'

/** A tool as an agent or an MCP server declares it. */
export interface ToolDeclaration {
  name: string
  /** JSON Schema or Standard Schema of the arguments. */
  inputSchema?: unknown
  /** The same for the result. */
  outputSchema?: unknown
}

const DECLARATION: Fields<ToolDeclaration> = {
  name: required(a.name),
  inputSchema: a.value,
  outputSchema: a.value,
}

/** Which tools there are: those that were declared, and those that model requests offer. */
export class ToolCatalog {
  readonly #declared = new Map<string, ToolDeclaration>()
  /** Schemas by operation, because two agents may have different tools of one name, or one of them none. */
  readonly #offered = new Map<string, Map<string, unknown>>()
  readonly #names = new Set<string>()
  /** Operation and name of what a model called, and was not offered. */
  readonly #notOffered = new Set<string>()

  constructor(declared: readonly ToolDeclaration[] = []) {
    for (const tool of declared) {
      assertFields<ToolDeclaration>(tool, DECLARATION, 'a declared tool')
      this.#declared.set(tool.name, tool)
      this.#names.add(tool.name)
    }
  }

  get names(): ReadonlySet<string> {
    return this.#names
  }

  /** The names and schemas that a model is offered, in the shape of any provider. */
  readRequest({ operationId, request }: HookEvent<'beforeLlmCall'>): void {
    for (const { name, inputSchema } of toolsOf(request)) this.note(operationId, name, inputSchema)
  }

  /** What a model calls that was offered others. Tools that it finds by a search, or on a server, are in no list. */
  readReply({ operationId, request, response }: HookEvent<'afterLlmCall'>): void {
    const tools = toolsOf(request)
    if (tools.length === 0 && !offersNone(request)) return
    if (toolDefinitions(request).length !== tools.length) return
    const offered = new Set(tools.map(({ name }) => name))
    for (const { apiName } of response.toolCalls ?? []) {
      if (!offered.has(apiName)) this.#notOffered.add(callIn(operationId, apiName))
    }
  }

  /** Whether a model called what its agent does not have. A program may call tools that no model is offered. */
  isMadeUp({ operationId, apiName }: { readonly operationId: string; readonly apiName: string }): boolean {
    if (this.#declared.has(apiName) || this.#offered.get(operationId)?.has(apiName)) return false
    return this.#notOffered.has(callIn(operationId, apiName))
  }

  /** The tools that the agent of a run was seen to have. */
  namesIn(operationId: string): ReadonlySet<string> {
    return new Set([...this.#declared.keys(), ...(this.#offered.get(operationId)?.keys() ?? [])])
  }

  note(operationId: string, name: string, inputSchema: unknown): void {
    this.#names.add(name)
    let tools = this.#offered.get(operationId)
    if (tools === undefined) {
      tools = new Map()
      this.#offered.set(operationId, tools)
    }
    tools.set(name, inputSchema ?? tools.get(name))
  }

  inputSchema(operationId: string, name: string): unknown {
    return this.#declared.get(name)?.inputSchema ?? this.#offered.get(operationId)?.get(name)
  }

  outputSchema(name: string): unknown {
    return this.#declared.get(name)?.outputSchema
  }

  /** What is known of tool names and their input schemas, the latest of each name. */
  schemas(): Map<string, unknown> {
    const all = new Map<string, unknown>()
    const note = (name: string, schema: unknown) => schema !== undefined && all.set(name, schema)
    for (const tools of this.#offered.values()) for (const [name, schema] of tools) note(name, schema)
    for (const { name, inputSchema } of this.#declared.values()) note(name, inputSchema)
    return all
  }
}

/** A list in which there is nothing: where there is none, the tools may be told nowhere. */
function offersNone({ tools, prompt }: LlmRequest): boolean {
  return Array.isArray(tools) && tools.length === 0 && prompt === undefined
}

const callIn = (operationId: string, name: string) => `${operationId} ${name}`

/** Those of the agent's own: nothing can stand in for what the provider runs. */
export function toolsOf(request: LlmRequest): ToolDeclaration[] {
  return toolDefinitions(request).flatMap(({ type, name, parameters: inputSchema }) =>
    typeof name === 'string' && (type === 'function' || inputSchema !== undefined)
      ? { name, inputSchema }
      : [],
  )
}
