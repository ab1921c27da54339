import { asName, asObject, type Loose } from '../../wire/reading.ts'
import type { CopilotEvent, CopilotSession } from './sdk.ts'

/**
 * The calls of a turn, and which of them wait for a human elsewhere. Once Copilot has the results of all others it is told to
 * suspend the session: what it was not answered then is pending, and is asked for when the session goes on in any process.
 */
export class WaitingCalls {
  readonly #session: () => CopilotSession | undefined
  /** How many calls of an id are under way: models repeat ids. */
  readonly #underWay = new Map<string, number>()
  /** Calls of the user's tools, by what Copilot asked for them with. */
  readonly #requests = new Map<string, string>()
  #waiting = 0
  readonly #suspended = Promise.withResolvers<void>()
  #suspending = false
  #hasTurn = false

  constructor(session: () => CopilotSession | undefined) {
    this.#session = session
    this.#suspended.promise.catch(() => {})
  }

  /** Once the session is suspended; rejects with why it cannot be. */
  get suspended(): Promise<void> {
    return this.#suspended.promise
  }

  hear({ type, data = {} }: CopilotEvent): void {
    const id = asName(data.toolCallId)
    if (type === 'assistant.turn_start') this.#hasTurn = true
    if (type === 'tool.execution_start' && id !== undefined) this.began(id)
    if (type === 'external_tool.requested' && id !== undefined) {
      this.#requests.set(asName(data.requestId) ?? '', id)
    }
    if (type === 'external_tool.completed') this.ended(this.#requests.get(asName(data.requestId) ?? ''))
    if (type === 'permission.completed' && asName(asObject(data.result)?.kind) !== 'approved') this.ended(id)
  }

  began(id: string): void {
    this.#underWay.set(id, (this.#underWay.get(id) ?? 0) + 1)
  }

  ended(id: string | undefined): void {
    const left = (this.#underWay.get(id ?? '') ?? 0) - 1
    if (left > 0) this.#underWay.set(id as string, left)
    else this.#underWay.delete(id ?? '')
    this.#suspend()
  }

  waits(id: string): void {
    this.#waiting++
    this.ended(id)
  }

  #suspend(): void {
    if (this.#waiting === 0 || this.#underWay.size > 0 || this.#suspending) return
    this.#suspending = true
    const session = this.#session()
    // A session that has not gone on is suspended still; Copilot would forget what is pending in it.
    if (session === undefined || !this.#hasTurn) return this.#suspended.resolve()
    // What was answered just now goes first.
    setImmediate(() => session.rpc.suspend().then(() => this.#suspended.resolve(), this.#suspended.reject))
  }
}

/** What Copilot asked the user's tool for in the process that suspended the session. */
export function pendingRequest(
  events: readonly CopilotEvent[],
  toolCallId: string | undefined,
): { readonly requestId: string; readonly args: unknown } | undefined {
  const asked = events.findLast(
    ({ type, data }) => type === 'external_tool.requested' && data?.toolCallId === toolCallId,
  )
  const requestId = asName(asked?.data?.requestId)
  return requestId === undefined ? undefined : { requestId, args: asked?.data?.arguments }
}

/** A result as the SDK hands it to Copilot. */
export function handedOver(result: unknown): unknown {
  if (result === null || result === undefined) return ''
  if (typeof result === 'string') return result
  const { textResultForLlm, resultType } = result as Loose
  if (typeof textResultForLlm === 'string' && typeof resultType === 'string') return result
  return JSON.stringify(result)
}
