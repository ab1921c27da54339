import { AsyncLocalStorage } from 'node:async_hooks'
import { carried } from '../../internal/carrier.ts'
import { assertBody } from '../../internal/expect.ts'
import type { TracedActivity } from '../plugins/traced-activity.ts'
import { type ModelCallMark, runOutsideModelCall } from './live-calls.ts'
import type { CallSite, OperationCore } from './operation-core.ts'

/** The operation, and the place in it, that the running code belongs to. */
export interface CurrentPlace {
  readonly core: OperationCore
  readonly site: CallSite
  /** Set where the code runs that makes a model call. */
  readonly modelCall?: ModelCallMark
}

/** A place that no tracer's context takes along, and the one that was taken along where it was set. */
interface StoredPlace {
  readonly place: CurrentPlace
  readonly over: unknown
}

const stored = new AsyncLocalStorage<StoredPlace>()

/** Runs code as part of an operation, so that calls made without a `step` in hand find their place in it. */
export function runAt<T>(core: OperationCore, site: CallSite, fn: () => T): T {
  assertBody(fn, 'what is to run')
  const place: CurrentPlace = { core, site }
  return site.traced.run(() => {
    const over = carried()
    return over === place ? fn() : stored.run({ place, over }, () => runOutsideModelCall(fn))
  }, place)
}

/** The same, inside one call: what the code calls becomes that call's child. */
export function runWithin<T>(
  core: OperationCore,
  stepIndex: number | undefined,
  callKey: string | undefined,
  traced: TracedActivity,
  fn: () => T,
): T {
  return runAt(core, new InnerSite(traced, stepIndex, callKey), fn)
}

class InnerSite implements CallSite {
  readonly traced: TracedActivity
  readonly stepIndex: number | undefined
  readonly callKey: string | undefined
  #callIndex = 0

  constructor(traced: TracedActivity, stepIndex: number | undefined, callKey: string | undefined) {
    this.traced = traced
    this.stepIndex = stepIndex
    this.callKey = callKey
  }

  nextCallIndex(): number {
    return this.#callIndex++
  }
}

/** Where the running code is in a run of this dispatcher that an adapter is told of, and can run nothing in. */
type FindPlace = (dispatcher: object, around: CurrentPlace | undefined) => CurrentPlace | undefined

let findPlace: FindPlace | undefined

export function setPlaceFinder(find: FindPlace): void {
  findPlace = find
}

/** Undefined where no SDK takes a run of this dispatcher along, and where the code has been run in another place since. */
export function foundPlace(dispatcher: object): CurrentPlace | undefined {
  return findPlace?.(dispatcher, innermostPlace())
}

/**
 * Undefined where no operation runs, and where the one that ran has ended.
 *
 * @param dispatcher whose runs alone count, and those, too, that their SDK takes along by itself: what is observed by one
 * dispatcher is not a call of another one's run, whose gates and hooks are not its own.
 */
export function currentPlace(dispatcher?: object): CurrentPlace | undefined {
  const place = (dispatcher && foundPlace(dispatcher)) ?? innermostPlace()
  if (place === undefined || place.core.ended) return undefined
  return dispatcher === undefined || place.core.host.dispatcher === dispatcher ? place : undefined
}

/** Where the running code is in a run of another dispatcher, and in none of this one. */
export function placeOfOther(dispatcher: object): CurrentPlace | undefined {
  return currentPlace(dispatcher) === undefined ? currentPlace() : undefined
}

/** A stored place is the inner one as long as nothing else was taken along since. */
function innermostPlace(): CurrentPlace | undefined {
  const along = carried() as CurrentPlace | undefined
  const own = stored.getStore()
  return own !== undefined && (along === undefined || own.over === along) ? own.place : along
}
