import type {
  CompleteInit,
  CompleteResult,
  OpenStep,
  Operation,
  ParkedOperation,
} from '../../dispatcher/index.ts'
import type { LoopKeeper } from './keeper.ts'
import { KeyedCalls, KeyedStep, notDurable } from './keyed-calls.ts'

/** The run of an SDK in a durable run, as its adapter drives it: the durable run itself ends when its loop does. */
export class KeyedOperation extends KeyedCalls {
  readonly #input: unknown
  ended = false

  constructor(loop: LoopKeeper, input: unknown) {
    super(loop, loop.nextTurn())
    this.#input = input
  }

  get operationId(): string {
    return this.loop.operationId
  }

  get signal(): AbortSignal {
    return this.loop.signal
  }

  get stopRequested(): Operation['stopRequested'] {
    return this.loop.operation.stopRequested
  }

  run<T>(fn: () => T): T {
    return this.loop.operation.run(fn)
  }

  async admit(): Promise<unknown> {
    return this.#input
  }

  async openStep(): Promise<OpenStep> {
    return new KeyedStep(this.loop, this.loop.nextTurn()) as unknown as OpenStep
  }

  async complete({ reason = 'done', content }: CompleteInit = {}): Promise<CompleteResult> {
    this.ended = true
    return { reason, ...(content !== undefined && { content }) }
  }

  async fail(): Promise<void> {
    this.ended = true
  }

  abandon(): void {
    this.ended = true
  }

  park(): ParkedOperation {
    this.ended = true
    throw notDurable(
      'stops for a human or a client that its SDK asks (`needsApproval`, `toolApproval`, a tool without `execute`)',
      'Ask by a gate, as `requireHuman()` of hookspan/policies is one.',
    )
  }
}
