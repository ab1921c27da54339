import { type ApprovalRecord, type ApprovalStore, createApprovals, memoryStore } from 'hookspan/approval'
import type { ApprovalAnswer, ApprovalRequest } from 'hookspan/gates'
import type { CallPlan, ToolKind } from './plan.ts'

interface Due {
  readonly id: string
  readonly at: number
  readonly kind: ToolKind
  answered: boolean
}

/** Whoever is asked about calls, and the store that outlives the processes. */
export class Humans {
  /** Requests that were asked, by their call. */
  readonly asked = new Map<string, Set<string>>()
  readonly #plans: ReadonlyMap<string, CallPlan>
  readonly #store = memoryStore()
  readonly #desk = createApprovals({ store: this.#store })
  readonly #due: Due[] = []

  constructor(plans: ReadonlyMap<string, CallPlan>) {
    this.#plans = plans
  }

  /** Milliseconds until the first of these is answered. */
  msUntil(ids: readonly string[]): number {
    const ahead = this.#due.filter(({ id, at }) => ids.includes(id) && at > Date.now())
    return Math.min(...ahead.map(({ at }) => at - Date.now()))
  }

  /** The store, as one process reaches it. */
  told(now: (what: string) => Promise<void>): ApprovalStore {
    const changing = ['add', 'answer', 'close', 'claim', 'settle'] as const
    const watched = changing.map((name) => [
      name,
      async (...args: never[]) => {
        await now(`before ${name} of a question`)
        const given = await (this.#store[name] as (...args: never[]) => Promise<unknown>)(...args)
        if (name === 'add') await this.#isAsked((given as ApprovalRecord).request)
        await now(`after ${name} of a question`)
        return given
      },
    ])
    return { ...this.#store, ...Object.fromEntries(watched) }
  }

  async #isAsked({ id, toolCallId, requestedAt }: ApprovalRequest): Promise<void> {
    const before = this.asked.get(toolCallId) ?? new Set()
    this.asked.set(toolCallId, before.add(id))
    const { kind, afterMs = 0 } = this.#plans.get(toolCallId) as { kind: ToolKind; afterMs?: number }
    if (kind === 'unanswered' || this.#due.some((one) => one.id === id)) return
    this.#due.push({ id, kind, at: requestedAt + afterMs, answered: false })
    await this.answer()
  }

  async answer(): Promise<void> {
    for (const one of this.#due) {
      if (one.answered || one.at > Date.now()) continue
      one.answered = true
      if ((await this.#store.get(one.id))?.status !== 'pending') continue
      await this.#desk.respond(one.id, answerOf(one.kind))
    }
  }

  /** All that were ever asked. */
  requests(): Promise<ApprovalRecord[]> {
    return this.#store.list({ limit: 1_000 })
  }
}

function answerOf(kind: ToolKind): ApprovalAnswer {
  if (kind === 'stops') return { decision: 'reject', stop: true }
  return { decision: kind === 'refused' ? 'reject' : 'approve' }
}
