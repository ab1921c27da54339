import { setImmediate as nextTurn } from 'node:timers/promises'
import { coreOf } from '../../dispatcher/calls/call-maker.ts'
import {
  type HookDispatcher,
  type Operation,
  type OperationInit,
  type ParkedOperation,
  StateClaim,
  type WaitingCall,
} from '../../dispatcher/index.ts'
import { inDurableRun } from '../../dispatcher/run/durable-run.ts'
import type { OperationCore } from '../../dispatcher/run/operation-core.ts'
import { withdrawRun } from '../../gates/approver.ts'
import type { ApprovalRequest } from '../../gates/index.ts'
import type { RunTotals } from '../../hooks/index.ts'
import { MAX_TIMER_MS } from '../../internal/async.ts'
import { errorMessage, errorType, HookspanError } from '../../internal/errors.ts'
import { safeStringify } from '../../internal/json.ts'
import type { AskedRequest, Segment, SegmentInput } from '../drive.ts'
import type { Live } from '../segments.ts'
import type { LoopKeeper } from './keeper.ts'
import { KeyedOperation } from './keyed-operation.ts'
import { LoopSteps } from './loop-steps.ts'
import { assertSame, type KeptEntry, type LoopRecord } from './records.ts'

export type LiveLoopOptions = Pick<
  OperationInit,
  'agentName' | 'disable' | 'gates' | 'hooks' | 'approver' | 'priceOf'
> & {
  readonly dispatcher: HookDispatcher
  /** Names of tools that may be run again. */
  readonly idempotentTools?: readonly string[]
}

export type StoppedBy = 'cancel' | 'maxDurationMs'

/** How the run of a loop ended. Plain JSON. */
export interface LoopOutcome {
  readonly operationId: string
  readonly reason: 'done' | 'error' | 'interrupted' | 'denied'
  /** What the loop gave. */
  readonly value?: unknown
  readonly error?: { readonly type: string; readonly message: string }
  readonly endedBy?: StoppedBy
  readonly totals: RunTotals
}

interface Unkept {
  readonly key: string
  readonly entry: KeptEntry
  readonly kept: PromiseWithResolvers<void>
}

type Ended = { readonly outcome: LoopOutcome } | { readonly failure: unknown }

/** Never: what a process waits for that has lost the run. */
const NEVER = new Promise<never>(() => {})

/**
 * The run of a loop in this process: the loop is begun from its beginning, and its calls are given what is kept of them until there
 * is nothing kept any more. From then on each call stands still until the engine has what came of it.
 */
export class LiveLoop implements Live<LoopRecord, LoopOutcome>, LoopKeeper {
  /** How many records there are, those that it went on from included. */
  position: number
  readonly operationId: string
  readonly steps: LoopSteps
  readonly #op: Operation
  readonly #options: LiveLoopOptions
  readonly #stop: AbortController
  readonly #kept = new Map<string, KeptEntry>()
  /** Calls whose tool was begun and whose outcome is not kept yet, by their key. */
  readonly #begun = new Map<string, WaitingCall>()
  /** Calls that are decided and not begun. */
  readonly #held = new Map<string, () => Promise<void>>()
  readonly #asked = new Map<string, AskedRequest>()
  readonly #counts = new Map<string, number>()
  readonly #main: Promise<LoopOutcome>
  #unkept: Unkept[] = []
  #given: Unkept[] = []
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
    { kept, endsAt }: SegmentInput<LoopRecord>,
    loop: (run: LiveLoop) => Promise<unknown>,
  ) {
    this.position = kept.length
    this.operationId = operationId
    this.#options = options
    this.#stop = new AbortController()
    for (const { entries } of kept) {
      for (const [key, entry] of Object.entries(entries)) this.#kept.set(key, entry)
    }
    const last = kept.at(-1)
    this.#op = this.#start(last?.saved, input)
    this.steps = new LoopSteps(this.#op, last?.turn)
    if (endsAt !== undefined) this.#endAt(endsAt)
    this.#main = this.#run(loop)
    this.#main.then(
      (outcome) => this.#end({ outcome }),
      (failure) => this.#end({ failure }),
    )
  }

  #start(saved: ParkedOperation | undefined, input: unknown): Operation {
    const { dispatcher, idempotentTools: _run, ...shared } = this.#options
    const { signal } = this.#stop
    if (saved === undefined) {
      const op = dispatcher.startOperation({ ...shared, signal, operationId: this.operationId, input })
      // From here on what it tells has ids that follow from what it is.
      op.checkpoint()
      return op
    }
    // The engine lets one process have the run.
    StateClaim.cover(saved)
    for (const call of saved.waiting ?? []) if (call.unknown) this.#begun.set(call.callKey, call)
    return dispatcher.startOperation({ ...shared, signal, resume: saved })
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
      this.#deadline = setTimeout(() => this.stop('maxDurationMs'), leftMs).unref()
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
    this.#stop.abort(new DOMException('Another process goes on with the run.', 'AbortError'))
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
    const entry = this.#kept.get(key)
    if (entry === undefined) return undefined
    try {
      assertSame(key, entry, name)
    } catch (failure) {
      // The attempt has failed, whatever the loop makes of it.
      this.#end({ failure })
      this.leave()
      throw failure
    }
    return entry
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
    const unkept = { key, entry, kept: Promise.withResolvers<void>() }
    this.#unkept.push(unkept)
    this.#notify()
    await unkept.kept.promise
  }

  hold(callKey: string, suspend: () => Promise<void>): void {
    this.#held.set(callKey, suspend)
  }

  begins(callKey: string): void {
    this.#held.delete(callKey)
  }

  told(callKey: string): void {
    this.#held.delete(callKey)
    this.#begun.delete(callKey)
  }

  waits(request: ApprovalRequest): Promise<never> {
    const { id, expiresAt } = request
    this.#asked.set(id, { id, ...(expiresAt !== undefined && { expiresAt }) })
    this.#atWork--
    this.#notify()
    // It is not at work any more, and its `finally` never comes.
    return NEVER
  }

  /** An SDK begins a run of its own: its turns are those of this run. */
  beginSdkRun({ input }: OperationInit): Operation {
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
    for (const { kept } of this.#given.splice(0)) kept.resolve()
    for (;;) {
      const changed = this.#changed.promise
      // What comes at once is kept at once: tools that run side by side, and have all begun.
      await nextTurn()
      if (this.#ended !== undefined) return this.#last(this.#ended)
      if (this.#left) throw new Error('Another attempt goes on with the run.')
      if (this.#unkept.length > 0) return this.#part()
      if (this.#atWork === 0 && this.#asked.size > 0) return this.#park()
      await changed
    }
  }

  /** To its end: the engine keeps nothing of it any more. */
  async rest(): Promise<Segment<LoopRecord, LoopOutcome>> {
    this.#unlistened = true
    for (const { kept } of [...this.#given.splice(0), ...this.#unkept.splice(0)]) kept.resolve()
    await this.#main.catch(() => {})
    return this.#last(this.#ended as Ended)
  }

  #part(): Segment<LoopRecord, LoopOutcome> {
    this.#given = this.#unkept.splice(0)
    const entries = Object.fromEntries(this.#given.map(({ key, entry }) => [key, entry]))
    this.position++
    return { kept: [this.#record(entries, this.#saved())], at: Date.now() }
  }

  async #park(): Promise<Segment<LoopRecord, LoopOutcome>> {
    const { turn } = this.steps
    for (const suspend of this.#held.values()) await suspend()
    await this.steps.suspend()
    const record = this.#record({}, this.#op.park({ waitingFor: 'human' }), turn)
    this.#parked = record
    clearTimeout(this.#deadline)
    return { kept: [record], at: Date.now(), asked: [...this.#asked.values()] }
  }

  #record(entries: LoopRecord['entries'], saved: ParkedOperation, turn = this.steps.turn): LoopRecord {
    return { entries, saved, ...(turn !== undefined && { turn }) }
  }

  /** A call whose tool has returned a moment ago, and whose outcome is not kept, is open still: else it looks as if never made. */
  #saved(): ParkedOperation {
    const saved = this.#op.checkpoint()
    const open = new Map(this.#begun)
    for (const call of saved.waiting ?? []) {
      const { unknown, ...decided } = call
      const isHeld = this.#held.has(call.callKey)
      open.set(call.callKey, isHeld ? decided : call)
      if (unknown && !isHeld) this.#begun.set(call.callKey, call)
    }
    return { ...saved, waiting: [...open.values()] }
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

  async #run(loop: (run: LiveLoop) => Promise<unknown>): Promise<LoopOutcome> {
    let value: unknown
    let thrown: unknown
    try {
      if (this.keptOf('begin', 'begin') === undefined) {
        await this.atWork(async () => this.#op.admit())
        await this.keep('begin', { name: 'begin' })
      }
      value = await inDurableRun(
        (init) => this.beginSdkRun(init),
        () => loop(this),
      )
    } catch (error) {
      thrown = error ?? new Error('The loop threw nothing.')
    }
    if (this.#gone) return NEVER
    const outcome = await this.#complete(value, thrown)
    // A process that died may have asked what is not kept.
    await withdrawRun(this.#options.approver ?? this.#options.dispatcher.approver, this.operationId)
    return outcome
  }

  async #complete(value: unknown, thrown: unknown): Promise<LoopOutcome> {
    const { operationId } = this
    const op = this.#op
    const { totals } = op
    const endedBy = this.#stoppedBy
    if (endedBy !== undefined) {
      await op.complete({ reason: 'interrupted' })
      return { operationId, reason: 'interrupted', totals, endedBy }
    }
    if (thrown !== undefined && op.stopRequested === undefined) {
      await op.fail(thrown)
      const error = { type: errorType(thrown), message: errorMessage(thrown) }
      return { operationId, reason: 'error', totals, error }
    }
    const content =
      value === undefined ? {} : { content: typeof value === 'string' ? value : safeStringify(value) }
    const { reason } = await op.complete(content)
    if (reason === 'denied') return { operationId, reason, totals }
    return { operationId, reason: 'done', totals, ...(value !== undefined && { value }) }
  }

  get core(): OperationCore {
    return coreOf(this.#op)
  }
}
