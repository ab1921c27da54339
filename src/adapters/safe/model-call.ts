import type { LlmCallDecision, LlmCallInit, OpenLlmCall } from '../../dispatcher/index.ts'
import type { LlmResponse } from '../../hooks/index.ts'
import { isThenable } from '../../internal/async.ts'
import type { Failures } from './failures.ts'

const WHAT = 'Model call'

/** {@link OpenLlmCall}, whose request is made as it would be without us where we fail and nobody was to decide on it. */
export class SafeModelCall<R = unknown> {
  readonly #failures: Failures
  readonly #init: LlmCallInit<R>
  readonly #call: OpenLlmCall<R> | undefined

  constructor(failures: Failures, init: LlmCallInit<R>, call: OpenLlmCall<R> | undefined) {
    this.#failures = failures
    this.#init = init
    this.#call = call
  }

  get decided(): Promise<LlmCallDecision<R>> {
    return this.#decide()
  }

  /** The same where it is known at once. */
  get decision(): LlmCallDecision<R> | undefined {
    return this.#failures.quietly(() => this.#call?.decision)
  }

  async #decide(): Promise<LlmCallDecision<R>> {
    try {
      if (this.#call !== undefined) return await this.#call.decided
    } catch (error) {
      this.#failures.note(error)
    }
    this.#failures.refuse(WHAT, 'onStart', 'beforeLlmCall', 'afterLlmCall')
    const { request } = this.#init
    return {
      state: 'run',
      request,
      signal: this.#failures.core?.signal,
      traceparent: undefined,
      gated: false,
    }
  }

  get replaced(): LlmResponse | undefined {
    return this.#failures.quietly(() => this.#call?.replaced)
  }

  run<T>(fn: () => T): T {
    const call = this.#call
    return call === undefined ? fn() : this.#failures.around((inner) => call.run(inner), fn)
  }

  noteResponse(response: unknown): void {
    this.#failures.quietly(() => this.#call?.noteResponse(response))
  }

  noteAnswered(reply?: R): void {
    this.#failures.quietly(() => this.#call?.noteAnswered(reply))
  }

  get isOpen(): boolean {
    return this.#failures.quietly(() => this.#call?.isOpen) ?? false
  }

  settle(reply: R): R | Promise<R> {
    const failed = (error: unknown) => {
      this.#failures.note(error)
      this.#failures.refuse(WHAT, 'afterLlmCall')
      return reply
    }
    try {
      const settled = this.#call === undefined ? reply : this.#call.settle(reply)
      return isThenable(settled) ? (settled as Promise<R>).catch(failed) : settled
    } catch (error) {
      return failed(error)
    }
  }

  fail(error: unknown): void {
    this.#failures.quietly(() => this.#call?.fail(error))
  }
}
