import type { LlmCallInit } from '../dispatcher/index.ts'
import type { LlmRequest } from '../hooks/index.ts'
import { unref } from '../internal/async.ts'
import type { WireFormat } from '../wire/format.ts'
import { asObject } from '../wire/reading.ts'
import type { SafeCalls } from './safe/calls.ts'
import type { SafeModelCall } from './safe/model-call.ts'

/** Providers keep for ten minutes what was made in the background and is not to be stored. */
const FORGOTTEN_MS = 15 * 60_000
const MOST_KNOWN = 1_000

/** A model call whose reply is made in the background. */
export interface BackgroundCall {
  readonly format: WireFormat
  readonly init: LlmCallInit
  readonly call: SafeModelCall
  /** Whether gates decide on the reply. */
  readonly gated: boolean
  /** Ends the run that was made for this call alone, if it was. */
  readonly end: (() => void) | undefined
  /** Told what becomes of the reply, which is given only then. */
  readonly finish?: (reply: Promise<unknown>) => Promise<unknown>
}

/** Where a model call of such a request would be made now. */
export type Here = (request: LlmRequest) => SafeCalls | Promise<SafeCalls>

/** By their id. Of the process, because whoever looks may have made a client of its own. Oldest first. */
const known = new Map<string, BackgroundReply>()
let endsAtExit = false

/**
 * A reply that its provider makes while nobody waits for it. Whoever asked is given a note of it at once, and looks later
 * whether it is made. Only then its model call ends, with what it cost, and gates decide on what it says.
 */
export class BackgroundReply {
  readonly #id: string
  readonly #made: BackgroundCall
  #timer: NodeJS.Timeout | undefined
  #seen = false
  /** What became of it. */
  #given: unknown

  private constructor(id: string, made: BackgroundCall) {
    this.#id = id
    this.#made = made
  }

  /** Whether a provider's answer says that the reply is made in the background. */
  static begins(answer: unknown, made: BackgroundCall): boolean {
    const id = unmadeId(made.format, answer)
    if (id === undefined) return false
    const [oldest] = known.keys()
    if (known.size >= MOST_KNOWN && oldest !== undefined) known.delete(oldest)
    const reply = new BackgroundReply(id, made)
    known.set(id, reply)
    reply.#notYet(answer)
    if (!endsAtExit) process.on('beforeExit', endOwnRuns)
    endsAtExit = true
    return true
  }

  static of(id: string): BackgroundReply | undefined {
    return known.get(id)
  }

  /** Whether nobody may see the reply before gates have decided on it. */
  get gated(): boolean {
    return this.#made.gated
  }

  /**
   * What somebody sees who looks: the reply, or that it is not made yet.
   *
   * @param here where a model call is made of it, if the run that asked is over.
   * @returns what they are given: the same, or what a gate put in its place. A promise of it where gates decide, which
   * rejects where they refuse.
   */
  seen(reply: unknown, here: Here): unknown {
    const { call, format, gated, finish } = this.#made
    // Whoever looks once more is not shown what gates did not let through.
    if (this.#seen) return gated ? this.#given : reply
    if (unmadeId(format, reply) !== undefined) {
      this.#notYet(reply)
      return reply
    }
    this.#seen = true
    clearTimeout(this.#timer)
    if (!gated) known.delete(this.#id)
    if (call.isOpen) {
      const given = call.settle(reply)
      this.#given = finish === undefined ? given : finish(Promise.resolve(given))
    } else this.#given = this.#seenLate(reply, here)
    return this.#given
  }

  async #seenLate(reply: unknown, here: Here): Promise<unknown> {
    const { init } = this.#made
    const call = (await here(init.request)).openLlmCall(init)
    const decided = await call.decided
    return decided.state === 'answered' ? decided.reply : call.settle(reply)
  }

  #notYet(answer: unknown): void {
    this.#made.call.noteAnswered(answer)
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#forgotten(), FORGOTTEN_MS)
    unref(this.#timer)
  }

  /** A run that is there for this alone does not wait for ever; and what holds its request is let go of, unless gates ask for it. */
  #forgotten(): void {
    this.endOwnRun()
    if (!this.gated) known.delete(this.#id)
  }

  endOwnRun(): void {
    if (this.#made.call.isOpen) this.#made.end?.()
  }
}

/** What was asked for is with the provider: the program that ends now has done its part. */
function endOwnRuns(): void {
  for (const reply of known.values()) reply.endOwnRun()
}

/** The id of a reply that is not made yet. */
function unmadeId(format: WireFormat, answer: unknown): string | undefined {
  const told = asObject(answer)
  return told && format.unmade?.(told)
}
