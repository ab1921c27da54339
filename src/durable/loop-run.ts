import type { LlmCallInit, LlmFunction } from '../dispatcher/index.ts'
import { HookspanError } from '../internal/errors.ts'
import { fromKept, toKept } from './loop/kept-json.ts'
import { KeyedStep } from './loop/keyed-calls.ts'
import { KeyedToolCall } from './loop/keyed-tool-call.ts'
import type { LiveLoop } from './loop/live-loop.ts'
import { assertCalls, type CallOutcome, callOutcome, type DurableToolCall } from './loop-tools.ts'

/** A loop of one's own. All that it does to the world, it does in the calls of a step; what is between them is done again. */
export type DurableLoop<I = never, O = unknown> = (run: LoopRun, input: I) => Promise<O>

export interface LoopRun {
  readonly operationId: string
  /** Aborted when the run is cancelled, takes too long, or goes on in another process. */
  readonly signal: AbortSignal
  /**
   * One turn. `work` is done again when the run goes on elsewhere, its calls are not. Gives what `work` gives, and throws what it
   * throws.
   *
   * @throws HookspanError `RUN_DENIED` where a gate or a human ended the run.
   */
  step<T>(work: (step: LoopStep) => Promise<T>): Promise<T>
}

/** A turn of a loop of one's own. */
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

/** The loop, as it is run in one process. */
export async function runLoop(live: LiveLoop, loop: DurableLoop<unknown>, input: unknown): Promise<unknown> {
  const run: LoopRun = {
    operationId: live.operationId,
    signal: live.signal,
    async step(work) {
      const step = new KeyedStep(live, live.nextTurn())
      try {
        const value = await work(new OwnStep(live, step))
        await step.end()
        return value
      } catch (error) {
        await live.steps.fail(step.turn, error)
        throw error
      }
    },
  }
  return asJson(await loop(run, input), 'What the loop gives')
}

class OwnStep implements LoopStep {
  readonly #live: LiveLoop
  readonly #step: KeyedStep

  constructor(live: LiveLoop, step: KeyedStep) {
    this.#live = live
    this.#step = step
  }

  async llmCall<R>(init: LlmCallInit<R>, fn: LlmFunction<R>): Promise<R> {
    const reply = await this.#step.llmCall(init, async (request, context) => {
      const value = await fn(request, context)
      assertKeepable(value, 'What the call gives')
      return value
    })
    return fromKept(toKept(reply)) as R
  }

  async toolCall(call: DurableToolCall): Promise<CallOutcome> {
    const [outcome] = await this.toolCalls([call])
    return outcome as CallOutcome
  }

  async toolCalls(calls: readonly DurableToolCall[]): Promise<CallOutcome[]> {
    assertCalls(calls)
    const outcomes = calls.map(({ run, ...init }) =>
      new KeyedToolCall(this.#live, this.#step.turn, init, true).run((args, context) => run(args, context)),
    )
    return (await Promise.all(outcomes)).map(callOutcome)
  }
}

/** @throws HookspanError `INVALID_CALL` for what cannot be kept. */
function assertKeepable(value: unknown, what: string): void {
  if (
    typeof value === 'function' ||
    (typeof value === 'object' && value !== null && Symbol.asyncIterator in value)
  ) {
    throw new HookspanError(
      'INVALID_CALL',
      `${what} is kept as JSON, and it is a stream or a function. Read it to its end first.`,
    )
  }
}

function asJson(value: unknown, what: string): unknown {
  assertKeepable(value, what)
  return toKept(value)
}
