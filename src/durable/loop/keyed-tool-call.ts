import { RunSuspended } from '../../dispatcher/calls/suspended.ts'
import { erroredOutcome } from '../../dispatcher/calls/tool-outcome.ts'
import type {
  OpenToolCall,
  ToolCallDecision,
  ToolCallInit,
  ToolFunction,
  ToolOutcome,
} from '../../dispatcher/index.ts'
import type { LoopKeeper } from './keeper.ts'
import { keptOutcome, outcomeFrom } from './records.ts'

/**
 * A tool call of a durable loop. That it is at work is kept before its tool is run, and what came of it before the loop has that: the
 * next process knows of each call whether it was made.
 */
export class KeyedToolCall<A, R> {
  readonly #loop: LoopKeeper
  readonly #turn: number
  readonly #init: ToolCallInit<A> & { readonly toolCallId: string }
  readonly #key: string
  readonly #outcome = Promise.withResolvers<ToolOutcome<R>>()
  #real: OpenToolCall<A, R> | undefined
  #decided: Promise<ToolCallDecision<A, R>> | undefined
  #begun: Promise<void> | undefined

  /** The loop itself makes it, and not an SDK in it. */
  readonly #own: boolean

  constructor(loop: LoopKeeper, turn: number, init: ToolCallInit<A>, own = false) {
    const { toolCallId = '', apiName, idempotent = loop.isIdempotent(apiName) } = init
    this.#loop = loop
    this.#turn = turn
    this.#own = own
    this.#key = loop.keyOf(`turn ${turn} tool ${apiName} ${toolCallId}`)
    // By its id a call is known that waited, or was at work, in another process.
    this.#init = { ...init, idempotent, toolCallId: toolCallId === '' ? this.#key : toolCallId }
  }

  get decided(): Promise<ToolCallDecision<A, R>> {
    this.#decided ??= this.#decide()
    return this.#decided
  }

  get outcome(): Promise<ToolOutcome<R>> {
    return this.#outcome.promise
  }

  get args(): A {
    return this.#real?.args ?? this.#init.args
  }

  get callKey(): string {
    return this.#real?.callKey ?? this.#key
  }

  async #decide(): Promise<ToolCallDecision<A, R>> {
    const { apiName, toolCallId } = this.#init
    const kept = this.#loop.keptOf(this.#key, apiName)
    if (kept?.outcome !== undefined) {
      const outcome = outcomeFrom(kept.outcome, toolCallId) as ToolOutcome<R>
      this.#outcome.resolve(outcome)
      return outcome
    }
    return this.#loop.atWorkAgain(async () => {
      await this.#loop.metAll(apiName)
      const step = await this.#loop.steps.of(this.#turn)
      this.#real = step.openToolCall<A, R>(this.#init)
      const decided = await this.#real.decided
      if (decided.state === 'waiting' && decided.request !== undefined)
        return this.#loop.waits(decided.request)
      if (decided.state !== 'run') return this.#ended(decided)
      this.#hold(this.#real)
      return decided
    })
  }

  /** Decided, and not run yet: an SDK may let all calls of a turn be decided before it runs one of them. */
  #hold(real: OpenToolCall<A, R>): void {
    this.#loop.hold(real.callKey, async () => {
      await real.run(() => {
        throw new RunSuspended()
      })
    })
    void real.outcome.then((outcome) => {
      if (outcome.state !== 'waiting' || this.#begun !== undefined) return this.#ended(outcome)
    })
  }

  /** Until it is kept that its tool is at work: from then on it is not run again. */
  begin(): Promise<void> {
    this.#begun ??= this.#begin()
    return this.#begun
  }

  #begin(): Promise<void> {
    const begun = Promise.withResolvers<void>()
    const done = this.#loop.atWork(async () => {
      this.#loop.begins(this.callKey)
      const begins = this.#own ? { begins: this.#key } : {}
      await this.#loop.keep(`${this.#key} begins`, { name: this.#init.apiName, ...begins })
      begun.resolve()
      await this.outcome
    })
    done.catch(begun.reject)
    return begun.promise
  }

  async run(body: ToolFunction<A, R>): Promise<ToolOutcome<R>> {
    const decided = await this.decided
    if (decided.state !== 'run') return decided
    await this.begin()
    await this.#real?.run(body)
    return this.outcome
  }

  get refused(): Promise<ToolOutcome<R>> | undefined {
    return this.#real?.refused && this.outcome
  }

  enter<T>(fn: () => T): T {
    return this.#real === undefined ? fn() : this.#real.enter(fn)
  }

  async settle(result: R): Promise<ToolOutcome<R>> {
    await this.#real?.settle(result)
    return this.outcome
  }

  async fail(error: unknown): Promise<ToolOutcome<R>> {
    await this.#real?.fail(error)
    return this.outcome
  }

  async #ended(given: ToolOutcome<R>): Promise<ToolOutcome<R>> {
    const { apiName, toolCallId } = this.#init
    const outcome =
      given.state === 'waiting'
        ? erroredOutcome<R>(new Error('The call waits for a human inside of another call.'), toolCallId)
        : given
    this.#loop.told(this.callKey)
    await this.#loop.keep(this.#key, { name: apiName, outcome: keptOutcome(outcome as never) })
    this.#outcome.resolve(outcome)
    return outcome
  }
}
