import { coreOf, parentOfOther } from '../../dispatcher/calls/call-maker.ts'
import { guardsRun } from '../../dispatcher/guards-of.ts'
import type {
  CompleteInit,
  CompleteResult,
  HookDispatcher,
  OpenStep,
  Operation,
  OperationInit,
  ParkedOperation,
} from '../../dispatcher/index.ts'
import { beginInDurableRun } from '../../dispatcher/run/durable-run.ts'
import type { GatePoint } from '../../hooks/index.ts'
import { HookspanError } from '../../internal/errors.ts'
import { defined } from '../../internal/objects.ts'
import { warnOfFailure } from '../warn-once.ts'
import { SafeCalls } from './calls.ts'
import { FAILED } from './failures.ts'

/** {@link OpenStep}. Where it could not be opened, its calls are those of the run. */
export class SafeStep extends SafeCalls {
  readonly #step: OpenStep | undefined

  constructor(step: OpenStep | undefined, operation: Operation | undefined) {
    super(step ?? operation)
    this.#step = step
  }

  run<T>(fn: () => T): T {
    const step = this.#step
    return step === undefined ? fn() : this.failures.around((inner) => step.run(inner), fn)
  }

  async end(): Promise<void> {
    try {
      await this.#step?.end()
    } catch (error) {
      this.failures.note(error)
    }
  }

  fail(error: unknown): void {
    this.failures.quietly(() => this.#step?.fail(error))
  }
}

/** {@link Operation}, as adapters drive it: where hookspan itself fails, the agent goes on as if it was not observed. */
export class SafeOperation extends SafeCalls {
  readonly #operation: Operation | undefined
  readonly #input: unknown
  #ended = false

  constructor(operation: Operation | undefined, input?: unknown) {
    super(operation)
    this.#operation = operation
    this.#input = input
  }

  get operationId(): string {
    return this.#read((operation) => operation.operationId) ?? ''
  }

  get ended(): boolean {
    return this.#read((operation) => operation.ended) ?? this.#ended
  }

  get signal(): AbortSignal | undefined {
    return this.#read((operation) => operation.signal)
  }

  get stopRequested(): Operation['stopRequested'] {
    return this.#read((operation) => operation.stopRequested)
  }

  #read<T>(read: (operation: Operation) => T): T | undefined {
    const operation = this.#operation
    return operation && this.failures.quietly(() => read(operation))
  }

  run<T>(fn: () => T): T {
    const operation = this.#operation
    return operation === undefined ? fn() : this.failures.around((inner) => operation.run(inner), fn)
  }

  /** Whether gates are asked about the input. */
  get decidesOnInput(): boolean {
    return this.failures.guarded('onStart')
  }

  async admit(): Promise<unknown> {
    try {
      if (this.#operation !== undefined) return await this.#operation.admit()
    } catch (error) {
      this.failures.note(error)
      this.failures.refuse('The run', 'onStart')
    }
    return this.#input
  }

  async openStep(): Promise<SafeStep> {
    try {
      return new SafeStep(await this.#operation?.openStep(), this.#operation)
    } catch (error) {
      this.failures.note(error)
      return new SafeStep(undefined, this.#operation)
    }
  }

  async complete(init: CompleteInit = {}): Promise<CompleteResult> {
    this.#ended = true
    try {
      if (this.#operation !== undefined) return await this.#operation.complete(init)
    } catch (error) {
      this.failures.note(error)
      this.abandon()
      this.failures.refuse("The run's result", 'beforeComplete')
    }
    const { reason = 'done', content } = init
    return { reason, ...defined({ content }) }
  }

  async fail(error: unknown): Promise<void> {
    this.#ended = true
    try {
      await this.#operation?.fail(error)
    } catch (own) {
      this.failures.note(own)
      this.abandon()
    }
  }

  abandon(): void {
    this.#ended = true
    this.#read((operation) => operation.abandon())
  }

  get isCallingTools(): boolean {
    return this.failures.quietly(() => this.#operation && coreOf(this.#operation).isCallingTools) === true
  }

  /** Whether somebody decides at a point, and not in the shadow. */
  enforcesAt(point: GatePoint): boolean {
    return this.failures.quietly(() => this.#operation && coreOf(this.#operation).enforcesAt(point)) === true
  }

  /** Whether somebody has answered a request, or its time is over; undefined where nobody can say. */
  async isAnswered(requestId: string): Promise<boolean | undefined> {
    try {
      return await (this.#operation && coreOf(this.#operation).approver?.closed?.(requestId))
    } catch {
      // Whoever asks about the call is told.
      return undefined
    }
  }

  leave(): void {
    this.#ended = true
    this.#read((operation) => operation.leave())
  }

  /** Undefined where it failed. @throws it where gates had their say: what waits for one must not look as if it was parked. */
  park(init: { waitingFor: string }): ParkedOperation | undefined {
    this.#ended = true
    try {
      return this.#operation?.park(init)
    } catch (error) {
      this.failures.note(error)
      if (this.failures.guarded('beforeToolCall', 'beforeCallAgent')) throw error
      this.abandon()
      return undefined
    }
  }
}

/**
 * Starts the operation of an agent's run. Where hookspan fails to, the agent runs without.
 *
 * @throws HookspanError what `dispatcher.startOperation()` says of the init; `RUN_DENIED` where hookspan failed, and gates
 * or mocks were to have their say.
 */
export function startOperation(dispatcher: HookDispatcher, given: OperationInit): SafeOperation {
  const { input } = given
  const isOwn = given.parent === undefined && given.resume === undefined
  const parent = isOwn ? parentOfOther(dispatcher) : undefined
  const init = parent === undefined ? given : { ...given, parent }
  const begin = isOwn && parent === undefined ? beginInDurableRun() : undefined
  if (begin !== undefined) return new SafeOperation(begin(init), input)
  try {
    return new SafeOperation(dispatcher.startOperation(init), input)
  } catch (error) {
    if (error instanceof HookspanError) throw error
    warnOfFailure('a run could not be told', error)
    if (guardsRun(dispatcher, init)) {
      const why = `The run was denied (${FAILED.code}): ${FAILED.reason}`
      throw new HookspanError('RUN_DENIED', why, { cause: error })
    }
    return new SafeOperation(undefined, input)
  }
}
