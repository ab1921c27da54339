import { HookspanError } from '../internal/errors.ts'

/** What went wrong in a test, until the test is told of it. */
export class Failures {
  readonly #failures: HookspanError[] = []
  readonly #told = new Set<HookspanError>()

  get all(): readonly HookspanError[] {
    return this.#failures
  }

  /** Remembers the failure, and gives it back to be thrown. */
  add(failure: HookspanError): HookspanError {
    this.#failures.push(failure)
    return failure
  }

  /** @throws HookspanError when there is any failure, here or in `more`. */
  throwAll(subject: string, more: readonly HookspanError[] = []): void {
    const failures = [...this.#failures, ...more]
    for (const failure of this.#failures) this.#told.add(failure)
    throwTogether(subject, failures)
  }

  /** The same for what no test was told yet. */
  throwUntold(subject: string, more: readonly HookspanError[] = []): void {
    const untold = this.#failures.filter((failure) => !this.#told.has(failure))
    for (const failure of untold) this.#told.add(failure)
    throwTogether(subject, [...untold, ...more])
  }
}

/** An agent that goes round in circles makes thousands; the first ones tell why. */
const MAX_SHOWN = 50

function throwTogether(subject: string, failures: readonly HookspanError[]): void {
  const [first, ...rest] = failures
  if (first === undefined) return
  if (rest.length === 0) throw first
  const shown = failures.slice(0, MAX_SHOWN)
  const list = shown.map(({ message }, index) => `${index + 1}) ${message.replaceAll('\n', '\n   ')}`)
  if (failures.length > shown.length) list.push(`… and ${failures.length - shown.length} more`)
  const together = new HookspanError(
    'MOCKS_FAILED',
    `${failures.length} failures of the ${subject}:\n\n${list.join('\n\n')}`,
  )
  if (failures.every(isUnused)) unusedAlone.add(together)
  throw together
}

const unusedAlone = new WeakSet<object>()

/** Whether it says no more than what was not used, which is mostly so because of another failure. */
export function isUnused(error: unknown): boolean {
  return error instanceof HookspanError && (error.code === 'MOCK_UNUSED' || unusedAlone.has(error))
}
