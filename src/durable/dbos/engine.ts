import { AsyncLocalStorage } from 'node:async_hooks'
import { untilAborted } from '../../internal/async.ts'
import type { DurableEngine } from '../engine.ts'
import { type Dbos, isCancelledBy } from './peer.ts'

export const ANSWERS = 'hookspan answers'

/** Made outside of every workflow: what DBOS is asked inside of one is a step of that. */
export const outside = AsyncLocalStorage.snapshot()

export function dbosEngine(DBOS: Dbos, workflowId: string): DurableEngine & { readonly cancelled: boolean } {
  /** Somebody cancelled the workflow: DBOS keeps nothing of it any more, and begins it nowhere again. */
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
    // An answer to an earlier question may be among what was sent: who waits looks, and waits again.
    wait: async (_requestIds, timeoutMs) =>
      void (await watched(DBOS.recv(ANSWERS, Math.max(1, Math.ceil(timeoutMs / 1_000))))),
    isCancelled: () => cancelled,
  }
}
