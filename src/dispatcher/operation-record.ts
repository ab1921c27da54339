import type { AgentHook, AnyHookType, HookEvent, ToolMock } from '../hooks/index.ts'
import { HookQueue, type QueueOwner } from './hook-queue.ts'
import type { Instrument, OperationInfo } from './instrument.ts'
import { MockSlot } from './mock-slot.ts'
import type { Reporter } from './report.ts'
import { copyEvent, detach, stampEvent } from './stamp.ts'

/** What a record needs of its dispatcher. */
export interface RecordHost {
  readonly reporter: Reporter
  readonly mockTimeoutMs: number
  /** Hooks of the plugins, with their place in the order of registration. */
  readonly globalHooks: readonly { readonly hook: AgentHook; readonly order: number }[]
  /** Instruments that listen to operations driven by `dispatch` alone. */
  readonly instruments: readonly Instrument[]
  nextOrder(): number
  /** The record has no work in flight. */
  settled(record: OperationRecord): void
}

const NO_CONSUMER =
  'event.mock() has no effect under dispatch("beforeToolCall"). Let the runtime call dispatchBeforeToolCall().'

/** Everything the dispatcher holds of one operation. */
export class OperationRecord implements QueueOwner {
  info: OperationInfo
  /** True once an `Operation` speaks for it, which tells the instruments itself. */
  managed = false
  /** Set by each event, taken back by the sweeper. */
  active = true
  lastActiveAt: number
  sequence = 0
  clock: () => number = Date.now
  readonly #host: RecordHost
  readonly #own = new Map<string, HookQueue>()
  readonly #global = new Map<AgentHook, HookQueue>()
  readonly #busy = new Set<HookQueue>()
  #lists: Partial<Record<AnyHookType, readonly HookQueue[]>> = {}

  constructor(host: RecordHost, info: OperationInfo) {
    this.#host = host
    this.info = info
    this.lastActiveAt = Date.now()
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
    this.#lists = {}
  }

  removeHooks(hooks: readonly { readonly id: string }[]): void {
    for (const hook of hooks) {
      const queue = this.#own.get(hook.id)
      if (queue === undefined || (queue.hook as unknown) !== hook) continue
      queue.remove()
      this.#own.delete(hook.id)
    }
    this.#lists = {}
  }

  /** The plugins changed. Queues of hooks that stay are kept, with what waits in them. */
  refreshGlobals(): void {
    const current = new Set(this.#host.globalHooks.map(({ hook }) => hook))
    for (const [hook, queue] of this.#global) {
      if (current.has(hook)) continue
      queue.remove()
      this.#global.delete(hook)
    }
    this.#lists = {}
  }

  hasHooks(type?: AnyHookType): boolean {
    if (type !== undefined) return this.#listFor(type).length > 0
    return this.#own.size > 0 || this.#host.globalHooks.length > 0
  }

  /** Fire and forget. */
  emit(type: AnyHookType, init: object): void {
    const sequence = this.sequence++
    this.active = true
    const queues = this.#lists[type] ?? this.#listFor(type)
    if (queues.length === 0 && (this.managed || this.#host.instruments.length === 0)) return
    this.#host.reporter.counters.dispatched++
    const event = stampEvent(this.info, type, init, sequence, this.clock())
    if (type === 'beforeToolCall') withMock(event, new MockSlot(NO_CONSUMER))
    this.#deliver(queues, event, undefined)
  }

  /** The handlers of `beforeToolCall`, once each, and the mock that one of them may have set. */
  decideMock(init: object, closed?: string): Promise<ToolMock | null> | ToolMock | null {
    const sequence = this.sequence++
    this.active = true
    const queues = this.#listFor('beforeToolCall')
    if (queues.length === 0 && (this.managed || this.#host.instruments.length === 0)) return null
    this.#host.reporter.counters.dispatched++
    const event = stampEvent(this.info, 'beforeToolCall', init, sequence, this.clock())
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

  #deliver(queues: readonly HookQueue[], event: HookEvent, onSettled: (() => void) | undefined): void {
    if (!this.managed) this.#tellInstruments(event)
    const last = queues.length - 1
    if (last < 0) return
    if (last === 0) return queues[0]?.deliver(detach(event), onSettled)
    const copies = queues.map((_queue, index) => (index === last ? detach(event) : copyEvent(event)))
    for (let i = 0; i <= last; i++) queues[i]?.deliver(copies[i] as HookEvent, onSettled)
  }

  #tellInstruments(event: HookEvent): void {
    for (const instrument of this.#host.instruments) {
      try {
        instrument.onEvent?.(event)
      } catch (error) {
        this.#host.reporter.failure({
          kind: 'instrument',
          hookId: 'instrument',
          hookType: event.hookType,
          operationId: event.operationId,
          error,
        })
      }
    }
  }

  #listFor(type: AnyHookType): readonly HookQueue[] {
    const known = this.#lists[type]
    if (known !== undefined) return known
    const list = [...this.#own.values()].filter((queue) => queue.hook.type === type)
    for (const { hook, order } of this.#host.globalHooks) {
      if (hook.type !== type) continue
      let queue = this.#global.get(hook)
      if (queue === undefined) {
        queue = this.#queueFor(hook, order)
        this.#global.set(hook, queue)
      }
      list.push(queue)
    }
    list.sort((a, b) => priorityOf(a) - priorityOf(b) || a.order - b.order)
    this.#lists[type] = list
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
