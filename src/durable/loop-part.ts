import {
  type HookDispatcher,
  type LlmCallInit,
  type LlmFunction,
  type OpenStep,
  type Operation,
  type OperationInit,
  type ParkedOperation,
  StateClaim,
  type WaitingCall,
} from '../dispatcher/index.ts'
import { withdrawRun } from '../gates/approver.ts'
import type { RunTotals } from '../hooks/index.ts'
import { MAX_TIMER_MS } from '../internal/async.ts'
import { HookspanError, type HookspanErrorCode } from '../internal/errors.ts'
import { safeStringify } from '../internal/json.ts'
import { type DecidedCalls, type DurableToolCall, OpenCalls, type RanCall } from './loop-tools.ts'

export type LoopPartOptions = Pick<
  OperationInit,
  'agentName' | 'disable' | 'gates' | 'hooks' | 'approver' | 'priceOf'
> & {
  readonly dispatcher?: HookDispatcher
}

interface Live {
  readonly op: Operation
  step: OpenStep | undefined
  calls: OpenCalls
}

type StoppedBy = 'cancel' | 'maxDurationMs'

/** How a loop came to its end. */
export interface LoopEnding {
  readonly failure: { message: string; code?: string } | undefined
  readonly cancelled: StoppedBy | undefined
  readonly value: unknown
}

export interface EndedLoop {
  readonly reason: 'done' | 'error' | 'interrupted' | 'denied'
  readonly totals: RunTotals
  readonly endedBy?: StoppedBy
}

/** What this process has of a run: its operation, which goes on from what is kept. */
export class LoopPart {
  readonly #options: LoopPartOptions & { readonly dispatcher: HookDispatcher }
  readonly #operationId: string
  readonly #stop = new AbortController()
  #live: Live | undefined
  #parked: ParkedOperation | undefined
  /** Calls whose tool was begun and whose outcome the loop does not have yet, by their key. */
  readonly #begun = new Map<string, WaitingCall>()
  #deadline: NodeJS.Timeout | undefined
  /** What the run was begun with. */
  input: unknown
  left = false
  stoppedBy: StoppedBy | undefined

  constructor(options: LoopPartOptions & { readonly dispatcher: HookDispatcher }, operationId: string) {
    this.#options = options
    this.#operationId = operationId
  }

  /** Takes the run up where it is; nothing is to be done where this process has it. */
  async goOn(saved: ParkedOperation | undefined, endsAt: number | undefined): Promise<void> {
    if (this.left) throw new Error('Another attempt goes on with the run.')
    if (endsAt !== undefined && this.#deadline === undefined) this.#endAt(endsAt)
    if (this.#live !== undefined || saved === undefined) return
    // The engine lets one process have the run.
    StateClaim.cover(saved)
    this.#begun.clear()
    for (const call of saved.waiting ?? []) if (call.unknown) this.#begun.set(call.callKey, call)
    this.#live = this.#start({ resume: saved })
  }

  #endAt(endsAt: number): void {
    const leftMs = endsAt - Date.now()
    if (leftMs <= 0) this.stop('maxDurationMs')
    else if (leftMs <= MAX_TIMER_MS)
      this.#deadline = setTimeout(() => this.stop('maxDurationMs'), leftMs).unref()
  }

  /** What is at work is aborted, and the run is to end. */
  stop(by: StoppedBy): void {
    this.stoppedBy ??= by
    this.#stop.abort(
      new DOMException(
        by === 'cancel' ? 'The run was cancelled.' : 'The run has taken too long.',
        'AbortError',
      ),
    )
  }

  #start(how: Pick<OperationInit, 'resume' | 'input' | 'operationId'>): Live {
    const { dispatcher, ...shared } = this.#options
    this.#parked = undefined
    const op = dispatcher.startOperation({ ...shared, ...how, signal: this.#stop.signal })
    return { op, step: undefined, calls: new OpenCalls() }
  }

  async begin(): Promise<void> {
    if (this.#live !== undefined) return
    await this.#first().op.admit()
  }

  #first(): Live {
    this.#live = this.#start({ operationId: this.#operationId, input: this.input })
    this.#live.op.checkpoint()
    return this.#live
  }

  async #step(): Promise<OpenStep> {
    const live = this.#live as Live
    this.#stop.signal.throwIfAborted()
    live.step ??= await live.op.openStep()
    return live.step
  }

  async llmCall<R>(init: LlmCallInit<R>, fn: LlmFunction<R>): Promise<R> {
    return (await this.#step()).llmCall(init, fn)
  }

  async decide(calls: readonly DurableToolCall[], which: readonly number[]): Promise<DecidedCalls> {
    return (this.#live as Live).calls.decide(await this.#step(), calls, which)
  }

  async nextOf(calls: readonly DurableToolCall[], which: readonly number[]): Promise<RanCall> {
    const { callKey, ...ran } = await (this.#live as Live).calls.next(await this.#step(), calls, which)
    this.#begun.delete(callKey)
    return ran
  }

  /** Until a human has answered, perhaps in another process. */
  async park(): Promise<void> {
    const { op, step } = this.#live as Live
    await step?.end()
    this.#parked = op.park({ waitingFor: 'human' })
    this.#live = undefined
  }

  async endStep(): Promise<void> {
    const live = this.#live as Live
    const step = await this.#step()
    live.step = undefined
    await step.end()
  }

  /** @returns how the run ended, after the `beforeComplete` gates. */
  async end(how: LoopEnding): Promise<EndedLoop> {
    const ended = await this.#complete(how)
    // A process that died may have asked what is not kept.
    await withdrawRun(this.#options.approver ?? this.#options.dispatcher.approver, this.#operationId)
    return ended
  }

  async #complete({ failure, cancelled, value }: LoopEnding): Promise<EndedLoop> {
    clearTimeout(this.#deadline)
    // One that was cancelled before it had begun is told, too.
    const { op } = this.#live ?? this.#first()
    const totals = op.totals
    this.#parked = op.checkpoint()
    const endedBy = cancelled ?? this.stoppedBy
    if (endedBy !== undefined) {
      await op.complete({ reason: 'interrupted' })
      return { reason: 'interrupted', totals, endedBy }
    }
    if (failure !== undefined && op.stopRequested === undefined) {
      const { code, message } = failure
      await op.fail(
        code === undefined ? new Error(message) : new HookspanError(code as HookspanErrorCode, message),
      )
      return { reason: 'error', totals }
    }
    const content =
      value === undefined ? {} : { content: typeof value === 'string' ? value : safeStringify(value) }
    const { reason } = await op.complete(content)
    return { reason: reason === 'denied' ? 'denied' : 'done', totals }
  }

  /** There is something to be kept. */
  get begun(): boolean {
    return this.#live !== undefined || this.#parked !== undefined
  }

  /**
   * How the run stands. A call whose tool has returned, and whose outcome is kept later than that of another, is open still: else it
   * would look as if never made.
   */
  saved(): ParkedOperation {
    if (this.#parked !== undefined) return this.#parked
    const saved = (this.#live as Live).op.checkpoint()
    const open = new Map(this.#begun)
    for (const call of saved.waiting ?? []) {
      open.set(call.callKey, call)
      if (call.unknown) this.#begun.set(call.callKey, call)
    }
    return { ...saved, waiting: [...open.values()] }
  }

  leave(): void {
    this.left = true
    clearTimeout(this.#deadline)
    this.#live?.op.leave()
    this.#stop.abort(new DOMException('Another process goes on with the run.', 'AbortError'))
    this.#live = undefined
  }
}
