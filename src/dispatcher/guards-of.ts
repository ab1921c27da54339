import type { OperationInit } from './run/operation-init.ts'

/** Of each dispatcher of this copy of hookspan: whether somebody is to decide, or to stand in, in a run. */
export const guardsOf = new WeakMap<object, (init: OperationInit) => boolean>()

/** Likewise, in a run that was not started because hookspan itself failed. */
export const guardsRun = (dispatcher: object, init: OperationInit): boolean =>
  guardsOf.get(dispatcher)?.(init) ?? true
