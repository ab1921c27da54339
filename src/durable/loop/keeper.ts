import type { Operation } from '../../dispatcher/index.ts'
import type { OperationCore } from '../../dispatcher/run/operation-core.ts'
import type { ApprovalRequest } from '../../gates/index.ts'
import type { LoopSteps } from './loop-steps.ts'
import type { KeptEntry } from './records.ts'

/** What the calls of a loop need of its run in this process. */
export interface LoopKeeper {
  readonly operationId: string
  readonly signal: AbortSignal
  readonly operation: Operation
  readonly core: OperationCore
  readonly steps: LoopSteps
  /** Turns are counted, whichever of them are made anew. */
  nextTurn(): number
  isIdempotent(apiName: string): boolean
  /** A key that no call before it has, the same one whenever the loop comes by it. */
  keyOf(what: string): string
  /** What is kept of a call. @throws HookspanError `INVALID_STATE` for another one than was made. */
  keptOf(key: string, name: string): KeptEntry | undefined
  /** Before a call that nothing is kept of: that the loop has come by all that it had begun. @throws HookspanError `INVALID_STATE`. */
  metAll(name: string): Promise<void> | undefined
  /** Makes a call that nothing is kept of. Never comes back where the run goes on without this process. */
  atWork<T>(work: () => Promise<T>): Promise<T>
  /** The same for one that a process which died may have begun: where the run is stopped, it is begun once more, to end. */
  atWorkAgain<T>(work: () => Promise<T>): Promise<T>
  /** There, the step of this turn is begun once more: it may have made a model call that is not kept. */
  stepAgain(turn: number): Promise<void>
  /** Until the engine has it. */
  keep(key: string, entry: KeptEntry): Promise<void>
  /** A call is decided, and its tool not begun: where the run is parked, `suspend` leaves it to the next part. */
  hold(callKey: string, suspend: () => Promise<void>): void
  begins(callKey: string): void
  /** The loop has what came of the call's tool. */
  told(callKey: string): void
  /** A call waits for a human: it goes on in the next part of the run. */
  waits(request: ApprovalRequest): Promise<never>
}
