import { AsyncLocalStorage } from 'node:async_hooks'
import type { CallSite, OperationCore } from './operation-core.ts'
import type { Scopes } from './scopes.ts'

/** The operation, and the place in it, that the running code belongs to. */
export interface CurrentPlace {
  readonly core: OperationCore
  readonly site: CallSite
}

const places = new AsyncLocalStorage<CurrentPlace>()

/** Runs code as part of an operation, so that calls made without a `step` in hand find their place in it. */
export function runAt<T>(core: OperationCore, site: CallSite, fn: () => T): T {
  return site.scopes.run(() => places.run({ core, site }, fn))
}

/** The same, inside one call of the site: what the code calls becomes that call's child. */
export function runWithin<T>(core: OperationCore, site: CallSite, scopes: Scopes, fn: () => T): T {
  return runAt(core, new InnerSite(scopes, site.stepIndex), fn)
}

class InnerSite implements CallSite {
  readonly scopes: Scopes
  readonly stepIndex: number | undefined
  #callIndex = 0

  constructor(scopes: Scopes, stepIndex: number | undefined) {
    this.scopes = scopes
    this.stepIndex = stepIndex
  }

  nextCallIndex(): number {
    return this.#callIndex++
  }
}

/** Undefined where no operation runs, and where the one that ran has ended. */
export function currentPlace(): CurrentPlace | undefined {
  const place = places.getStore()
  return place === undefined || place.core.ended ? undefined : place
}
