import type { ToolMock } from '../../hooks/index.ts'
import { MAX_TIMER_MS } from '../../internal/async.ts'
import type { HookQueue, Settled } from './hook-queue.ts'
import { MockSlot } from './mock-slot.ts'

/** A hook that says that it mocks did not say in time whether it does, or failed: then the tool must not run either. */
export interface MockRefusal {
  readonly kind: 'deny'
  readonly code: 'mock_timeout' | 'mock_error'
  readonly reason: string
  readonly stop: false
}

/** Null lets the tool run. */
export type MockDecision = ToolMock | { readonly refused: MockRefusal } | null

/** One call that waits for those of its `beforeToolCall` hooks that may mock it. */
export class MockWait {
  readonly slot: MockSlot
  /** Those that are waited for still. */
  readonly #open = new Map<HookQueue, NodeJS.Timeout | undefined>()
  #refused: MockRefusal | undefined
  #resolve: ((decision: MockDecision) => void) | undefined

  /** `closed`: why no mock can be taken. Then nobody is waited for. */
  constructor(queues: readonly HookQueue[], closed?: string) {
    this.slot = new MockSlot(closed)
    if (closed !== undefined) return
    for (const queue of queues) if (queue.awaited) this.#open.set(queue, undefined)
  }

  /** A queue is done with the event of this call. */
  settled(queue: HookQueue, how: Settled): void {
    if (!this.#open.has(queue)) return
    clearTimeout(this.#open.get(queue))
    this.#open.delete(queue)
    if (how === 'timed_out') this.#late(queue)
    else if (how === 'dropped' && queue.mocks) this.#refuse(queue, 'mock_timeout')
    else if (how === 'failed' && queue.hook.mocks === true) this.#refuse(queue, 'mock_error')
    if (this.#open.size === 0) this.finish()
  }

  /** Once all of them have been told. */
  decision(): Promise<MockDecision> | MockDecision {
    if (this.#isDecided) return this.#decide()
    return new Promise((resolve) => {
      this.#resolve = resolve
      this.slot.onMock(() => this.finish())
      // From the call on, and not from when its turn comes: parallel calls do not add up what a handler hangs.
      for (const queue of this.#open.keys()) {
        const { timeoutMs } = queue
        if (timeoutMs > MAX_TIMER_MS) continue
        this.#open.set(
          queue,
          setTimeout(() => this.settled(queue, 'timed_out'), timeoutMs),
        )
      }
    })
  }

  /** Waits no longer. */
  readonly finish = (): void => {
    if (this.#resolve === undefined) return
    for (const timer of this.#open.values()) clearTimeout(timer)
    this.#open.clear()
    this.#resolve(this.#decide())
    this.#resolve = undefined
  }

  get #isDecided(): boolean {
    return this.#open.size === 0 || this.slot.current !== null || this.#refused !== undefined
  }

  #decide(): MockDecision {
    this.#open.clear()
    return this.slot.close() ?? (this.#refused === undefined ? null : { refused: this.#refused })
  }

  #late(queue: HookQueue): void {
    if (queue.mocks) this.#refuse(queue, 'mock_timeout')
    else queue.wasLate = true
  }

  /** The run is aborted, and its call may go on: one that mocks has not said so yet. */
  readonly cut = (): void => {
    const asked = [...this.#open.keys()].find(({ mocks }) => mocks)
    if (asked === undefined) this.finish()
    else this.#refuse(asked, 'mock_error', 'had not said whether it mocks the call when the run was aborted')
  }

  #refuse(queue: HookQueue, code: MockRefusal['code'], told?: string): void {
    const { hook, timeoutMs } = queue
    const why =
      told ??
      (code === 'mock_error'
        ? 'failed before it said whether it mocks the call'
        : `did not say within its \`timeoutMs\` (${timeoutMs}) whether it mocks the call`)
    this.#refused ??= { kind: 'deny', code, reason: `hook "${hook.id}" ${why}`, stop: false }
    this.finish()
  }
}
