import type { Approver } from '../gates/index.ts'
import { assertHooks, type RunnableHook } from '../hooks/agent-hook.ts'
import type { AgentHook, AnyHookType, EventInit, ToolMock } from '../hooks/index.ts'
import { isHookType } from '../hooks/index.ts'
import { callBeside, ifRejected } from '../internal/async.ts'
import { HookspanError } from '../internal/errors.ts'
import { assertFields, TIMEOUT } from '../internal/expect.ts'
import { assertPlatform } from '../internal/platform.ts'
import { coreOf } from './calls/call-maker.ts'
import { endInside } from './calls/end-inside.ts'
import { refusalContent } from './calls/tool-outcome.ts'
import { noteCopy } from './copies.ts'
import { DISPATCHED, type Dispatched } from './events/dispatched.ts'
import { type DrainReport, DrainWaiters } from './events/drain.ts'
import { EndedOperations } from './events/ended-operations.ts'
import { IdleSweeper } from './events/idle-sweeper.ts'
import type { MockDecision } from './events/mock-wait.ts'
import { NamedHooks } from './events/named-hooks.ts'
import { OperationRecord, type RecordHost } from './events/operation-record.ts'
import { Reporter } from './events/report.ts'
import { guardsOf } from './guards-of.ts'
import { Operation } from './operation.ts'
import {
  type DispatcherStats,
  type HookDispatcherOptions,
  type PriceOf,
  type ResolvedOptions,
  readOptions,
} from './options.ts'
import type { Plugin } from './plugins/plugin.ts'
import { PluginSet } from './plugins/plugin-set.ts'
import { askStandIns } from './plugins/stand-in.ts'
import { foundPlace } from './run/current.ts'
import { disabledIn } from './run/disabled.ts'
import { FittedPatterns } from './run/fitted-patterns.ts'
import type { OperationHost } from './run/operation-core.ts'
import {
  assertGatesOf,
  assertOperationId,
  assertOperationInit,
  newOperationId,
  type OperationInit,
} from './run/operation-init.ts'
import type { ParkedOperation } from './run/parked.ts'
import { callerOf, RunGuards } from './run/run-guards.ts'
import { claimOf, StateClaim } from './run/state-claim.ts'

/**
 * The one place through which every lifecycle event passes.
 *
 * @example
 * const dispatcher = new HookDispatcher()
 * dispatcher.register('op-1', [{ id: 'log', type: 'afterToolCall', handler: (e) => console.log(e.apiName) }])
 */
export class HookDispatcher {
  /** Hooks known by their ids, for runs that name them and for runs that another process resumes. */
  readonly namedHooks: NamedHooks = new NamedHooks()
  readonly #records = new Map<string, OperationRecord>()
  /** The record that was told of last: most events come in a row. Never one that has left the map. */
  #last: OperationRecord | undefined
  /** Records with asynchronous handlers at work, those included that have left the map. */
  readonly #busy = new Set<OperationRecord>()
  readonly #operations = new Map<OperationRecord, Operation>()
  readonly #ended = new EndedOperations()
  readonly #options: ResolvedOptions
  readonly #reporter: Reporter
  readonly #sweeper: IdleSweeper
  readonly #drains = new DrainWaiters()
  readonly #plugins = new PluginSet(() => this.#order++)
  readonly #guards: RunGuards
  readonly #recordHost: RecordHost
  readonly #operationHost: OperationHost
  #order = 0
  #abandoned = 0

  /** @throws HookspanError `INVALID_OPTION` naming the option and its value; `MISSING_DEPENDENCY` on a Node below 22. */
  constructor(options: HookDispatcherOptions = {}) {
    assertPlatform()
    noteCopy()
    this.#options = readOptions(options)
    guardsOf.set(this, (init) => this.#guards.decide(init))
    this.#reporter = new Reporter(this.#options.onHookError)
    this.#sweeper = new IdleSweeper(this.#options.idleTimeoutMs, this.#records, (record) =>
      this.#abandon(record),
    )
    const mockers = new WeakSet<RunnableHook>()
    this.#guards = new RunGuards(this.#plugins, mockers)
    this.#recordHost = {
      reporter: this.#reporter,
      mockTimeoutMs: this.#options.mockTimeoutMs,
      plugins: this.#plugins,
      mockers,
      nextOrder: () => this.#order++,
      busy: (record) => this.#busy.add(record),
      settled: (record) => this.#settled(record),
    }
    this.#operationHost = {
      dispatcher: this,
      reporter: this.#reporter,
      priceOf: this.#options.priceOf,
      composition: this.#options.composition,
      fitted: new FittedPatterns(),
      plugins: this.#plugins,
      ended: (record) => this.#release(record, false),
    }
  }

  /** What prices model calls, where the options say so. */
  get priceOf(): PriceOf | undefined {
    return this.#options.priceOf
  }

  /** Who is asked where a gate wants an approval and the run has nobody of its own: plugged in last. */
  get approver(): Approver | undefined {
    return this.#plugins.approver
  }

  /** What takes part in every operation, in its order. */
  get plugins(): readonly Plugin[] {
    return this.#plugins.all
  }

  /**
   * Adds hooks to one operation.
   *
   * @returns removes exactly these hooks; what waits for them is discarded.
   * @throws HookspanError `INVALID_HOOK`, or `DUPLICATE_HOOK` when an id is in use in this operation. Then none
   * of the hooks is registered.
   */
  register(operationId: string, hooks: AgentHook[]): () => void {
    assertOperationId(operationId)
    const known = this.#records.get(operationId)
    assertHooks(hooks, `operation "${operationId}"`, known?.hookIds())
    if (hooks.length === 0) return () => {}
    const registered = hooks.slice()
    const record = known ?? this.#createRecord(operationId)
    record.add(registered)
    let undone = false
    return () => {
      if (undone) return
      undone = true
      record.removeHooks(registered)
      if (this.#plugins.size > 0) this.#releaseIfOver(record)
      else if (!record.managed && record.ownHookCount === 0) this.#release(record, false)
    }
  }

  /** Ends what the dispatcher holds of an operation. What was dispatched before is still delivered. */
  unregister(operationId: string): void {
    const record = this.#records.get(operationId)
    if (record === undefined) return
    if (record.managed) record.forgetHooks()
    else this.#release(record, false)
  }

  /**
   * Adds a plugin to every operation, those that run included.
   *
   * @returns takes the plugin out again when disposed; spans that it opened still end.
   * @throws HookspanError `INVALID_PLUGIN` when it is malformed or in use already, `INVALID_HOOK`, `INVALID_GATE`.
   */
  use(plugin: Plugin): Disposable {
    this.#plugins.add(plugin)
    this.#refresh()
    ifRejected(plugin.attached?.(this), (error) =>
      this.#reporter.failure({ kind: 'failed', hookId: plugin.name, error }),
    )
    return {
      [Symbol.dispose]: () => {
        this.#plugins.remove(plugin)
        this.#refresh()
      },
    }
  }

  /**
   * Tells the hooks of an operation and returns at once. Nothing a handler does reaches the caller.
   *
   * @returns nothing to wait for, with a `then`, `catch` and `finally` for runtimes that chain them: it never rejects.
   */
  dispatch<T extends AnyHookType>(operationId: string, type: T, event: EventInit<T>): Dispatched
  dispatch(operationId: string, type: AnyHookType, event: object): Dispatched
  dispatch(operationId: string, type: AnyHookType, event: object): Dispatched {
    const last = this.#last
    const record = last?.operationId === operationId ? last : this.#find(operationId, type)
    if (record === undefined) return DISPATCHED
    record.emit(type, event)
    this.#releaseIfOver(record)
    return DISPATCHED
  }

  /**
   * Tells the `beforeToolCall` hooks, each once, and gives what one of them mocked. Waits for asynchronous
   * handlers at most their own `timeoutMs` (see `AgentHook.mocks`), and no longer than until somebody mocked.
   *
   * Where none of them mocked, the plugins' stand-ins are asked.
   *
   * @returns null when the tool is to be run. When a hook that mocks is late: `success: false`, with why in `content` and
   * a HookspanError `CALL_DENIED` as `error`.
   */
  async dispatchBeforeToolCall(
    operationId: string,
    event: EventInit<'beforeToolCall'> | object,
  ): Promise<ToolMock | null> {
    const record = this.#records.get(operationId) ?? this.#adopt(operationId, 'beforeToolCall')
    const decided = record === undefined ? null : record.decideMock(event)
    if (record !== undefined) this.#releaseIfOver(record)
    return asMock(await decided) ?? askStandIns(this.#plugins.standIns, operationId, event)
  }

  /** Whether an event of this operation (and type) would reach anybody. */
  hasHooks(operationId: string, type?: AnyHookType): boolean {
    const record = this.#records.get(operationId)
    if (record !== undefined) return record.hasHooks(type)
    return this.#plugins.hooks.some(({ hook }) => type === undefined || hook.type === type)
  }

  /**
   * Waits until handlers are done with what was dispatched, for one operation or for all.
   *
   * @param options.timeoutMs milliseconds to wait at most; default 30 000. Never rejects.
   */
  drain(operationId?: string, options: { timeoutMs?: number } = {}): Promise<DrainReport> {
    assertFields(options, TIMEOUT, 'drain()')
    return this.#drains.wait(() => this.#pending(operationId), options.timeoutMs)
  }

  stats(): DispatcherStats {
    return {
      operations: this.#records.size,
      hooks: this.#plugins.hooks.length + sum(this.#records.values(), (record) => record.ownHookCount),
      plugins: this.#plugins.size,
      pending: this.#pending(undefined),
      abandoned: this.#abandoned,
      ...this.#reporter.counters,
    }
  }

  /**
   * Starts an operation: the way in which a runtime or an adapter speaks, with every start paired to an end.
   *
   * @throws HookspanError `DUPLICATE_OPERATION` when an operation of this id runs already; `INVALID_OPTION`,
   * `INVALID_HOOK`, `DUPLICATE_HOOK`, `INVALID_GATE` for a malformed init; `NOT_CAPABLE` when a gate or a mock asks for
   * what the runtime's adapter cannot do; `STATE_CLAIMED` when the run that is to go on is at work in this dispatcher, or this process
   * went on from the saved state before and no store of approvals is asked, which is told at the first step or call; `INVALID_STATE` when a gate of the run that is to go on
   * is missing. Then nothing was started.
   */
  startOperation(init: OperationInit = {}): Operation {
    assertOperationInit(init)
    const { resume, gates = [] } = init
    assertGatesOf(`Run "${resume?.operationId}"`, resume?.gateIds ?? [], gates)
    return this.#start(this.#placed(init))
  }

  /** In a run that its SDK takes along, and no context of a tracer. */
  #placed(init: OperationInit): OperationInit {
    if (init.traceparent !== undefined || init.parent !== undefined || init.resume !== undefined) return init
    const traceparent = foundPlace(this)?.site.traced.traceparent
    return traceparent === undefined ? init : { ...init, traceparent }
  }

  #start(init: OperationInit): Operation {
    const operationId = init.operationId ?? init.resume?.operationId ?? newOperationId()
    assertOperationId(operationId)
    const existing = this.#records.get(operationId)
    if (existing?.managed) {
      throw init.resume === undefined
        ? new HookspanError(
            'DUPLICATE_OPERATION',
            `Operation "${operationId}" is already running. Use another id.`,
          )
        : new HookspanError(
            'STATE_CLAIMED',
            `Run "${operationId}" goes on in this process already. Nothing was run.`,
          )
    }
    const { hooks = [] } = init
    assertHooks(hooks, `operation "${operationId}"`, existing?.hookIds())
    const disabled = disabledIn(init.disable ?? [], callerOf(init.parent)?.disabled, this.#plugins)
    this.#guards.assertCapable(init, disabled)
    const claim = claimOf(init, this.#plugins.approver)
    const record = existing ?? this.#createRecord(operationId)
    record.add(hooks)
    const operation = Operation.start(this.#operationHost, record, init, claim, disabled, (started) =>
      this.#operations.set(record, started),
    )
    this.#endInside(operation, init.resume?.inside, claim?.pending)
    return operation
  }

  /** What tools of a process that died had begun. */
  #endInside(operation: Operation, runs: readonly ParkedOperation[] = [], pending?: Promise<void>): void {
    if (pending !== undefined) {
      pending.then(() => this.#endInside(operation, runs)).catch(() => {})
      return
    }
    for (const resume of runs) {
      // It is at work in this process yet.
      if (this.#records.get(resume.operationId)?.managed) continue
      StateClaim.cover(resume)
      endInside(coreOf(operation), resume, (parent) => this.#start({ ...parent, resume }).interrupt())
    }
  }

  /**
   * Ends every operation that is still open as `interrupted`, innermost calls first, and waits for the handlers.
   * For process shutdown.
   */
  async shutdown(options: { timeoutMs?: number } = {}): Promise<DrainReport> {
    assertFields(options, TIMEOUT, 'shutdown()')
    this.interruptAll()
    const report = await this.drain(undefined, options)
    this.#sweeper.stop()
    return report
  }

  /** The synchronous half of {@link shutdown}, for signal handlers: ends what is open, waits for nothing. */
  interruptAll(): void {
    for (const operation of [...this.#operations.values()].reverse()) operation.interrupt()
    for (const record of [...this.#records.values()].reverse()) {
      if (!record.completed) record.emit('onComplete', { reason: 'interrupted' })
      this.#release(record, false)
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.shutdown().then(() => {})
  }

  #createRecord(operationId: string): OperationRecord {
    this.#ended.forget(operationId)
    const record = new OperationRecord(this.#recordHost, { operationId, rootOperationId: operationId })
    this.#records.set(operationId, record)
    this.#sweeper.wake()
    return record
  }

  #find(operationId: string, type: AnyHookType): OperationRecord | undefined {
    const record = this.#records.get(operationId) ?? this.#adopt(operationId, type)
    this.#last = record
    return record
  }

  /** An operation nobody registered still has the plugins' hooks. */
  #adopt(operationId: string, type: AnyHookType): OperationRecord | undefined {
    if (this.#plugins.hooks.length === 0 && this.#plugins.instruments.length === 0) return undefined
    const end = this.#ended.get(operationId)
    if ((end !== undefined && end.sequence === undefined) || !isHookType(type)) return undefined
    const record = this.#createRecord(operationId)
    if (end?.sequence === undefined) return record
    // A late event of a run that said `onComplete` itself: told in order, and nothing is kept of it.
    record.sequence = end.sequence
    record.completed = true
    return record
  }

  /** An operation that only plugins listen to needs no unregister(): it is over when it is complete. */
  #releaseIfOver(record: OperationRecord): void {
    if (!record.completed || record.managed || record.ownHookCount > 0) return
    this.#release(record, false, record.sequence)
  }

  /** `sequence`: where late events go on, if they are to be told. */
  #release(record: OperationRecord, abandoned: boolean, sequence?: number): void {
    const { operationId } = record
    if (this.#records.get(operationId) !== record) return
    this.#records.delete(operationId)
    if (this.#last === record) this.#last = undefined
    this.#operations.delete(record)
    if (this.#plugins.size > 0) this.#ended.remember(operationId, sequence)
    if (!record.managed) this.#tellReleased(operationId, abandoned)
    if (this.#records.size === 0) this.#sweeper.stop()
  }

  #tellReleased(operationId: string, abandoned: boolean): void {
    for (const instrument of this.#plugins.instruments) {
      callBeside(
        () => instrument.onRelease?.(operationId, { abandoned }),
        (error) => this.#reporter.failure({ kind: 'instrument', hookId: 'instrument', operationId, error }),
      )
    }
  }

  #abandon(record: OperationRecord): void {
    this.#abandoned++
    const operation = this.#operations.get(record)
    if (operation !== undefined) {
      operation.abandon()
      return
    }
    if (!record.completed) record.emit('onComplete', { reason: 'interrupted', abandoned: true })
    this.#release(record, true)
  }

  #refresh(): void {
    for (const record of this.#records.values()) record.refreshGlobals()
  }

  #pending(operationId: string | undefined): number {
    return sum(this.#busy, (record) =>
      operationId === undefined || record.operationId === operationId ? record.pending : 0,
    )
  }

  #settled(record: OperationRecord): void {
    this.#busy.delete(record)
    this.#drains.check()
  }
}

/** A refusal, for a runtime that knows mocks only. */
function asMock(decided: MockDecision): ToolMock | null {
  if (decided === null || !('refused' in decided)) return decided
  const { refused } = decided
  const error = new HookspanError('CALL_DENIED', `Tool call denied (${refused.code}): ${refused.reason}`, {
    cause: refused,
  })
  return { content: refusalContent(refused), success: false, error }
}

function sum<T>(items: Iterable<T>, of: (item: T) => number): number {
  let total = 0
  for (const item of items) total += of(item)
  return total
}
