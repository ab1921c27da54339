import type {
  OpenStep,
  OpenToolCall,
  ToolCallInit,
  ToolOutcome,
  ToolRunContext,
} from '../dispatcher/index.ts'
import { errorMessage } from '../internal/errors.ts'
import { a, assertFields, type Fields, required } from '../internal/expect.ts'
import type { AskedRequest } from './drive.ts'

/** A tool call, and what runs it. */
export interface DurableToolCall<A = unknown> extends Omit<ToolCallInit<A>, 'onProgress' | 'outlastsAbort'> {
  /** As a tool's function in a step; what it gives is JSON. Gets an `idempotencyKey`. */
  run(args: A, context: ToolRunContext): unknown
}

/** How a call ended, as JSON. */
export interface CallOutcome {
  readonly state: 'completed' | 'mocked' | 'skipped' | 'errored' | 'denied' | 'rejected'
  /** What the model is to be told. */
  readonly content: string
  /** Where it ran, or something stood in. */
  readonly result?: unknown
  readonly error?: string
  readonly code?: string
  readonly reason?: string
}

export interface DecidedCalls {
  readonly outcomes: readonly RanCall[]
  /** How many are to run. */
  readonly running: number
  readonly asked: readonly (AskedRequest & { readonly index: number })[]
}

export interface RanCall {
  readonly index: number
  readonly outcome: CallOutcome
}

const CALL: Fields<DurableToolCall> = {
  toolCallId: a.string,
  identifier: a.string,
  apiName: required(a.name),
  args: a.value,
  source: a.string,
  description: a.string,
  inputSchema: a.value,
  outputSchema: a.value,
  idempotent: a.boolean,
  run: required(a.function),
}

/** @throws HookspanError `INVALID_CALL`. */
export function assertCalls(calls: readonly DurableToolCall[]): void {
  for (const call of calls) assertFields<DurableToolCall>(call, CALL, 'a tool call', 'INVALID_CALL')
}

/** In this process. */
export interface EndedCall extends RanCall {
  readonly callKey: string
}

/** The tool calls that are open in a step of this process. */
export class OpenCalls {
  readonly #open = new Map<number, OpenToolCall>()
  #running: Map<number, Promise<EndedCall>> | undefined

  /** Lets gates, hooks and humans decide. */
  async decide(
    step: OpenStep,
    calls: readonly DurableToolCall[],
    which: readonly number[],
  ): Promise<DecidedCalls> {
    const outcomes: RanCall[] = []
    const asked: DecidedCalls['asked'][number][] = []
    const opened = which.map((index) => ({
      index,
      call: step.openToolCall(initOf(calls[index] as DurableToolCall)),
    }))
    for (const { index, call } of opened) {
      const decided = await call.decided
      if (decided.state === 'run') this.#open.set(index, call)
      else if (decided.state !== 'waiting') outcomes.push({ index, outcome: outcomeOf(decided) })
      else if (decided.request !== undefined) {
        const { id, expiresAt } = decided.request
        asked.push({ index, id, ...(expiresAt !== undefined && { expiresAt }) })
      }
    }
    return { outcomes, running: this.#open.size, asked }
  }

  /** Runs those that were decided on, all at once the first time, and gives the next one that ends. */
  async next(
    step: OpenStep,
    calls: readonly DurableToolCall[],
    which: readonly number[],
  ): Promise<EndedCall> {
    this.#running ??= await this.#start(step, calls, which)
    const ran = await Promise.race(this.#running.values())
    this.#running.delete(ran.index)
    if (this.#running.size === 0) this.#running = undefined
    return ran
  }

  async #start(step: OpenStep, calls: readonly DurableToolCall[], which: readonly number[]) {
    const running = new Map<number, Promise<EndedCall>>()
    for (const index of which) {
      const { run, ...init } = calls[index] as DurableToolCall
      const call = this.#open.get(index) ?? step.openToolCall(init)
      this.#open.delete(index)
      running.set(
        index,
        call
          .run((args, context) => run(args, context))
          .then((outcome) => ({ index, callKey: call.callKey, outcome: outcomeOf(outcome) })),
      )
    }
    return running
  }
}

function initOf({ run: _run, ...init }: DurableToolCall): ToolCallInit {
  return init
}

function outcomeOf(outcome: ToolOutcome): CallOutcome {
  const { content } = outcome.toToolMessage()
  switch (outcome.state) {
    case 'errored':
      return { state: outcome.state, content, error: errorMessage(outcome.error) }
    case 'denied':
    case 'rejected':
      return { state: outcome.state, content, code: outcome.code, reason: outcome.reason }
    case 'waiting':
      return { state: 'errored', content, error: 'The call waits for a human inside of another call.' }
    default:
      return { state: outcome.state, content, result: outcome.result }
  }
}
