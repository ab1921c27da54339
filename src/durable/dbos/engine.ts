import { AsyncLocalStorage } from 'node:async_hooks'
import { untilAborted } from '../../internal/async.ts'
import type { DurableEngine } from '../engine.ts'
import { type Dbos, isCancelledBy, type KeptStep } from './peer.ts'

export const ANSWERS = 'hookspan answers'

export interface DbosEngine extends DurableEngine {
  /** Somebody cancelled the workflow: DBOS keeps nothing of it any more, and begins it nowhere again. */
  readonly cancelled: boolean
}

/** Made outside of every workflow: what DBOS is asked inside of one is a step of that. */
export const outside = AsyncLocalStorage.snapshot()

export function dbosEngine(
  DBOS: Dbos,
  workflowId: string,
  waits: (requestIds: readonly string[]) => void,
): DbosEngine {
  let cancelled = false
  const watched = async <T>(work: Promise<T>): Promise<T> => {
    try {
      return await work
    } catch (error) {
      cancelled ||= await outside(() => isCancelledBy(DBOS, workflowId, error))
      throw error
    }
  }
  return {
    get cancelled() {
      return cancelled
    },
    // The end of a run that was cancelled is for this process to tell.
    journal: (name, closure) =>
      cancelled
        ? closure()
        : watched(DBOS.runStep(() => untilAborted(closure(), DBOS.stepStatus?.cancelSignal), { name })),
    async wait(requestIds, timeoutMs) {
      waits(requestIds)
      // An answer to an earlier question may be among what was sent: who waits looks, and waits again.
      await watched(DBOS.recv(ANSWERS, Math.max(1, Math.ceil(timeoutMs / 1_000))))
    },
    isCancelled: () => cancelled,
  }
}

/** A workflow that was cancelled, from what DBOS has kept of it: it comes by the same calls, and then by its end. */
export function keptEngine(steps: readonly KeptStep[]): DurableEngine {
  const kept = steps.filter(({ name, error }) => !name.startsWith('DBOS.') && error === null).values()
  const over = new Error('Nothing more was kept.')
  return {
    async journal<T>(name: string, closure: () => Promise<T>): Promise<T> {
      if (name === 'cancelled') return closure()
      const { value: step, done } = kept.next()
      if (done || step.name !== name) throw over
      return step.output as T
    },
    wait: async () => {},
    isCancelled: (error) => error === over,
  }
}
