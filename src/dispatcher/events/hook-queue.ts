import {
  DEFAULT_MAX_PENDING,
  DEFAULT_TIMEOUT_MS,
  type HookContext,
  type RunnableHook,
} from '../../hooks/agent-hook.ts'
import type { AgentHook, HookEvent } from '../../hooks/index.ts'
import { isThenable, MAX_TIMER_MS, unref } from '../../internal/async.ts'
import { expected } from '../../internal/expect.ts'
import { DISPATCHED } from './dispatched.ts'
import { compileMatch } from './match.ts'
import type { Reporter } from './report.ts'

/** A burst of drops is reported at its end, and when it lasts, every so many milliseconds. */
const REPORT_BURST_MS = 10_000

/** From how many delivered events on the list of waiting ones is cut, so that it stays as long as what waits. */
const COMPACT_FROM = 64

/** Told when a queue starts to have work in flight and when it has none left. */
export interface QueueOwner {
  readonly operationId: string
  readonly traceparent: string | undefined
  /** Whether the hook has called `event.mock()` before, in whatever operation. */
  hasMocked(hook: RunnableHook): boolean
  busy(queue: HookQueue): void
  idle(queue: HookQueue): void
}

/** How a hook is done with an event. */
export type Settled = 'done' | 'failed' | 'timed_out' | 'dropped' | 'removed'

/** For `beforeToolCall`, whose caller waits for the handlers. */
export interface Waiter {
  settled(queue: HookQueue, how: Settled): void
}

interface Delivery {
  readonly event: HookEvent
  readonly waiter: Waiter | undefined
}

/**
 * One hook on one operation. Delivers events one at a time and in order: inline while the handler is synchronous,
 * queued while it is not.
 */
export class HookQueue {
  readonly hook: RunnableHook
  readonly #reporter: Reporter
  readonly #owner: QueueOwner
  readonly #maxPending: number
  #pending: Delivery[] = []
  #head = 0
  #running = false
  #removed = false
  #droppedInBurst = 0
  #burstStartedAt = 0

  /** A call could not wait for it any more in this operation, and does not again, unless it mocks. */
  wasLate = false
  readonly #defaultTimeoutMs: number
  /** Position among all hooks of the dispatcher, to keep equal priorities in the order of registration. */
  readonly order: number
  /** Whether an event is for this hook; absent when all are. May throw. */
  readonly matches: ((event: HookEvent) => boolean) | undefined

  constructor(
    hook: AgentHook,
    reporter: Reporter,
    owner: QueueOwner,
    order: number,
    defaultTimeoutMs = DEFAULT_TIMEOUT_MS,
  ) {
    this.hook = hook as RunnableHook
    this.order = order
    this.matches = compileMatch(this.hook.match)
    this.#reporter = reporter
    this.#owner = owner
    this.#defaultTimeoutMs = defaultTimeoutMs
    this.#maxPending = hook.maxPending ?? DEFAULT_MAX_PENDING
  }

  get timeoutMs(): number {
    return this.hook.timeoutMs ?? (this.mocks ? DEFAULT_TIMEOUT_MS : this.#defaultTimeoutMs)
  }

  /** Whether it stands in for tools: it says so, or has done so. When it is late, the tool must not run. */
  get mocks(): boolean {
    const { mocks = this.#owner.hasMocked(this.hook) } = this.hook
    return mocks
  }

  /** Whether a call waits for it, when it is asynchronous. */
  get awaited(): boolean {
    return this.hook.mocks !== false && (!this.wasLate || this.mocks)
  }

  /** Events that wait or run. */
  get pending(): number {
    return this.#pending.length - this.#head + (this.#running ? 1 : 0)
  }

  deliver(event: HookEvent, waiter?: Waiter): void {
    if (this.#removed) return waiter?.settled(this, 'removed')
    const match = this.matches === undefined ? 'yes' : this.#match(event)
    if (match !== 'yes') return waiter?.settled(this, match === 'failed' ? 'failed' : 'done')
    if (this.#running) return this.#enqueue({ event, waiter })
    this.#running = true
    if (!this.#invoke(event, waiter)) return
    if (this.#pending.length === 0) this.#running = false
    else this.#finish()
  }

  /** Stops delivery at once; what waits is discarded. */
  remove(): void {
    this.#removed = true
    const waiting = this.#pending.slice(this.#head)
    this.#pending = []
    this.#head = 0
    if (this.#droppedInBurst > 0) this.#reportDropped()
    for (const { waiter } of waiting) waiter?.settled(this, 'removed')
  }

  #match(event: HookEvent): 'yes' | 'no' | 'failed' {
    try {
      const matched: unknown = this.matches?.(event)
      if (!isThenable(matched)) return matched ? 'yes' : 'no'
      throw expected('`match` to say at once whether the event is one of its own', matched)
    } catch (error) {
      this.#failed(event, error, 0)
      return 'failed'
    }
  }

  #enqueue(delivery: Delivery): void {
    this.#pending.push(delivery)
    if (this.#pending.length - this.#head <= this.#maxPending) return
    const oldest = this.#takeNext()
    if (this.#droppedInBurst++ === 0) this.#burstStartedAt = performance.now()
    this.#reporter.counters.dropped++
    this.#reportLongBurst()
    oldest?.waiter?.settled(this, 'dropped')
  }

  #takeNext(): Delivery | undefined {
    const next = this.#pending[this.#head]
    if (next === undefined) return undefined
    this.#pending[this.#head++] = undefined as never
    if (this.#head >= COMPACT_FROM && this.#head * 2 >= this.#pending.length) {
      this.#pending = this.#pending.slice(this.#head)
      this.#head = 0
    }
    return next
  }

  /** Delivers what waits, until a handler is asynchronous or nothing is left. */
  #finish(): void {
    for (;;) {
      const next = this.#takeNext()
      if (next === undefined) break
      if (!this.#invoke(next.event, next.waiter)) return this.#reportLongBurst()
    }
    this.#pending = []
    this.#head = 0
    this.#running = false
    if (this.#droppedInBurst > 0) this.#reportDropped()
    this.#owner.idle(this)
  }

  /** A handler that hangs, or never catches up, must not hide what it loses. */
  #reportLongBurst(): void {
    if (this.#droppedInBurst === 0) return
    if (performance.now() - this.#burstStartedAt >= REPORT_BURST_MS) this.#reportDropped()
  }

  #reportDropped(): void {
    const { id, type } = this.hook
    const { operationId } = this.#owner
    const count = this.#droppedInBurst
    this.#droppedInBurst = 0
    this.#reporter.publish({ status: 'dropped', hookId: id, hookType: type, operationId, count })
    this.#reporter.failure({ kind: 'dropped', hookId: id, hookType: type, operationId, count })
  }

  /** Runs the handler. True when it is done, false when it goes on asynchronously. */
  #invoke(event: HookEvent, waiter: Waiter | undefined): boolean {
    const observed = this.#reporter.observed
    const startedAt = observed ? performance.now() : 0
    if (observed) this.#publish('started', event)
    const context = new LazyContext(this.#owner)
    let result: unknown
    try {
      result = this.hook.handler(event, context)
      if (result !== undefined && result !== DISPATCHED && isThenable(result)) {
        this.#follow(result, event, context, startedAt, waiter)
        return false
      }
      this.#reporter.counters.delivered++
      if (observed) this.#publish('completed', event, startedAt)
    } catch (error) {
      this.#failed(event, error, startedAt)
      waiter?.settled(this, 'failed')
      return true
    }
    waiter?.settled(this, 'done')
    return true
  }

  #follow(
    result: PromiseLike<unknown>,
    event: HookEvent,
    context: LazyContext,
    startedAt: number,
    waiter: Waiter | undefined,
  ): void {
    this.#owner.busy(this)
    let settled = false
    let timer: NodeJS.Timeout | undefined
    const settle = (how: Settled, tell: () => void) => {
      if (settled) return
      settled = true
      clearTimeout(timer)
      tell()
      waiter?.settled(this, how)
      this.#finish()
    }
    // resolve() takes any thenable apart safely: a `then` or a `constructor` that throws becomes a rejection.
    new Promise((resolve) => resolve(result)).then(
      () =>
        settle('done', () => {
          this.#reporter.counters.delivered++
          this.#publish('completed', event, startedAt)
        }),
      (error) => settle('failed', () => this.#failed(event, error, startedAt)),
    )
    const { timeoutMs } = this
    if (timeoutMs > MAX_TIMER_MS) return
    timer = setTimeout(
      () => settle('timed_out', () => this.#timedOut(event, context, startedAt, timeoutMs)),
      timeoutMs,
    )
    // Observing keeps no process alive. A tool call that waits for what a handler mocks has a timer of its own.
    unref(timer)
  }

  #timedOut(event: HookEvent, context: LazyContext, startedAt: number, timeoutMs: number): void {
    const { id, type } = this.hook
    const { operationId } = this.#owner
    this.#publish('timed_out', event, startedAt)
    this.#reporter.failure({ kind: 'timed_out', hookId: id, hookType: type, operationId })
    context.abort(new DOMException(`Hook "${id}" exceeded ${timeoutMs} ms.`, 'TimeoutError'))
  }

  #failed(event: HookEvent, error: unknown, startedAt: number): void {
    const { id, type } = this.hook
    this.#publish('failed', event, startedAt, error)
    this.#reporter.failure({
      kind: 'failed',
      hookId: id,
      hookType: type,
      operationId: this.#owner.operationId,
      error,
    })
  }

  #publish(
    status: 'started' | 'completed' | 'failed' | 'timed_out',
    event: HookEvent,
    startedAt?: number,
    error?: unknown,
  ): void {
    if (!this.#reporter.observed) return
    this.#reporter.publish({
      status,
      hookId: this.hook.id,
      hookType: this.hook.type,
      operationId: this.#owner.operationId,
      sequence: event.sequence,
      ...(startedAt !== undefined && { durationMs: startedAt === 0 ? 0 : performance.now() - startedAt }),
      ...(error !== undefined && { error }),
    })
  }
}

/** Makes the signal only for handlers that ask for it: an AbortController per event would cost more than the event. */
class LazyContext implements HookContext {
  readonly #owner: QueueOwner
  #controller: AbortController | undefined
  #reason: unknown

  constructor(owner: QueueOwner) {
    this.#owner = owner
  }

  get traceparent(): string | undefined {
    return this.#owner.traceparent
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController()
      if (this.#reason !== undefined) this.#controller.abort(this.#reason)
    }
    return this.#controller.signal
  }

  abort(reason: unknown): void {
    this.#reason = reason
    this.#controller?.abort(reason)
  }
}
