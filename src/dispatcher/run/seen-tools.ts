import type { LlmRequest } from '../../hooks/index.ts'
import { mayMeanTool } from '../../internal/glob.ts'
import { toolDefinitions } from '../../wire/request.ts'
import { fits, mayFit, type RunTool } from './run-tool.ts'

/** The tools of a run and of all that it calls: what is said of them, what models are offered, and what is called. */
export class SeenTools {
  readonly #above: SeenTools | undefined
  readonly #tools = new Map<string, RunTool>()
  readonly #offered = new Set<string>()
  readonly #called = new Set<string>()
  /** Runs whose tools nobody has listed: this one, and those below. */
  #unlisted = 0
  #listed = false

  constructor(tools: readonly RunTool[] | undefined, above: SeenTools | undefined) {
    // Not those of another copy of hookspan, in whose run this one is: their fields are out of reach.
    this.#above = above !== undefined && #above in above ? above : undefined
    this.#each((seen) => seen.#unlisted++)
    if (tools?.length === 0) this.#isListed()
    this.list(tools)
  }

  #each(of: (seen: SeenTools) => void): void {
    for (let seen: SeenTools | undefined = this; seen !== undefined; seen = seen.#above) of(seen)
  }

  /** What the run has, or a part of it: that may be all. */
  list(tools: readonly RunTool[] = []): void {
    for (const tool of tools) this.#add(tool)
    if (tools.length > 0) this.#isListed()
  }

  #isListed(): void {
    if (this.#listed) return
    this.#listed = true
    this.#each((seen) => seen.#unlisted--)
  }

  #add(tool: RunTool): void {
    this.#each((seen) => seen.#tools.set(`${tool.identifier ?? 'local'}/${tool.name}`, tool))
  }

  /** What a model is offered are the tools of a run that says nothing of them. */
  offered(request: LlmRequest): void {
    const names = toolDefinitions(request).map(({ name }) => String(name))
    if (names.length === 0) return
    this.#each((seen) => {
      for (const name of names) seen.#offered.add(name)
    })
    this.#isListed()
  }

  called(tool: RunTool): void {
    this.#add(tool)
    this.#each((seen) => seen.#called.add(tool.name))
  }

  /** Whether all names are known, and there are any. */
  get isWhole(): boolean {
    return this.#unlisted === 0 && this.names.length > 0 && !this.#tools.has('local/*')
  }

  get names(): string[] {
    return [...new Set([...[...this.#tools.values()].map(({ name }) => name), ...this.#offered])]
  }

  /** Each may be one that calls an agent. */
  get hasUncalled(): boolean {
    return this.names.some((name) => !this.#called.has(name))
  }

  has(pattern: string | RegExp): boolean {
    return (
      [...this.#tools.values()].some((tool) => fits(pattern, tool) || mayMean(pattern, tool)) ||
      [...this.#offered].some((name) => mayFit(pattern, name))
    )
  }
}

/** How a tool is reached is not known before it is called: it may be of an MCP server. */
function mayMean(pattern: string | RegExp, { name: apiName, identifier }: RunTool): boolean {
  return (
    typeof pattern === 'string' &&
    identifier !== undefined &&
    mayMeanTool(pattern, { apiName, identifier, source: 'mcp' })
  )
}
