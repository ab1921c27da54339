import { ifRejected } from '../../internal/async.ts'
import { expected } from '../../internal/expect.ts'
import type {
  Activity,
  ActivityEnd,
  ActivityScope,
  Annotation,
  Instrument,
  OperationInfo,
} from './instrument.ts'

type Report = (error: unknown) => void

/**
 * One activity as all instruments see it. Isolates them: an instrument that throws changes neither the activity
 * nor what the other instruments see, and the code in `run` runs exactly once.
 */
export class TracedActivity {
  static readonly none: TracedActivity = new TracedActivity([], [], () => {})

  readonly #instruments: readonly Instrument[]
  readonly #scopes: readonly (ActivityScope | undefined)[]
  readonly #report: Report
  #ended = false

  private constructor(
    instruments: readonly Instrument[],
    scopes: readonly (ActivityScope | undefined)[],
    report: Report,
  ) {
    this.#instruments = instruments
    this.#scopes = scopes
    this.#report = report
  }

  static open(
    instruments: readonly Instrument[],
    activity: Activity,
    info: OperationInfo,
    parent: TracedActivity | undefined,
    timestamp: number | undefined,
    report: Report,
  ): TracedActivity {
    if (instruments.length === 0) return TracedActivity.none
    const scopes: (ActivityScope | undefined)[] = []
    for (const instrument of instruments) {
      try {
        const scope = instrument.start(activity, info, parent?.of(instrument), timestamp)
        const isScope = typeof (scope as Partial<ActivityScope> | undefined)?.run === 'function'
        if (scope !== undefined && !isScope) {
          throw expected('the `start` of an instrument to give a scope, or nothing', scope)
        }
        scopes.push(scope)
      } catch (error) {
        scopes.push(undefined)
        report(error)
      }
    }
    return new TracedActivity(instruments, scopes, report)
  }

  /** A child activity, seen by the same instruments. */
  open(activity: Activity, info: OperationInfo, timestamp?: number): TracedActivity {
    return TracedActivity.open(this.#instruments, activity, info, this, timestamp, this.#report)
  }

  of(instrument: Instrument): ActivityScope | undefined {
    return this.#scopes[this.#instruments.indexOf(instrument)]
  }

  run<T>(fn: () => T, place?: unknown): T {
    return this.#runFrom(0, fn, place)
  }

  #runFrom<T>(index: number, fn: () => T, place: unknown): T {
    if (index >= this.#scopes.length) return fn()
    const scope = this.#scopes[index]
    const isLast = index === this.#scopes.length - 1
    const inner = isLast ? fn : () => this.#runFrom(index + 1, fn, place)
    return scope === undefined ? inner() : runOnce(scope, inner, place, this.#report)
  }

  annotate(annotation: Annotation): void {
    for (const scope of this.#scopes) {
      try {
        ifRejected(scope?.annotate?.(annotation), this.#report)
      } catch (error) {
        this.#report(error)
      }
    }
  }

  /** Ends the activity; only the first call counts. */
  end(result: ActivityEnd, timestamp?: number): void {
    if (this.#ended) return
    this.#ended = true
    for (const scope of this.#scopes) {
      try {
        ifRejected(scope?.end(result, timestamp), this.#report)
      } catch (error) {
        this.#report(error)
      }
    }
  }

  get traceparent(): string | undefined {
    return this.#first((scope) => scope.traceparent)
  }

  get parentTraceparent(): string | undefined {
    return this.#first((scope) => scope.parentTraceparent)
  }

  #first(of: (scope: ActivityScope) => string | undefined): string | undefined {
    for (const scope of this.#scopes) {
      try {
        const value = scope && of(scope)
        if (value !== undefined) return value
      } catch (error) {
        this.#report(error)
      }
    }
    return undefined
  }
}

/** Runs code in a scope that may throw, call it twice or not at all: it runs once, and only what it throws is thrown. */
function runOnce<T>(scope: ActivityScope, fn: () => T, place: unknown, report: Report): T {
  let state: 'waiting' | 'returned' | 'threw' = 'waiting'
  let result: unknown
  try {
    const given: unknown = scope.run(() => {
      if (state !== 'waiting') return
      try {
        result = fn()
        state = 'returned'
      } catch (error) {
        result = error
        state = 'threw'
      }
    }, place)
    ifRejected(given, report)
  } catch (error) {
    report(error)
  }
  const ran = state as 'waiting' | 'returned' | 'threw'
  if (ran === 'threw') throw result
  return ran === 'waiting' ? fn() : (result as T)
}
