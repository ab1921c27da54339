import { isDeepStrictEqual } from 'node:util'
import type { ToolCallInit } from '../../dispatcher/index.ts'
import { within } from '../../internal/async.ts'
import { asName, type Loose } from '../../wire/reading.ts'
import type { CopilotEvent } from './sdk.ts'

/** What a tool is called, as on every other SDK. */
export type Naming = Pick<ToolCallInit, 'apiName' | 'identifier' | 'source'>

/** Of agents that Copilot calls, its events may come after its questions. What is told in none within this time is the run's. */
export const TOLD_WITHIN_MS = 1_000

export interface AnnouncedCall {
  readonly id: string
  readonly name: unknown
  /** What it is called on the MCP server that it is of. */
  readonly onServer: Naming | undefined
  readonly args: unknown
  /** The agent whose call it is, where it is not the session's own. */
  readonly agentId: string | undefined
  isTaken: boolean
  /** How often a tool of the user's was asked for as this call. */
  asked: number
}

/** The calls that Copilot has announced, and has not told the end of. */
export class AnnouncedCalls {
  #calls: AnnouncedCall[] = []
  #more = Promise.withResolvers<void>()

  hear({ type, data = {}, agentId }: CopilotEvent): void {
    const id = asName(data.toolCallId)
    if (id === undefined) return
    if (type === 'tool.execution_complete') {
      const at = this.#calls.findIndex((one) => one.id === id && one.agentId === agentId)
      if (at >= 0) this.#calls.splice(at, 1)
    }
    if (type !== 'tool.execution_start') return
    const { toolName: name, arguments: args } = data
    this.#calls.push({ id, name, onServer: onServer(data), args, agentId, isTaken: false, asked: 0 })
    this.#more.resolve()
    this.#more = Promise.withResolvers()
  }

  find(id: string | undefined, agentId: string | undefined): AnnouncedCall | undefined {
    return this.#calls.find((one) => one.id === id && one.agentId === agentId)
  }

  /** A call of an agent, of which only its name and arguments are known. */
  async take(agentId: string | undefined, name: string, args: unknown): Promise<AnnouncedCall | undefined> {
    const find = () => {
      const same = this.#calls.filter((one) => !one.isTaken && one.agentId === agentId && one.name === name)
      return same.find((one) => isDeepStrictEqual(one.args, args)) ?? same[0]
    }
    const call = await this.#once(find)
    if (call !== undefined) call.isTaken = true
    return call
  }

  /** Whose call it is. Of two that nothing tells apart each is one in turn, as agents at work at once may share ids. */
  async agentOf(id: string, args: unknown): Promise<string | undefined> {
    const find = () => {
      const same = this.#calls.filter((one) => one.id === id)
      const alike = same.filter((one) => isDeepStrictEqual(one.args, args))
      return (alike.length > 0 ? alike : same).toSorted((one, other) => one.asked - other.asked)[0]
    }
    const call = await this.#once(find)
    if (call !== undefined) call.asked++
    return call?.agentId
  }

  async #once<T>(find: () => T | undefined): Promise<T | undefined> {
    const deadline = performance.now() + TOLD_WITHIN_MS
    for (;;) {
      const found = find()
      const left = deadline - performance.now()
      if (found !== undefined || left <= 0) return found
      await within(left, this.#more.promise)
    }
  }
}

/** Its model is offered `server-tool`, with other signs replaced and cut off where it is long: no server can be read in it. */
function onServer({ mcpServerName, mcpToolName }: Loose): Naming | undefined {
  const [identifier, apiName] = [asName(mcpServerName), asName(mcpToolName)]
  return identifier === undefined || apiName === undefined
    ? undefined
    : { apiName, identifier, source: 'mcp' }
}
