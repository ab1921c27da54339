import { setImmediate as nextTurn } from 'node:timers/promises'
import { hooksOfRun } from '../../agent/run-hooks.ts'
import { coreOf } from '../../dispatcher/calls/call-maker.ts'
import {
  type HookDispatcher,
  type Operation,
  type OperationInit,
  type ParkedOperation,
  StateClaim,
} from '../../dispatcher/index.ts'
import type { AdapterInfo } from '../../dispatcher/run/capabilities.ts'
import { inDurableRun } from '../../dispatcher/run/durable-run.ts'
import { Inside } from '../../dispatcher/run/inside.ts'
import type { OperationCore } from '../../dispatcher/run/operation-core.ts'
import { withdrawRun } from '../../gates/approver.ts'
import type { ApprovalRequest } from '../../gates/index.ts'
import { leftRun } from '../../gates/left-run.ts'
import { MAX_TIMER_MS, unref } from '../../internal/async.ts'
import { HookspanError } from '../../internal/errors.ts'
import { defined } from '../../internal/objects.ts'
import type { Segment, SegmentInput } from '../drive.ts'
import type { Live } from '../segments.ts'
import type { LoopKeeper } from './keeper.ts'
import { fromKept, toKept } from './kept-json.ts'
import { notDurable } from './keyed-calls.ts'
import { KeyedOperation } from './keyed-operation.ts'
import { LoopJournal } from './loop-journal.ts'
import { endOf, type LoopOutcome, type StoppedBy } from './loop-outcome.ts'
import { LoopSteps } from './loop-steps.ts'
import { type KeptEntry, type LoopRecord, readRecords } from './records.ts'

export type LiveLoopOptions = Pick<
  OperationInit,
  'agentName' | 'disable' | 'gates' | 'hooks' | 'approver' | 'priceOf'
> & {
  readonly dispatcher: HookDispatcher
  /** Names of tools that may be run again. */
  readonly idempotentTools?: readonly string[]
}

/** What nobody may decide on happens past us: no reply of the model can be given once more. @throws HookspanError `NOT_CAPABLE`. */
function assertKeepable(adapter: AdapterInfo | undefined): void {
  if (adapter === undefined || adapter.capabilities.decideLlmCalls) return
  throw notDurable(`begins a run of \`${adapter.name}\``, 'Begin it in a tool, which is kept as a whole.')
}

type Ended = { readonly outcome: LoopOutcome } | { readonly failure: unknown }

/** Never: what a process waits for that has lost the run. */
const NEVER = new Promise<never>(() => {})

/**
 * The run of a loop in this process: the loop is begun from its beginning, and its calls are given what is kept of them until there
 * is nothing kept any more. From then on each call stands still until the engine has what came of it.
 */
export class LiveLoop implements Live<LoopRecord, LoopOutcome>, LoopKeeper {
  readonly operationId: string
  readonly steps: LoopSteps
  readonly #op: Operation
  readonly #options: LiveLoopOptions
  readonly #stop: AbortController
  readonly #journal: LoopJournal
  readonly #counts = new Map<string, number>()
  readonly #main: Promise<LoopOutcome>
  /** From what another process, or this one before, has kept. */
  readonly #goesOn: boolean
  #atWork = 0
  #turns = 0
  #ended: Ended | undefined
  #parked: LoopRecord | undefined
  #sdkRun: KeyedOperation | undefined
  #stoppedBy: StoppedBy | undefined
  #deadline: NodeJS.Timeout | undefined
  #left = false
  #unlistened = false
  #changed = Promise.withResolvers<void>()

  /** @throws HookspanError what keeps the run from being begun or gone on with. */
  constructor(
    options: LiveLoopOptions,
    operationId: string,
    input: unknown,
    { kept: given, endsAt, cancelled }: SegmentInput<unknown>,
    loop: (run: LiveLoop, input: unknown) => Promise<unknown>,
  ) {
    const kept = readRecords(given)
    this.#journal = new LoopJournal(kept)
    this.operationId = operationId
    this.#options = options
    this.#stop = new AbortController()
    const last = kept.at(-1)
    this.#goesOn = last !== undefined
    const { hookIds = [] } = kept[0]?.entries.begin ?? {}
    this.#op = this.#start(last?.saved, cancelled ? [] : hookIds, input, cancelled)
    Inside.keep(this.core, () => this.keep('inside of a tool', { name: 'inside' }))
    // Where that is lost, a human's yes is not spent.
    this.core.keepAtWork = () => this.keep('an approved tool', { name: 'approved' })
    this.steps = new LoopSteps(this.#op, last?.turn)
    if (endsAt !== undefined) this.#endAt(endsAt)
    // Before the loop begins, so that it ends what a dead process had begun.
    if (cancelled) this.stop('cancel')
    this.#main = this.#run(loop, input)
    this.#main.then(
      (outcome) => this.#end({ outcome }),
      (failure) => this.#end({ failure }),
    )
  }

  #start(
    saved: ParkedOperation | undefined,
    hookIds: readonly string[],
    input: unknown,
    ends = false,
  ): Operation {
    const { dispatcher, idempotentTools: _run, ...options } = this.#options
    const hooks = dispatcher.namedHooks.resolve(hooksOfRun(hookIds, this.#options))
    const shared = { ...options, ...(hooks.length > 0 && { hooks }) }
    const { signal } = this.#stop
    if (saved === undefined) {
      const op = dispatcher.startOperation({ ...shared, signal, operationId: this.operationId, input })
      // From here on what it tells has ids that follow from what it is.
      op.checkpoint()
      return op
    }
    const { gateIds: _held, ...ended } = saved
    // One that is to end does so without its gates, too: there is nothing for them to hold.
    const resume = ends ? ended : saved
    // The engine lets one process have the run.
    StateClaim.cover(resume)
    return dispatcher.startOperation({ ...shared, signal, resume })
  }

  get position(): number {
    return this.#journal.position
  }

  get signal(): AbortSignal {
    return this.#stop.signal
  }

  get operation(): Operation {
    return this.#op
  }

  #endAt(endsAt: number): void {
    const leftMs = endsAt - Date.now()
    if (leftMs <= 0) this.stop('maxDurationMs')
    else if (leftMs <= MAX_TIMER_MS)
      this.#deadline = unref(setTimeout(() => this.stop('maxDurationMs'), leftMs))
  }

  /** What is at work is aborted, and the run is to end. */
  stop(by: StoppedBy): void {
    this.#stoppedBy ??= by
    const message = by === 'cancel' ? 'The run was cancelled.' : 'The run has taken too long.'
    this.#stop.abort(new DOMException(message, 'AbortError'))
  }

  /** Another attempt of the engine goes on with it: nothing more of it is done or told here. */
  leave(): void {
    if (this.#left) return
    this.#left = true
    clearTimeout(this.#deadline)
    if (this.#parked === undefined) this.#op.leave()
    this.#stop.abort(leftRun())
    this.#notify()
  }

  // What calls need ---------------------------------------------------------------------------------------------------

  isIdempotent(apiName: string): boolean {
    return this.#options.idempotentTools?.includes(apiName) === true
  }

  nextTurn(): number {
    return this.#turns++
  }

  keyOf(what: string): string {
    const count = this.#counts.get(what) ?? 0
    this.#counts.set(what, count + 1)
    return count === 0 ? what : `${what} #${count}`
  }

  keptOf(key: string, name: string): KeptEntry | undefined {
    try {
      return this.#journal.keptOf(key, name)
    } catch (failure) {
      throw this.#failed(failure)
    }
  }

  metAll(name: string): Promise<void> | undefined {
    if (this.signal.aborted) return undefined
    return this.#journal.metAll(name)?.catch((failure: unknown) => {
      throw this.#failed(failure)
    })
  }

  /** The attempt has failed, whatever the loop makes of it; but one that is to end does so with whatever code there is. */
  #failed(failure: unknown): unknown {
    if (this.signal.aborted) return this.signal.reason
    this.#end({ failure })
    this.leave()
    return failure
  }

  async atWork<T>(work: () => Promise<T>): Promise<T> {
    this.#atWork++
    try {
      return await this.#unlessLost(work)
    } finally {
      this.#atWork--
      this.#notify()
    }
  }

  async atWorkAgain<T>(work: () => Promise<T>): Promise<T> {
    if (!this.#endsAgain) return this.atWork(work)
    await work()
    throw this.signal.reason
  }

  async stepAgain(turn: number): Promise<void> {
    if (this.#endsAgain) await this.steps.of(turn)
  }

  /** It was stopped when it went on from what is kept. */
  get #endsAgain(): boolean {
    return this.#goesOn && !this.#gone && this.signal.aborted
  }

  async #unlessLost<T>(work: () => Promise<T>): Promise<T> {
    try {
      this.#assertGoesOn()
      const value = await work()
      return this.#gone ? await NEVER : value
    } catch (error) {
      if (this.#gone) return NEVER
      throw error
    }
  }

  get #gone(): boolean {
    return this.#left || this.#parked !== undefined
  }

  #assertGoesOn(): void {
    if (!this.#gone) this.#stop.signal.throwIfAborted()
  }

  async keep(key: string, entry: KeptEntry): Promise<void> {
    if (this.#left) return NEVER
    if (this.#unlistened) return
    const kept = this.#journal.add(key, entry)
    this.#notify()
    await kept
  }

  hold(callKey: string, suspend: () => Promise<void>): void {
    this.#journal.hold(callKey, suspend)
  }

  begins(callKey: string): void {
    this.#journal.begins(callKey)
  }

  told(callKey: string): void {
    this.#journal.told(callKey)
  }

  waits(request: ApprovalRequest): Promise<never> {
    this.#journal.asks(request)
    // It is not at work any more: its end comes only where the run is stopped before it is parked.
    this.#atWork--
    this.#notify()
    return new Promise((_resolve, reject) => {
      const stopped = () => {
        if (this.#gone) return
        this.#atWork++
        reject(this.signal.reason)
      }
      if (this.signal.aborted) stopped()
      else this.signal.addEventListener('abort', stopped, { once: true })
    })
  }

  /** An SDK begins a run of its own: its turns are those of this run. */
  beginSdkRun({ input, tools, adapter }: OperationInit): Operation {
    assertKeepable(adapter)
    this.core.seen?.list(tools)
    if (this.#sdkRun !== undefined && !this.#sdkRun.ended) {
      throw new HookspanError(
        'NOT_CAPABLE',
        `Durable run "${this.operationId}" begins a second run of an SDK while the first is under way: their calls could not be ` +
          'told apart when the run goes on. Run one after the other, or one in a tool of the other.',
      )
    }
    this.#sdkRun = new KeyedOperation(this, input)
    return this.#sdkRun as unknown as Operation
  }

  // What the engine needs ---------------------------------------------------------------------------------------------

  /** What comes next of it; what was given before has been kept. @throws what keeps the run from going on. */
  async next(): Promise<Segment<LoopRecord, LoopOutcome>> {
    this.#journal.hasGiven()
    for (;;) {
      const changed = this.#changed.promise
      // What comes at once is kept at once: tools that run side by side, and have all begun.
      await nextTurn()
      if (this.#ended !== undefined) return this.#last(this.#ended)
      if (this.#left) throw new Error('Another attempt goes on with the run.')
      if (this.#journal.hasUnkept) return this.#journal.part(this.#op, this.steps)
      if (this.#atWork === 0 && this.#journal.asksSomebody) return this.#park()
      await changed
    }
  }

  /** To its end: the engine keeps nothing of it any more. */
  async rest(): Promise<Segment<LoopRecord, LoopOutcome>> {
    this.#unlistened = true
    this.#journal.close()
    await this.#main.catch(() => {})
    return this.#last(this.#ended as Ended)
  }

  async #park(): Promise<Segment<LoopRecord, LoopOutcome>> {
    const { record, segment } = await this.#journal.park(this.#op, this.steps)
    this.#parked = record
    clearTimeout(this.#deadline)
    return segment
  }

  #last(ended: Ended): Segment<LoopRecord, LoopOutcome> {
    if ('failure' in ended) throw ended.failure
    return { kept: [], at: Date.now(), outcome: ended.outcome }
  }

  #end(ended: Ended): void {
    this.#ended ??= ended
    clearTimeout(this.#deadline)
    this.#notify()
  }

  #notify(): void {
    this.#changed.resolve()
    this.#changed = Promise.withResolvers()
  }

  // The loop ----------------------------------------------------------------------------------------------------------

  async #run(
    loop: (run: LiveLoop, input: unknown) => Promise<unknown>,
    given: unknown,
  ): Promise<LoopOutcome> {
    let value: unknown
    let thrown: unknown
    try {
      const input = await this.#admitted(given)
      value = await inDurableRun(
        (init) => this.beginSdkRun(init),
        () => loop(this, input),
      )
    } catch (error) {
      thrown = error ?? new Error('The loop threw nothing.')
    }
    if (this.#gone) return NEVER
    const outcome = await endOf(this.#op, this.#stoppedBy, value, thrown)
    if (this.#gone) return NEVER
    // A process that died may have asked what is not kept.
    await withdrawRun(this.#options.approver ?? this.#options.dispatcher.approver, this.operationId)
    return outcome
  }

  /** What the `onStart` gates made of the input, once. */
  async #admitted(given: unknown): Promise<unknown> {
    let begun = this.keptOf('begin', 'begin')
    if (begun === undefined) {
      const input = await this.atWork(async () => this.#op.admit())
      const hookIds = this.#options.hooks?.map(({ id }) => id)
      begun = { name: 'begin', ...(input !== given && { value: toKept(input) }), ...defined({ hookIds }) }
      await this.keep('begin', begun)
    }
    return 'value' in begun ? fromKept(begun.value) : given
  }

  get core(): OperationCore {
    return coreOf(this.#op)
  }
}
