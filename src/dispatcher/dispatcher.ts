import { assertGates } from '../gates/gate.ts'
import type { Approver, Gate } from '../gates/index.ts'
import { assertHook } from '../hooks/agent-hook.ts'
import type { AgentHook, AnyHookType, EventInit, ToolMock } from '../hooks/index.ts'
import { isHookType } from '../hooks/index.ts'
import { describeValue, HookspanError } from '../internal/errors.ts'
import { type DrainReport, DrainWaiters } from './drain.ts'
import { IdleSweeper } from './idle-sweeper.ts'
import type { Instrument } from './instrument.ts'
import { Operation } from './operation.ts'
import type { OperationHost } from './operation-core.ts'
import type { OperationInit } from './operation-init.ts'
import { OperationRecord, type RecordHost } from './operation-record.ts'
import {
  type DispatcherStats,
  type HookDispatcherOptions,
  type PriceOf,
  type ResolvedOptions,
  readOptions,
} from './options.ts'
import { assertPlugin, type Plugin } from './plugin.ts'
import { Reporter } from './report.ts'
import { askStandIns, type StandIn } from './stand-in.ts'

/** How many ended operations are remembered, so that a late event does not bring one back to life. */
const REMEMBERED_ENDS = 1_024

/**
 * The one place through which every lifecycle event passes.
 *
 * @example
 * const dispatcher = new HookDispatcher()
 * dispatcher.register('op-1', [{ id: 'log', type: 'afterToolCall', handler: (e) => console.log(e.apiName) }])
 */
export class HookDispatcher {
  readonly #records = new Map<string, OperationRecord>()
  /** Left the map but still deliver what was dispatched before. */
  readonly #leaving = new Set<OperationRecord>()
  readonly #operations = new Map<OperationRecord, Operation>()
  readonly #recentlyEnded = new Set<string>()
  readonly #options: ResolvedOptions
  readonly #reporter: Reporter
  readonly #sweeper: IdleSweeper
  readonly #drains = new DrainWaiters()
  readonly #recordHost: RecordHost
  readonly #operationHost: OperationHost
  #plugins: readonly Plugin[] = []
  #instruments: readonly Instrument[] = []
  #gates: readonly Gate[] = []
  #globalHooks: { readonly hook: AgentHook; readonly order: number }[] = []
  #order = 0
  #abandoned = 0

  /** @throws HookspanError `INVALID_OPTION` naming the option and its value. */
  constructor(options: HookDispatcherOptions = {}) {
    this.#options = readOptions(options)
    this.#reporter = new Reporter(this.#options.onHookError)
    this.#sweeper = new IdleSweeper(this.#options.idleTimeoutMs, this.#records, (record) =>
      this.#abandon(record),
    )
    const dispatcher = this
    this.#recordHost = {
      reporter: this.#reporter,
      mockTimeoutMs: this.#options.mockTimeoutMs,
      get globalHooks() {
        return dispatcher.#globalHooks
      },
      get instruments() {
        return dispatcher.#instruments
      },
      nextOrder: () => this.#order++,
      settled: (record) => this.#settled(record),
    }
    this.#operationHost = {
      reporter: this.#reporter,
      priceOf: this.#options.priceOf,
      composition: this.#options.composition,
      get instruments() {
        return dispatcher.#instruments
      },
      gates: () => this.#gates,
      approver: (): Approver | undefined => this.#plugins.findLast((plugin) => plugin.approver)?.approver,
      standIns: (): StandIn[] => this.#plugins.flatMap((plugin) => plugin.standIn ?? []),
      ended: (record) => this.#release(record, false),
    }
  }

  /** What prices model calls, where the options say so. */
  get priceOf(): PriceOf | undefined {
    return this.#options.priceOf
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
    if (!Array.isArray(hooks)) {
      throw new HookspanError('INVALID_HOOK', `Expected a list of hooks, got ${describeValue(hooks)}.`)
    }
    const known = this.#records.get(operationId)
    const ids = new Set<string>()
    for (const hook of hooks) {
      assertHook(hook)
      if (ids.has(hook.id) || known?.hookIds().has(hook.id)) {
        throw new HookspanError(
          'DUPLICATE_HOOK',
          `Hook id "${hook.id}" is already registered for operation "${operationId}". Give each hook an id of its own.`,
        )
      }
      ids.add(hook.id)
    }
    const registered = hooks.slice()
    const record = known ?? this.#createRecord(operationId)
    record.add(registered)
    let undone = false
    return () => {
      if (undone) return
      undone = true
      record.removeHooks(registered)
      if (!record.managed && record.ownHookCount === 0 && this.#plugins.length === 0)
        this.#release(record, false)
    }
  }

  /** Ends what the dispatcher holds of an operation. What was dispatched before is still delivered. */
  unregister(operationId: string): void {
    const record = this.#records.get(operationId)
    if (record === undefined) return
    if (record.managed) {
      for (const queue of [...record.hookIds().values()]) record.removeHooks([queue.hook])
      return
    }
    this.#release(record, false)
  }

  /**
   * Adds a plugin to every operation, those that run included.
   *
   * @returns takes the plugin out again when disposed; spans that it opened still end.
   * @throws HookspanError `INVALID_PLUGIN` when it is malformed or in use already.
   */
  use(plugin: Plugin): Disposable {
    assertPlugin(plugin)
    if (this.#plugins.includes(plugin)) {
      throw new HookspanError(
        'INVALID_PLUGIN',
        `Plugin "${plugin.name}" is already in use. Dispose it first.`,
      )
    }
    this.#setPlugins([...this.#plugins, plugin])
    plugin.attached?.(this)
    return { [Symbol.dispose]: () => this.#setPlugins(this.#plugins.filter((other) => other !== plugin)) }
  }

  /** Tells the hooks of an operation and returns at once. Nothing a handler does reaches the caller. */
  dispatch<T extends AnyHookType>(operationId: string, type: T, event: EventInit<T>): void
  dispatch(operationId: string, type: AnyHookType, event: object): void
  dispatch(operationId: string, type: AnyHookType, event: object): void {
    const record = this.#records.get(operationId) ?? this.#adopt(operationId, type)
    if (record === undefined) return
    record.emit(type, event)
    if (type === 'onComplete' && !record.managed && record.ownHookCount === 0) this.#release(record, false)
  }

  /**
   * Tells the `beforeToolCall` hooks, each once, and gives what one of them mocked. Waits for asynchronous
   * handlers at most their own `timeoutMs` (1 000 by default here), and no longer than until somebody mocked.
   *
   * Where none of them mocked, the plugins' stand-ins are asked.
   *
   * @returns null when the tool is to be run.
   */
  async dispatchBeforeToolCall(
    operationId: string,
    event: EventInit<'beforeToolCall'> | object,
  ): Promise<ToolMock | null> {
    const record = this.#records.get(operationId) ?? this.#adopt(operationId, 'beforeToolCall')
    const mock = record === undefined ? null : await record.decideMock(event)
    return mock ?? askStandIns(this.#operationHost.standIns(), operationId, event)
  }

  /** Whether an event of this operation (and type) would reach anybody. */
  hasHooks(operationId: string, type?: AnyHookType): boolean {
    const record = this.#records.get(operationId)
    if (record !== undefined) return record.hasHooks(type)
    return this.#globalHooks.some(({ hook }) => type === undefined || hook.type === type)
  }

  /**
   * Waits until handlers are done with what was dispatched, for one operation or for all.
   *
   * @param options.timeoutMs milliseconds to wait at most; default 30 000. Never rejects.
   */
  drain(operationId?: string, options: { timeoutMs?: number } = {}): Promise<DrainReport> {
    return this.#drains.wait(() => this.#pending(operationId), options.timeoutMs)
  }

  stats(): DispatcherStats {
    return {
      operations: this.#records.size,
      hooks: this.#globalHooks.length + sum(this.#records.values(), (record) => record.ownHookCount),
      plugins: this.#plugins.length,
      pending: this.#pending(undefined),
      abandoned: this.#abandoned,
      ...this.#reporter.counters,
    }
  }

  /**
   * Starts an operation: the way in which a runtime or an adapter speaks, with every start paired to an end.
   *
   * @throws HookspanError `DUPLICATE_OPERATION` when an operation of this id runs already.
   */
  startOperation(init: OperationInit = {}): Operation {
    const operationId = init.operationId ?? init.resume?.operationId ?? `op_${crypto.randomUUID()}`
    assertOperationId(operationId)
    if (init.gates !== undefined) assertGates(init.gates)
    const existing = this.#records.get(operationId)
    if (existing?.managed) {
      throw new HookspanError(
        'DUPLICATE_OPERATION',
        `Operation "${operationId}" is already running. Use another id.`,
      )
    }
    const record = existing ?? this.#createRecord(operationId)
    if (init.hooks !== undefined) this.register(operationId, init.hooks)
    const operation = Operation.start(this.#operationHost, record, init)
    this.#operations.set(record, operation)
    return operation
  }

  /**
   * Ends every operation that is still open as `interrupted`, innermost calls first, and waits for the handlers.
   * For process shutdown.
   */
  async shutdown(options: { timeoutMs?: number } = {}): Promise<DrainReport> {
    this.interruptAll()
    const report = await this.drain(undefined, options)
    this.#sweeper.stop()
    return report
  }

  /** The synchronous half of {@link shutdown}, for signal handlers: ends what is open, waits for nothing. */
  interruptAll(): void {
    for (const operation of [...this.#operations.values()].reverse()) operation.interrupt()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.shutdown().then(() => {})
  }

  #createRecord(operationId: string): OperationRecord {
    this.#recentlyEnded.delete(operationId)
    const record = new OperationRecord(this.#recordHost, { operationId, rootOperationId: operationId })
    this.#records.set(operationId, record)
    this.#sweeper.wake()
    return record
  }

  /** An operation nobody registered still has the plugins' hooks. */
  #adopt(operationId: string, type: AnyHookType): OperationRecord | undefined {
    if (this.#globalHooks.length === 0 && this.#instruments.length === 0) return undefined
    if (this.#recentlyEnded.has(operationId) || !isHookType(type)) return undefined
    return this.#createRecord(operationId)
  }

  #release(record: OperationRecord, abandoned: boolean): void {
    const { operationId } = record
    if (this.#records.get(operationId) !== record) return
    this.#records.delete(operationId)
    this.#operations.delete(record)
    if (record.pending > 0) this.#leaving.add(record)
    if (this.#plugins.length > 0) this.#remember(operationId)
    if (!record.managed) this.#tellReleased(operationId, abandoned)
    if (this.#records.size === 0) this.#sweeper.stop()
  }

  #remember(operationId: string): void {
    this.#recentlyEnded.add(operationId)
    if (this.#recentlyEnded.size <= REMEMBERED_ENDS) return
    for (const oldest of this.#recentlyEnded) {
      this.#recentlyEnded.delete(oldest)
      return
    }
  }

  #tellReleased(operationId: string, abandoned: boolean): void {
    for (const instrument of this.#instruments) {
      try {
        instrument.onRelease?.(operationId, { abandoned })
      } catch (error) {
        this.#reporter.failure({ kind: 'instrument', hookId: 'instrument', operationId, error })
      }
    }
  }

  #abandon(record: OperationRecord): void {
    this.#abandoned++
    const operation = this.#operations.get(record)
    if (operation !== undefined) {
      operation.abandon()
      return
    }
    record.emit('onComplete', { reason: 'interrupted', abandoned: true })
    this.#release(record, true)
  }

  #setPlugins(plugins: readonly Plugin[]): void {
    const orders = new Map(this.#globalHooks.map(({ hook, order }) => [hook, order]))
    this.#plugins = plugins
    this.#gates = plugins.flatMap((plugin) => plugin.gates ?? [])
    this.#instruments = plugins.flatMap((plugin) => plugin.instrument ?? [])
    this.#globalHooks = plugins
      .flatMap((plugin) => plugin.hooks ?? [])
      .map((hook) => ({ hook, order: orders.get(hook) ?? this.#order++ }))
    for (const record of this.#records.values()) record.refreshGlobals()
  }

  #pending(operationId: string | undefined): number {
    const records = [...this.#records.values(), ...this.#leaving]
    return sum(
      records.filter((record) => operationId === undefined || record.operationId === operationId),
      (record) => record.pending,
    )
  }

  #settled(record: OperationRecord): void {
    this.#leaving.delete(record)
    this.#drains.check()
  }
}

function assertOperationId(operationId: unknown): void {
  if (typeof operationId === 'string' && operationId !== '') return
  throw new HookspanError(
    'INVALID_OPTION',
    `Expected \`operationId\` to be a non-empty string, got ${describeValue(operationId)}.`,
  )
}

function sum<T>(items: Iterable<T>, of: (item: T) => number): number {
  let total = 0
  for (const item of items) total += of(item)
  return total
}
