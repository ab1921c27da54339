import { AsyncLocalStorage } from 'node:async_hooks'
import type { Operation } from '../operation.ts'
import type { OperationInit } from './operation-init.ts'

/** Begins an SDK's run in one that an engine keeps: its turns are that run's. */
export type BeginInDurableRun = (init: OperationInit) => Operation

const durable = new AsyncLocalStorage<BeginInDurableRun>()

/** Runs code whose model calls and tools an engine keeps: what adapters begin in it is begun by `begin`. */
export function inDurableRun<T>(begin: BeginInDurableRun, fn: () => T): T {
  return durable.run(begin, fn)
}

/** Undefined where the running code is in no durable run. */
export function beginInDurableRun(): BeginInDurableRun | undefined {
  return durable.getStore()
}
