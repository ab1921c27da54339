import fc from 'fast-check'
import { type AnyHookType, HookDispatcher } from 'hookspan'
import { expect, vi } from 'vitest'
import { hook, turn } from './support.ts'

export const TYPES = ['beforeStep', 'afterToolCall', 'onError'] as const
export const OPERATIONS = ['op-a', 'op-b', 'op-c'] as const
export const TIMEOUT_MS = 1_000

/** How often one hook dispatches an event itself, which may be of its own type. */
const MAX_ECHOES = 3

export type Kind = 'returns' | 'throws' | 'waits' | 'removes itself' | 'dispatches'

export interface Spec {
  readonly kind: Kind
  readonly type: AnyHookType
  readonly maxPending: number
  readonly priority: number
}

/** What a hook must have seen, by the simplest possible account of the promises. */
interface HookModel extends Spec {
  readonly id: string
  readonly order: number
  seen: number[]
  echoes: number
  running: boolean
  waiting: number[]
  dropped: number
  removed: boolean
}

interface OperationModel {
  readonly hooks: HookModel[]
  sequence: number
  /** Events that handlers dispatch while another is on its way. */
  readonly onTheirWay: { type: AnyHookType; sequence: number }[]
  busy: boolean
}

export class Model {
  readonly operations = new Map<string, OperationModel>()
  /** All hooks that ever were, those of operations that ended included. */
  readonly hooks = new Map<string, HookModel>()
  /** Which hook saw which event, over all hooks, since the last dispatch began. */
  log: string[] = []
  counts = { dispatched: 0, delivered: 0, failed: 0, timedOut: 0, dropped: 0 }

  register(operationId: string, spec: Spec, id: string): void {
    let operation = this.operations.get(operationId)
    if (operation === undefined) {
      operation = { hooks: [], sequence: 0, onTheirWay: [], busy: false }
      this.operations.set(operationId, operation)
    }
    const added = {
      ...spec,
      id,
      order: this.hooks.size,
      seen: [],
      echoes: 0,
      running: false,
      waiting: [],
      dropped: 0,
      removed: false,
    }
    this.hooks.set(id, added)
    operation.hooks.push(added)
    operation.hooks.sort((a, b) => a.priority - b.priority || a.order - b.order)
  }

  remove(id: string): void {
    for (const [operationId, operation] of this.operations) {
      const index = operation.hooks.findIndex((candidate) => candidate.id === id)
      if (index < 0) continue
      operation.hooks.splice(index, 1)
      if (operation.hooks.length === 0) this.operations.delete(operationId)
    }
    const found = this.hooks.get(id)
    if (found === undefined) return
    found.removed = true
    found.waiting = []
  }

  dispatch(operationId: string, type: AnyHookType): void {
    const operation = this.operations.get(operationId)
    if (operation === undefined) return
    const event = { type, sequence: operation.sequence++ }
    const audience = operation.hooks.filter((candidate) => candidate.type === type)
    if (audience.length === 0) return
    this.counts.dispatched++
    operation.onTheirWay.push(event)
    if (operation.busy) return
    operation.busy = true
    for (const next of operation.onTheirWay) {
      for (const candidate of [...operation.hooks]) {
        if (candidate.type === next.type) this.#deliver(operationId, candidate, next.sequence)
      }
    }
    operation.onTheirWay.length = 0
    operation.busy = false
  }

  #deliver(operationId: string, to: HookModel, sequence: number): void {
    if (to.removed) return
    if (to.running) {
      to.waiting.push(sequence)
      if (to.waiting.length <= to.maxPending) return
      to.waiting.shift()
      to.dropped++
      this.counts.dropped++
      return
    }
    to.seen.push(sequence)
    this.log.push(`${to.id} ${sequence}`)
    switch (to.kind) {
      case 'waits':
        to.running = true
        return
      case 'throws':
        this.counts.failed++
        return
      case 'removes itself':
        this.counts.delivered++
        return this.remove(to.id)
      case 'dispatches':
        this.counts.delivered++
        return to.echoes++ < MAX_ECHOES ? this.dispatch(operationId, TYPES[0]) : undefined
      case 'returns':
        this.counts.delivered++
    }
  }

  /** The handler that runs is over; the next event is delivered. */
  settle(id: string, how: 'delivered' | 'failed' | 'timedOut'): void {
    const found = this.hooks.get(id)
    if (found?.running !== true) return
    this.counts[how]++
    const next = found.waiting.shift()
    if (next === undefined) found.running = false
    else found.seen.push(next)
  }

  get pending(): number {
    return [...this.hooks.values()].reduce(
      (sum, { running, waiting }) => sum + waiting.length + (running ? 1 : 0),
      0,
    )
  }
}

/** The real thing, with the handles that a test needs on handlers that wait. */
export class Real {
  log: string[] = []
  readonly failures: { kind: string; count?: number }[] = []
  readonly dispatcher = new HookDispatcher({ onHookError: (failure) => void this.failures.push(failure) })
  readonly seen = new Map<string, number[]>()
  readonly undo = new Map<string, () => void>()
  readonly running = new Map<string, PromiseWithResolvers<void>>()

  register(operationId: string, spec: Spec, id: string): void {
    const seen: number[] = []
    this.seen.set(id, seen)
    const { type, maxPending, priority, kind } = spec
    let echoes = 0
    const handler = ({ sequence }: { sequence: number }) => {
      seen.push(sequence)
      this.log.push(`${id} ${sequence}`)
      switch (kind) {
        case 'waits': {
          const settled = Promise.withResolvers<void>()
          this.running.set(id, settled)
          return settled.promise
        }
        case 'throws':
          throw new Error('observer failed')
        case 'removes itself':
          return this.undo.get(id)?.()
        case 'dispatches':
          return echoes++ < MAX_ECHOES ? this.dispatcher.dispatch(operationId, TYPES[0], {}) : undefined
        case 'returns':
          return undefined
      }
    }
    const options = { id, maxPending, priority, timeoutMs: TIMEOUT_MS }
    this.undo.set(id, this.dispatcher.register(operationId, [hook(type, handler, options)]))
  }
}

type Step = fc.AsyncCommand<Model, Real>

function step(text: string, run: (model: Model, real: Real) => void | Promise<void>): Step {
  return {
    check: () => true,
    toString: () => text,
    run: async (model, real) => {
      await run(model, real)
      for (let i = 0; i < 20; i++) await Promise.resolve()
      compare(model, real)
    },
  }
}

/** After each step: order, bounds and counts are those of the model. */
function compare(model: Model, real: Real): void {
  for (const { id, seen } of model.hooks.values()) expect(real.seen.get(id)).toEqual(seen)
  expect(real.dispatcher.stats()).toMatchObject({
    ...model.counts,
    operations: model.operations.size,
    hooks: [...model.operations.values()].reduce((sum, { hooks }) => sum + hooks.length, 0),
    pending: model.pending,
  })
}

let nextId = 0

const nth = (model: Model, index: number) => [...model.hooks.keys()][index % Math.max(1, model.hooks.size)]

export const commands = [
  fc
    .record({
      operationId: fc.constantFrom(...OPERATIONS),
      kind: fc.constantFrom<Kind[]>('returns', 'throws', 'waits', 'waits', 'removes itself', 'dispatches'),
      type: fc.constantFrom<AnyHookType[]>(...TYPES),
      maxPending: fc.constantFrom(1, 2, 5),
      priority: fc.constantFrom(1, 100, 200),
    })
    .map(({ operationId, ...spec }) =>
      step(`register ${spec.kind} for ${spec.type} of ${operationId}`, (model, real) => {
        const id = `hook-${nextId++}`
        model.register(operationId, spec, id)
        real.register(operationId, spec, id)
      }),
    ),
  fc
    .tuple(
      fc.constantFrom(...OPERATIONS),
      fc.constantFrom<AnyHookType[]>(...TYPES),
      fc.integer({ min: 1, max: 9 }),
    )
    .map(([operationId, type, times]) =>
      step(`dispatch ${type} to ${operationId}, ${times} times`, (model, real) => {
        model.log = []
        real.log = []
        for (let i = 0; i < times; i++) {
          model.dispatch(operationId, type)
          real.dispatcher.dispatch(operationId, type, { stepIndex: i })
        }
        expect(real.log).toEqual(model.log)
      }),
    ),
  fc.tuple(fc.nat(30), fc.boolean()).map(([index, fails]) =>
    step(`the handler of hook ${index} ${fails ? 'rejects' : 'resolves'}`, (model, real) => {
      const id = nth(model, index)
      if (id === undefined || model.hooks.get(id)?.running !== true) return
      model.settle(id, fails ? 'failed' : 'delivered')
      const settled = real.running.get(id)
      if (fails) settled?.reject(new Error('observer failed'))
      else settled?.resolve()
    }),
  ),
  fc.constant(
    step('every handler that runs exceeds its time', async (model) => {
      for (const { id, running } of [...model.hooks.values()]) if (running) model.settle(id, 'timedOut')
      await vi.advanceTimersByTimeAsync(TIMEOUT_MS)
    }),
  ),
  fc.nat(30).map((index) =>
    step(`take out hook ${index}`, (model, real) => {
      const id = nth(model, index)
      if (id === undefined) return
      model.remove(id)
      real.undo.get(id)?.()
    }),
  ),
  fc.constantFrom(...OPERATIONS).map((operationId) =>
    step(`unregister ${operationId}`, (model, real) => {
      // What was dispatched before is still delivered: the hooks stay in model.hooks with what waits.
      model.operations.delete(operationId)
      real.dispatcher.unregister(operationId)
    }),
  ),
]

/** Lets everything end, and checks that nothing is left. */
export async function finish(model: Model, real: Real): Promise<void> {
  for (const operationId of OPERATIONS) {
    model.operations.delete(operationId)
    real.dispatcher.unregister(operationId)
  }
  while (model.pending > 0) {
    for (const { id, running } of [...model.hooks.values()]) if (running) model.settle(id, 'timedOut')
    await vi.advanceTimersByTimeAsync(TIMEOUT_MS)
  }
  await turn()
  compare(model, real)
  const dropped = real.failures.filter(({ kind }) => kind === 'dropped')
  expect(dropped.reduce((sum, { count = 0 }) => sum + count, 0)).toBe(model.counts.dropped)
  expect(vi.getTimerCount()).toBe(0)
}
