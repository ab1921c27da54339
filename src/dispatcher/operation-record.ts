import {
  type AgentHook,
  type AnyHookType,
  EXTENDED_HOOK_TYPES,
  HOOK_TYPES,
  type HookEvent,
  isHookType,
  type ToolMock,
} from '../hooks/index.ts'
import { describeValue, HookspanError } from '../internal/errors.ts'
import { HookQueue, type QueueOwner } from './hook-queue.ts'
import type { OperationInfo } from './instrument.ts'
import { MockSlot } from './mock-slot.ts'
import type { PluginSet } from './plugin-set.ts'
import type { Reporter } from './report.ts'
import { copyEvent, detach, stampEvent } from './stamp.ts'

/** What a record needs of its dispatcher. */
export interface RecordHost {
  readonly reporter: Reporter
  readonly mockTimeoutMs: number
  readonly plugins: PluginSet
  nextOrder(): number
  /** A handler of the record goes on asynchronously. */
  busy(record: OperationRecord): void
  /** The record has no work in flight any more. */
  settled(record: OperationRecord): void
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
  clock: () => number = Date.now
  readonly #host: RecordHost
  readonly #own = new Map<string, HookQueue>()
  readonly #global = new Map<AgentHook, HookQueue>()
  readonly #busy = new Set<HookQueue>()
  readonly #lists = new Map<AnyHookType, readonly HookQueue[]>()
  /** Events dispatched by a handler while an event is on its way to several hooks: told after that one, in order. */
  #deferred: (() => void)[] | undefined

  constructor(host: RecordHost, info: OperationInfo) {
    this.#host = host
    this.info = info
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
    this.#lists.clear()
  }

  removeHooks(hooks: readonly { readonly id: string }[]): void {
    for (const hook of hooks) {
      const queue = this.#own.get(hook.id)
      if (queue === undefined || (queue.hook as unknown) !== hook) continue
      queue.remove()
      this.#own.delete(hook.id)
    }
    this.#lists.clear()
  }

  /** Takes the operation's own hooks out; what was dispatched to them before is still delivered. */
  forgetHooks(): void {
    this.#own.clear()
    this.#lists.clear()
  }

  /** The plugins changed. Queues of hooks that stay are kept, with what waits in them. */
  refreshGlobals(): void {
    const current = new Set(this.#host.plugins.hooks.map(({ hook }) => hook))
    for (const [hook, queue] of this.#global) {
      if (current.has(hook)) continue
      queue.remove()
      this.#global.delete(hook)
    }
    this.#lists.clear()
  }

  hasHooks(type?: AnyHookType): boolean {
    if (type !== undefined) return isHookType(type) && (this.#listFor(type)?.length ?? 0) > 0
    return this.#own.size > 0 || this.#host.plugins.hooks.length > 0
  }

  /** Fire and forget. Never throws. */
  emit(type: AnyHookType, init: object): void {
    const queues = this.#lists.get(type) ?? this.#listFor(type)
    if (queues === undefined) return
    const sequence = this.sequence++
    this.active = true
    if (type === 'onComplete') this.completed = true
    if (queues.length === 0 && (this.managed || this.#host.plugins.instruments.length === 0)) return
    const event = this.#stamp(type, init, sequence)
    if (event === undefined) return
    if (type === 'beforeToolCall') withMock(event, new MockSlot(NO_CONSUMER))
    this.#deliver(queues, event, undefined)
  }

  /** The handlers of `beforeToolCall`, once each, and the mock that one of them may have set. */
  decideMock(init: object, closed?: string): Promise<ToolMock | null> | ToolMock | null {
    const queues = this.#listFor('beforeToolCall') ?? []
    const sequence = this.sequence++
    this.active = true
    if (queues.length === 0 && (this.managed || this.#host.plugins.instruments.length === 0)) return null
    const event = this.#stamp('beforeToolCall', init, sequence)
    if (event === undefined) return null
    const slot = new MockSlot(closed)
    withMock(event, slot)
    let waiting = queues.length
    let wake: (() => void) | undefined
    this.#deliver(queues, event, () => {
      if (--waiting === 0) wake?.()
    })
    if (waiting === 0 || slot.current !== null || closed !== undefined) return slot.close()
    return new Promise<ToolMock | null>((resolve) => {
      wake = () => resolve(slot.close())
      slot.onMock(wake)
    })
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

  #deliver(queues: readonly HookQueue[], event: HookEvent, onSettled: (() => void) | undefined): void {
    if (this.#deferred !== undefined) {
      this.#deferred.push(() => this.#deliverNow(queues, event, onSettled))
      return
    }
    if (queues.length === 1 && (this.managed || this.#host.plugins.instruments.length === 0)) {
      queues[0]?.deliver(detach(event), onSettled)
      return
    }
    const deferred: (() => void)[] = []
    this.#deferred = deferred
    this.#deliverNow(queues, event, onSettled)
    for (let i = 0; i < deferred.length; i++) deferred[i]?.()
    this.#deferred = undefined
  }

  /** The last hook gets the event itself, the others copies made before any of them ran. */
  #deliverNow(queues: readonly HookQueue[], event: HookEvent, onSettled: (() => void) | undefined): void {
    const told = !this.managed && this.#tellInstruments(event)
    const last = queues.length - 1
    const copies = queues.map((_queue, i) => (i === last && !told ? detach(event) : copyEvent(event)))
    for (let i = 0; i <= last; i++) queues[i]?.deliver(copies[i] as HookEvent, onSettled)
  }

  /** Whether there was an instrument, which may keep the event. */
  #tellInstruments(event: HookEvent): boolean {
    const { reporter, plugins } = this.#host
    const { instruments } = plugins
    for (const instrument of instruments) {
      try {
        instrument.onEvent?.(event)
      } catch (error) {
        const { hookType, operationId } = event
        reporter.failure({ kind: 'instrument', hookId: 'instrument', hookType, operationId, error })
      }
    }
    return instruments.length > 0
  }

  /** Undefined for what is no hook type, which is reported. */
  #listFor(type: AnyHookType): readonly HookQueue[] | undefined {
    const known = this.#lists.get(type)
    if (known !== undefined) return known
    if (!isHookType(type)) {
      const types = [...HOOK_TYPES, ...EXTENDED_HOOK_TYPES].join(', ')
      const message = `Unknown hook type ${describeValue(type)}; the event was not delivered. Known types: ${types}.`
      this.#refuse(type, new HookspanError('INVALID_EVENT', message))
      return undefined
    }
    const list = [...this.#own.values()].filter((queue) => queue.hook.type === type)
    for (const { hook, order } of this.#host.plugins.hooks) {
      if (hook.type !== type) continue
      let queue = this.#global.get(hook)
      if (queue === undefined) {
        queue = this.#queueFor(hook, order)
        this.#global.set(hook, queue)
      }
      list.push(queue)
    }
    list.sort((a, b) => priorityOf(a) - priorityOf(b) || a.order - b.order)
    this.#lists.set(type, list)
    return list
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
  return queue.hook.priority ?? 100
}

function withMock(event: HookEvent, slot: MockSlot): void {
  const loose = event as { mock?: MockSlot['mock'] }
  loose.mock = slot.mock
}
