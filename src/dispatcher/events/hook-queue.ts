import {
  DEFAULT_MAX_PENDING,
  DEFAULT_TIMEOUT_MS,
  type HookContext,
  type RunnableHook,
} from '../../hooks/agent-hook.ts'
import type { AgentHook, HookEvent } from '../../hooks/index.ts'
import { isThenable, MAX_TIMER_MS } from '../../internal/async.ts'
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
  busy(queue: HookQueue): void
  idle(queue: HookQueue): void
}

interface Delivery {
  readonly event: HookEvent
  /** For `beforeToolCall`, whose caller waits for the handler. */
  readonly onSettled: (() => void) | undefined
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

  readonly timeoutMs: number
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
    this.timeoutMs = hook.timeoutMs ?? defaultTimeoutMs
    this.#maxPending = hook.maxPending ?? DEFAULT_MAX_PENDING
  }

  /** Events that wait or run. */
  get pending(): number {
    return this.#pending.length - this.#head + (this.#running ? 1 : 0)
  }

  deliver(event: HookEvent, onSettled?: () => void): void {
    if (this.#removed || (this.matches !== undefined && !this.#isMatch(event))) return onSettled?.()
    if (this.#running) return this.#enqueue({ event, onSettled })
    this.#running = true
    if (!this.#invoke(event, onSettled)) return
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
    for (const { onSettled } of waiting) onSettled?.()
  }

  #isMatch(event: HookEvent): boolean {
    try {
      return this.matches?.(event) ?? true
    } catch (error) {
      this.#failed(event, error, 0)
      return false
    }
  }

  #enqueue(delivery: Delivery): void {
    this.#pending.push(delivery)
    if (this.#pending.length - this.#head <= this.#maxPending) return
    const oldest = this.#takeNext()
    if (this.#droppedInBurst++ === 0) this.#burstStartedAt = performance.now()
    this.#reporter.counters.dropped++
    this.#reportLongBurst()
    oldest?.onSettled?.()
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
      if (!this.#invoke(next.event, next.onSettled)) return this.#reportLongBurst()
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
  #invoke(event: HookEvent, onSettled: (() => void) | undefined): boolean {
    const observed = this.#reporter.observed
    const startedAt = observed ? performance.now() : 0
    if (observed) this.#publish('started', event)
    const context = new LazyContext(this.#owner)
    let result: unknown
    try {
      result = this.hook.handler(event, context)
      if (result !== undefined && isThenable(result)) {
        this.#follow(result, event, context, startedAt, onSettled)
        return false
      }
      this.#reporter.counters.delivered++
      if (observed) this.#publish('completed', event, startedAt)
    } catch (error) {
      this.#failed(event, error, startedAt)
    }
    onSettled?.()
    return true
  }

  #follow(
    result: PromiseLike<unknown>,
    event: HookEvent,
    context: LazyContext,
    startedAt: number,
    onSettled: (() => void) | undefined,
  ): void {
    this.#owner.busy(this)
    let settled = false
    let timer: NodeJS.Timeout | undefined
    const settle = (tell: () => void) => {
      if (settled) return
      settled = true
      clearTimeout(timer)
      tell()
      onSettled?.()
      this.#finish()
    }
    // resolve() takes any thenable apart safely: a `then` or a `constructor` that throws becomes a rejection.
    new Promise((resolve) => resolve(result)).then(
      () =>
        settle(() => {
          this.#reporter.counters.delivered++
          this.#publish('completed', event, startedAt)
        }),
      (error) => settle(() => this.#failed(event, error, startedAt)),
    )
    if (this.timeoutMs > MAX_TIMER_MS) return
    timer = setTimeout(() => settle(() => this.#timedOut(event, context, startedAt)), this.timeoutMs)
    // Observing keeps no process alive. A tool call that waits for what a handler mocks has a timer of its own.
    timer.unref()
  }

  #timedOut(event: HookEvent, context: LazyContext, startedAt: number): void {
    const { id, type } = this.hook
    const { operationId } = event
    this.#publish('timed_out', event, startedAt)
    this.#reporter.failure({ kind: 'timed_out', hookId: id, hookType: type, operationId })
    context.abort(new DOMException(`Hook "${id}" exceeded ${this.timeoutMs} ms.`, 'TimeoutError'))
  }

  #failed(event: HookEvent, error: unknown, startedAt: number): void {
    const { id, type } = this.hook
    this.#publish('failed', event, startedAt, error)
    this.#reporter.failure({
      kind: 'failed',
      hookId: id,
      hookType: type,
      operationId: event.operationId,
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
      operationId: event.operationId,
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
