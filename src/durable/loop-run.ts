import {
  HookDispatcher,
  type LlmCallInit,
  type LlmFunction,
  type ParkedOperation,
} from '../dispatcher/index.ts'
import type { Approver } from '../gates/index.ts'
import type { RunTotals } from '../hooks/index.ts'
import { errorMessage, errorType, HookspanError, type HookspanErrorCode } from '../internal/errors.ts'
import { safeStringify } from '../internal/json.ts'
import { anyClosed } from './agent-segments.ts'
import { type AskedRequest, answered } from './drive.ts'
import type { DurableEngine } from './engine.ts'
import { LoopPart, type LoopPartOptions } from './loop-part.ts'
import { assertCalls, type CallOutcome, type DurableToolCall } from './loop-tools.ts'

/** A loop of one's own. All that it does to the world, it does in the calls of a step; what is between them is done again on replay. */
export type DurableLoop<I = never, O = unknown> = (run: LoopRun, input: I) => Promise<O>

export interface LoopRun {
  readonly operationId: string
  /**
   * One turn. `work` is done again on replay, its calls are not. Gives what `work` gives, and throws what it throws.
   *
   * @throws HookspanError `RUN_DENIED` where a gate or a human ended the run.
   */
  step<T>(work: (step: LoopStep) => Promise<T>): Promise<T>
}

/** A turn of a loop of one's own. Its calls are made one after the other: tools that are to run at once are given together. */
export interface LoopStep {
  /**
   * A model call, as `step.llmCall` of an operation; what `fn` gives is JSON, and no stream.
   *
   * @throws what `fn` throws, as an Error of the same name and message.
   */
  llmCall<R>(init: LlmCallInit<R>, fn: LlmFunction<R>): Promise<R>
  /** A tool call. Waits for a human where one is asked. @throws HookspanError `INVALID_CALL`. */
  toolCall(call: DurableToolCall): Promise<CallOutcome>
  /** Tool calls that run at once, in the order in which they are given. @throws HookspanError `INVALID_CALL`. */
  toolCalls(calls: readonly DurableToolCall[]): Promise<CallOutcome[]>
}

/** How the run of such a loop ended. Plain JSON. */
export interface LoopOutcome {
  readonly operationId: string
  readonly reason: 'done' | 'error' | 'interrupted' | 'denied'
  /** What the loop gave. */
  readonly value?: unknown
  readonly error?: { readonly type: string; readonly message: string }
  readonly endedBy?: 'cancel' | 'maxDurationMs'
  readonly totals: RunTotals
}

/** What an engine keeps of a call: what it gave or threw, and how the run stands after it. */
interface Entry<T> {
  readonly value?: T
  readonly failure?: Failure
  readonly saved: ParkedOperation
  readonly at: number
}

interface Failure {
  readonly type: string
  readonly message: string
  readonly code?: string
}

/** A run of a loop of one's own, as an engine replays it. */
export class JournaledLoop implements LoopRun {
  readonly operationId: string
  readonly #engine: DurableEngine
  readonly #part: LoopPart
  readonly #approver: Approver | undefined
  #saved: ParkedOperation | undefined
  #at = 0
  #endsAt: number | undefined
  #stopped: LoopOutcome['endedBy']

  constructor(engine: DurableEngine, options: LoopPartOptions, operationId: string) {
    const { dispatcher = new HookDispatcher() } = options
    this.operationId = operationId
    this.#engine = engine
    this.#approver = options.approver ?? dispatcher.approver
    this.#part = new LoopPart({ ...options, dispatcher }, operationId)
  }

  async step<T>(work: (step: LoopStep) => Promise<T>): Promise<T> {
    const step = new JournaledStep(
      (name, call) => this.#journal(name, call),
      (asked) => this.#answered(asked),
    )
    const value = await work(step)
    await this.#journal('end of step', (part) => part.endStep())
    return value
  }

  /** To its end; never throws for what the loop did. */
  async runTo(
    loop: DurableLoop<unknown>,
    input: unknown,
    maxDurationMs: number | undefined,
  ): Promise<LoopOutcome> {
    let value: unknown
    let thrown: unknown
    this.#part.input = input
    try {
      await this.#journal('begin', (part) => part.begin())
      if (maxDurationMs !== undefined) this.#endsAt = this.#at + maxDurationMs
      value = asJson(await loop(this, input), 'What the loop gives')
    } catch (error) {
      thrown = error ?? new Error('The loop threw nothing.')
    }
    return this.#end(value, thrown)
  }

  /** Another attempt of the engine goes on with it. */
  leave(): void {
    this.#part.leave()
  }

  async #end(value: unknown, thrown: unknown): Promise<LoopOutcome> {
    const { operationId } = this
    const failure = thrown === undefined ? undefined : failureOf(thrown)
    const end = () => this.#journal('end', (part) => part.end({ failure, cancelled: this.#stopped, value }))
    const { reason, totals, endedBy } = await end().catch((error) => {
      // Cancelled at its very end: it ends, once more as it was to.
      if (this.#engine.isCancelled(error)) return end()
      throw error
    })
    return {
      operationId,
      reason,
      totals,
      ...(reason === 'done' && value !== undefined && { value }),
      ...(reason === 'error' && failure && { error: { type: failure.type, message: failure.message } }),
      ...(endedBy && { endedBy }),
    }
  }

  async #journal<T>(name: string, call: (part: LoopPart) => Promise<T>): Promise<T> {
    let entry: Entry<T>
    try {
      entry = await this.#engine.journal(name, () => this.#do(call))
    } catch (error) {
      if (this.#engine.isCancelled(error)) {
        this.#stopped = 'cancel'
        this.#part.stop('cancel')
      }
      throw error
    }
    this.#take(entry)
    if (entry.failure !== undefined) throw errorOf(entry.failure)
    return entry.value as T
  }

  async #do<T>(call: (part: LoopPart) => Promise<T>): Promise<Entry<T>> {
    await this.#part.goOn(this.#saved, this.#endsAt)
    try {
      const value = asJson(await call(this.#part), 'What the call gives') as T
      return { value, saved: this.#part.saved(), at: Date.now() }
    } catch (error) {
      // Nothing of it can be kept: it is done again, once its code is mended.
      if (this.#part.left || !this.#part.begun) throw error
      return { failure: failureOf(error), saved: this.#part.saved(), at: Date.now() }
    }
  }

  /** What is journaled last is not always what happened last: the sequence says. */
  #take({ saved, at }: Entry<unknown>): void {
    if (this.#saved === undefined || saved.sequence >= this.#saved.sequence) this.#saved = saved
    this.#at = at
  }

  async #answered(asked: readonly AskedRequest[]): Promise<void> {
    const look = async () => ({ closed: await anyClosed(this.#approver, asked), at: Date.now() })
    try {
      await answered(this.#engine, { look }, asked, this.#at, this.#endsAt)
    } catch (error) {
      if (this.#engine.isCancelled(error)) this.#stopped = 'cancel'
      throw error
    }
  }
}

type Journal = <T>(name: string, call: (part: LoopPart) => Promise<T>) => Promise<T>

class JournaledStep implements LoopStep {
  readonly #journal: Journal
  readonly #answered: (asked: readonly AskedRequest[]) => Promise<void>

  constructor(journal: Journal, wait: (asked: readonly AskedRequest[]) => Promise<void>) {
    this.#journal = journal
    this.#answered = wait
  }

  llmCall<R>(init: LlmCallInit<R>, fn: LlmFunction<R>): Promise<R> {
    return this.#journal(`model ${init.model}`, (part) => part.llmCall(init, fn))
  }

  async toolCall(call: DurableToolCall): Promise<CallOutcome> {
    const [outcome] = await this.toolCalls([call])
    return outcome as CallOutcome
  }

  async toolCalls(calls: readonly DurableToolCall[]): Promise<CallOutcome[]> {
    assertCalls(calls)
    const outcomes: (CallOutcome | undefined)[] = calls.map(() => undefined)
    const names = calls.map(({ apiName }) => apiName).join(', ')
    const open = () => calls.flatMap((_, index) => (outcomes[index] === undefined ? [index] : []))
    while (open().length > 0) {
      // That they are at work is kept before they are.
      const decided = await this.#journal(`${names}: decided`, (part) => part.decide(calls, open()))
      for (const { index, outcome } of decided.outcomes) outcomes[index] = outcome
      for (let left = decided.running; left > 0; left--) {
        const waiting = decided.asked.map(({ index }) => index)
        const ran = await this.#journal(names, (part) =>
          part.nextOf(
            calls,
            open().filter((at) => !waiting.includes(at)),
          ),
        )
        outcomes[ran.index] = ran.outcome
      }
      if (decided.asked.length === 0) continue
      await this.#journal(`${names}: waiting`, (part) => part.park())
      await this.#answered(decided.asked)
    }
    return outcomes as CallOutcome[]
  }
}

/** @throws HookspanError `INVALID_CALL` for what cannot be kept. */
function asJson(value: unknown, what: string): unknown {
  if (
    typeof value === 'function' ||
    (typeof value === 'object' && value !== null && Symbol.asyncIterator in value)
  ) {
    throw new HookspanError(
      'INVALID_CALL',
      `${what} is kept as JSON, and it is a stream or a function. Read it to its end first.`,
    )
  }
  const text = safeStringify(value)
  return text === '' ? undefined : JSON.parse(text)
}

function failureOf(error: unknown): Failure {
  const code = error instanceof HookspanError ? { code: error.code } : {}
  return { type: errorType(error), message: errorMessage(error), ...code }
}

/** As it was thrown in a process that may be gone. */
function errorOf({ type, message, code }: Failure): Error {
  if (code !== undefined) return new HookspanError(code as HookspanErrorCode, message)
  const error = new Error(message)
  error.name = type
  return error
}
