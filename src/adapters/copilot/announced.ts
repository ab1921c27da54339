import { isDeepStrictEqual } from 'node:util'
import { within } from '../../internal/async.ts'
import { asName } from '../../wire/reading.ts'
import type { CopilotEvent } from './sdk.ts'

/** Of agents that Copilot calls, its events may come after its questions. What is told in none within this time is the run's. */
export const TOLD_WITHIN_MS = 1_000

export interface AnnouncedCall {
  readonly id: string
  readonly name: unknown
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
    this.#calls.push({ id, name: data.toolName, args: data.arguments, agentId, isTaken: false, asked: 0 })
    this.#more.resolve()
    this.#more = Promise.withResolvers()
  }

  find(id: string | undefined, agentId: string | undefined): AnnouncedCall | undefined {
    return this.#calls.find((one) => one.id === id && one.agentId === agentId)
  }

  /** The id of a call of an agent, of which only its name and arguments are known. */
  async take(agentId: string | undefined, name: string, args: unknown): Promise<string | undefined> {
    const find = () => {
      const same = this.#calls.filter((one) => !one.isTaken && one.agentId === agentId && one.name === name)
      return same.find((one) => isDeepStrictEqual(one.args, args)) ?? same[0]
    }
    const call = agentId === undefined ? find() : await this.#once(find)
    if (call !== undefined) call.isTaken = true
    return call?.id
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
