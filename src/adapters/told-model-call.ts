import { guardsRun } from '../dispatcher/guards-of.ts'
import type { HookDispatcher } from '../dispatcher/index.ts'
import { currentPlace, placeOfOther } from '../dispatcher/run/current.ts'
import { currentModelCall } from '../dispatcher/run/live-calls.ts'

/**
 * Whether the running code makes a model call that somebody has told of: by hand, or another SDK's adapter. One that
 * another dispatcher was told of is told once more where guards of this one are to hold.
 */
export function isToldOf(dispatcher: HookDispatcher): boolean {
  if (currentPlace(dispatcher)?.modelCall !== undefined) return true
  if (currentModelCall() === undefined) return false
  return placeOfOther(dispatcher) === undefined || !guardsRun(dispatcher, {})
}
