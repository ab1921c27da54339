import type { ParkedOperation } from '../../dispatcher/index.ts'
import { isRecord } from '../../internal/objects.ts'
import type { AskedHuman } from './place.ts'
import type { RunState } from './sdk.ts'

/** What continues a run of ours, beside the SDK's own state. Plain JSON. */
export interface ParkedRun {
  readonly operation: ParkedOperation
  /** Whom the SDK itself waits for. */
  readonly asked: readonly AskedHuman[]
}

const KEY = 'hookspan'

/**
 * Puts it into the SDK's state, so that it is in `state.toString()` and comes back from `RunState.fromString()`: beside
 * what the last reply's provider said of it, which the SDK keeps and sends to nobody.
 */
export function putParked(state: RunState, parked: ParkedRun): void {
  const last = state._modelResponses.at(-1)
  if (last !== undefined) last.providerData = { ...last.providerData, [KEY]: parked }
}

/** Takes it out again, so that the run goes on once. */
export function takeParked(state: RunState): ParkedRun | undefined {
  for (const response of state._modelResponses) {
    const { [KEY]: parked, ...rest } = response.providerData ?? {}
    if (!isRecord(parked) || !isRecord(parked.operation)) continue
    response.providerData = rest
    return {
      operation: parked.operation as unknown as ParkedOperation,
      asked: (parked.asked ?? []) as AskedHuman[],
    }
  }
  return undefined
}
