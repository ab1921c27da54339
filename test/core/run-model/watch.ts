import { AsyncLocalStorage } from 'node:async_hooks'
import type { Activity, ActivityEnd, ActivityScope, HookEvent, Instrument, OperationInfo } from 'hookspan'

/** One activity as an instrument saw it. */
export interface Seen {
  readonly index: number
  readonly activity: Activity
  readonly operationId: string
  readonly parent: Seen | undefined
  /** True when the parent had ended before. */
  readonly orphan: boolean
  ended: number
  end: ActivityEnd | undefined
}

/** Everything that is told of all the runs of one world, events and activities, in order. */
export class Watch {
  readonly events: HookEvent[] = []
  readonly activities: Seen[] = []
  readonly #inside = new AsyncLocalStorage<Seen>()
  readonly #seen = new WeakMap<ActivityScope, Seen>()

  /** The activity in whose scope the code runs. */
  get current(): Seen | undefined {
    return this.#inside.getStore()
  }

  readonly instrument: Instrument = {
    start: (activity: Activity, { operationId }: OperationInfo, above: ActivityScope | undefined) => {
      const parent = above && this.#seen.get(above)
      const index = this.activities.length
      const seen: Seen = {
        index,
        activity,
        operationId,
        parent,
        orphan: (parent?.ended ?? 0) > 0,
        ended: 0,
        end: undefined,
      }
      const scope: ActivityScope = {
        run: (fn) => this.#inside.run(seen, fn),
        end: (end) => {
          seen.ended++
          seen.end = end
        },
      }
      this.activities.push(seen)
      this.#seen.set(scope, seen)
      return scope
    },
  }
}
