import { DEFAULT_PRIORITY, type RunnableHook } from '../../hooks/agent-hook.ts'
import {
  type AgentHook,
  type AnyHookType,
  EXTENDED_HOOK_TYPES,
  HOOK_TYPES,
  type HookEvent,
  isHookType,
} from '../../hooks/index.ts'
import { ifRejected } from '../../internal/async.ts'
import { describeValue, HookspanError } from '../../internal/errors.ts'
import type { OperationInfo } from '../plugins/instrument.ts'
import type { PluginSet } from '../plugins/plugin-set.ts'
import type { Disabled } from '../run/disabled.ts'
import { HookQueue, type QueueOwner } from './hook-queue.ts'
import { type MockDecision, MockWait } from './mock-wait.ts'
import type { Reporter } from './report.ts'
import { detach, detachSymbols, holdsObjects, stampEvent, symbolsOf } from './stamp.ts'

/** What a record needs of its dispatcher. */
export interface RecordHost {
  readonly reporter: Reporter
  readonly mockTimeoutMs: number
  readonly plugins: PluginSet
  /** Hooks that have called `event.mock()`. */
  readonly mockers: WeakSet<RunnableHook>
  nextOrder(): number
  /** A handler of the record goes on asynchronously. */
  busy(record: OperationRecord): void
  /** The record has no work in flight any more. */
  settled(record: OperationRecord): void
}

/** Who hears the events of one type, in order. */
interface Audience {
  readonly queues: readonly HookQueue[]
}

/**
 * An object that inherits nothing, so that `constructor` is no hook type. Looking up a name in it takes half of what
 * a Map takes, and that is a quarter of what an event costs that nobody hears.
 */
function Bare(): void {}
Bare.prototype = Object.create(null)

function noAudiences(): Partial<Record<AnyHookType, Audience>> {
  return new (Bare as unknown as new () => object)()
}

const NO_CONSUMER =
  'event.mock() has no effect under dispatch("beforeToolCall"). Let the runtime call dispatchBeforeToolCall().'

/** Everything the dispatcher holds of one operation. */
export class OperationRecord implements QueueOwner {
  info: OperationInfo
  /** True once an `Operation` speaks for it, which tells the instruments itself. */
  managed = false
  /** True once `onComplete` was dispatched. */
  completed = false
  /** Set by each event, taken back by the sweeper. */
  active = true
  /** Milliseconds that the sweeper saw pass without an event. */
  idleMs = 0
  sequence = 0
  /** Set by an `Operation`: a run that waits for a human is not idle. */
  questions: { readonly awaited: boolean } | undefined
  /** Set by an `Operation` that is traced. */
  traced: { readonly traceparent: string | undefined } | undefined
  clock: () => number = Date.now
  readonly #host: RecordHost
  #disabled: Disabled | undefined
  readonly #own = new Map<string, HookQueue>()
  readonly #global = new Map<AgentHook, HookQueue>()
  readonly #busy = new Set<HookQueue>()
  /** Tool calls that wait for handlers. */
  readonly #waits = new Set<MockWait>()
  #audiences = noAudiences()
  /** Events dispatched by a handler while an event is on its way to several hooks: told after that one, in order. */
  #deferred: (() => void)[] | undefined
  #delivering = false

  constructor(host: RecordHost, info: OperationInfo) {
    this.#host = host
    this.info = info
  }

  get traceparent(): string | undefined {
    return this.traced?.traceparent
  }

  get operationId(): string {
    return this.info.operationId
  }

  hookIds(): ReadonlyMap<string, HookQueue> {
    return this.#own
  }

  get ownHookCount(): number {
    return this.#own.size
  }

  add(hooks: readonly AgentHook[]): void {
    for (const hook of hooks) this.#own.set(hook.id, this.#queueFor(hook, this.#host.nextOrder()))
    this.#audiences = noAudiences()
  }

  removeHooks(hooks: readonly { readonly id: string }[]): void {
    for (const hook of hooks) {
      const queue = this.#own.get(hook.id)
      if (queue === undefined || (queue.hook as unknown) !== hook) continue
      queue.remove()
      this.#own.delete(hook.id)
    }
    this.#audiences = noAudiences()
  }

  /** Takes the operation's own hooks out; what was dispatched to them before is still delivered. */
  forgetHooks(): void {
    this.#own.clear()
    this.#audiences = noAudiences()
  }

  /** What of the plugins is not told of this run. */
  disable(disabled: Disabled): void {
    if (disabled.ids.length === 0) return
    this.#disabled = disabled
    this.#audiences = noAudiences()
  }

  /** The plugins changed. Queues of hooks that stay are kept, with what waits in them. */
  refreshGlobals(): void {
    const current = new Set(this.#host.plugins.hooks.map(({ hook }) => hook))
    for (const [hook, queue] of this.#global) {
      if (current.has(hook)) continue
      queue.remove()
      this.#global.delete(hook)
    }
    this.#audiences = noAudiences()
  }

  hasHooks(type?: AnyHookType): boolean {
    if (type !== undefined) return isHookType(type) && (this.#audienceOf(type)?.queues.length ?? 0) > 0
    return this.#own.size > 0 || this.#host.plugins.hooks.length > 0
  }

  /** Whether an event of this type reaches anybody. Who does not make it counts it. */
  hears(type: AnyHookType): boolean {
    const audience = this.#audiences[type] ?? this.#audienceOf(type)
    return audience === undefined || audience.queues.length > 0 || this.#instrumented
  }

  /** Whether a hook stands in for tools: it says so, or has done so. */
  get mayMock(): boolean {
    return this.#audienceOf('beforeToolCall')?.queues.some(({ mocks }) => mocks) ?? false
  }

  /** Hooks that say that they mock. */
  get mockingHooks(): readonly RunnableHook[] {
    const hooks = this.#audienceOf('beforeToolCall')?.queues.map(({ hook }) => hook) ?? []
    return hooks.filter(({ mocks }) => mocks === true)
  }

  /** Counts an event. Gives its place in the operation's sequence. */
  count(type: AnyHookType): number {
    this.active = true
    if (type === 'onComplete') this.#completed()
    return this.sequence++
  }

  /** Fire and forget. Never throws. */
  emit(type: AnyHookType, init: object): void {
    const audience = this.#audiences[type] ?? this.#audienceOf(type)
    if (audience === undefined) return
    const sequence = this.count(type)
    if (audience.queues.length === 0 && !this.#instrumented) return
    const event = this.#stamp(type, init, sequence)
    if (event === undefined) return
    if (type !== 'beforeToolCall') this.#deliver(audience, event, undefined)
    else this.#deliver(audience, event, new MockWait(audience.queues, NO_CONSUMER))
  }

  /** The handlers of `beforeToolCall`, once each, and what those of them decide that mock. */
  decideMock(
    init: object,
    { closed, signal }: { closed?: string | undefined; signal?: AbortSignal | undefined } = {},
  ): Promise<MockDecision> | MockDecision {
    const audience = this.#audiences.beforeToolCall ?? this.#audienceOf('beforeToolCall')
    if (audience === undefined) return null
    const sequence = this.count('beforeToolCall')
    if (audience.queues.length === 0 && !this.#instrumented) return null
    const event = this.#stamp('beforeToolCall', init, sequence)
    if (event === undefined) return null
    const wait = new MockWait(audience.queues, closed)
    this.#deliver(audience, event, wait)
    const decision = wait.decision()
    return decision instanceof Promise ? this.#waited(wait, decision, signal) : decision
  }

  /** No longer than the run goes on. */
  async #waited(
    wait: MockWait,
    decision: Promise<MockDecision>,
    signal: AbortSignal | undefined,
  ): Promise<MockDecision> {
    this.#waits.add(wait)
    signal?.addEventListener('abort', wait.cut)
    if (signal?.aborted) wait.cut()
    try {
      return await decision
    } finally {
      signal?.removeEventListener('abort', wait.cut)
      this.#waits.delete(wait)
    }
  }

  #completed(): void {
    this.completed = true
    for (const wait of this.#waits) wait.finish()
  }

  /** The event, or undefined when what the runtime handed over cannot be read. */
  #stamp(type: AnyHookType, init: object, sequence: number): HookEvent | undefined {
    this.#host.reporter.counters.dispatched++
    try {
      return stampEvent(this.info, type, init, sequence, this.clock())
    } catch (error) {
      this.#refuse(type, error)
      return undefined
    }
  }

  #refuse(type: AnyHookType, error: unknown): void {
    const { operationId } = this.info
    this.#host.reporter.failure({ kind: 'failed', hookId: `dispatch ${type}`, operationId, error })
  }

  /** Whether an instrument hears the events themselves. That of an `Operation` hears its activities instead. */
  get #instrumented(): boolean {
    return !this.managed && this.#host.plugins.instruments.length > 0
  }

  #deliver(audience: Audience, event: HookEvent, wait: MockWait | undefined): void {
    if (this.#delivering) {
      this.#deferred ??= []
      this.#deferred.push(() => this.#deliverNow(audience, event, wait))
      return
    }
    const { queues } = audience
    if (queues.length === 1 && !this.#instrumented) {
      detach(event)
      if (!this.managed) detachSymbols(event, symbolsOf(event))
      if (wait !== undefined) this.#letMock(queues[0] as HookQueue, event, wait)
      queues[0]?.deliver(event, wait)
      return
    }
    this.#delivering = true
    this.#deliverNow(audience, event, wait)
    if (this.#deferred !== undefined) this.#deliverDeferred(this.#deferred)
    this.#delivering = false
  }

  #deliverDeferred(deferred: readonly (() => void)[]): void {
    for (let i = 0; i < deferred.length; i++) deferred[i]?.()
    this.#deferred = undefined
  }

  /** The last hook gets the event itself, the others copies made before any of them ran. */
  #deliverNow({ queues }: Audience, event: HookEvent, wait: MockWait | undefined): void {
    const holds = holdsObjects(event)
    const symbols = this.managed ? [] : symbolsOf(event)
    const told = this.#instrumented && this.#tellInstruments(event)
    const last = queues.length - 1
    const copies: HookEvent[] = []
    for (let i = 0; i <= last; i++) {
      const copy = i === last && !told ? event : { ...event }
      if (holds) detach(copy)
      if (symbols.length > 0) detachSymbols(copy, symbols)
      if (wait !== undefined) this.#letMock(queues[i] as HookQueue, copy, wait)
      copies.push(copy)
    }
    for (let i = 0; i <= last; i++) queues[i]?.deliver(copies[i] as HookEvent, wait)
  }

  #letMock({ hook }: HookQueue, event: HookEvent, { slot }: MockWait): void {
    const loose = event as { mock?: ReturnType<MockWait['slot']['mockOf']> }
    loose.mock = slot.mockOf(hook, this.#mocked)
  }

  readonly #mocked = (hook: RunnableHook): void => {
    this.#host.mockers.add(hook)
  }

  hasMocked(hook: RunnableHook): boolean {
    return this.#host.mockers.has(hook)
  }

  /** Whether there was an instrument, which may keep the event. */
  #tellInstruments(event: HookEvent): boolean {
    const { instruments } = this.#host.plugins
    for (const instrument of instruments) {
      try {
        const given: unknown = instrument.onEvent?.(event)
        if (given !== undefined) ifRejected(given, (error) => this.#instrumentFailed(event, error))
      } catch (error) {
        this.#instrumentFailed(event, error)
      }
    }
    return instruments.length > 0
  }

  #instrumentFailed({ hookType, operationId }: HookEvent, error: unknown): void {
    this.#host.reporter.failure({ kind: 'instrument', hookId: 'instrument', hookType, operationId, error })
  }

  /** Undefined for what is no hook type, which is reported. */
  #audienceOf(type: AnyHookType): Audience | undefined {
    const known = this.#audiences[type]
    if (known !== undefined) return known
    if (!isHookType(type)) {
      const types = [...HOOK_TYPES, ...EXTENDED_HOOK_TYPES].join(', ')
      const message = `Unknown hook type ${describeValue(type)}; the event was not delivered. Known types: ${types}.`
      this.#refuse(type, new HookspanError('INVALID_EVENT', message))
      return undefined
    }
    const list = [...this.#own.values()].filter((queue) => queue.hook.type === type)
    for (const { hook, order } of this.#host.plugins.hooks) {
      if (hook.type !== type || this.#disabled?.hook(hook)) continue
      let queue = this.#global.get(hook)
      if (queue === undefined) {
        queue = this.#queueFor(hook, order)
        this.#global.set(hook, queue)
      }
      list.push(queue)
    }
    list.sort((a, b) => priorityOf(a) - priorityOf(b) || a.order - b.order)
    const audience = { queues: list }
    this.#audiences[type] = audience
    return audience
  }

  #queueFor(hook: AgentHook, order: number): HookQueue {
    const timeoutMs = hook.type === 'beforeToolCall' ? this.#host.mockTimeoutMs : undefined
    return new HookQueue(hook, this.#host.reporter, this, order, timeoutMs)
  }

  /** Events that wait for a handler or are being handled. */
  get pending(): number {
    let pending = 0
    for (const queue of this.#busy) pending += queue.pending
    return pending
  }

  busy(queue: HookQueue): void {
    if (this.#busy.size === 0) this.#host.busy(this)
    this.#busy.add(queue)
  }

  idle(queue: HookQueue): void {
    if (this.#busy.delete(queue) && this.#busy.size === 0) this.#host.settled(this)
  }
}

function priorityOf(queue: HookQueue): number {
  return queue.hook.priority ?? DEFAULT_PRIORITY
}
