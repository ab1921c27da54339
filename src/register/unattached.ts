import type { HookDispatcher } from '../dispatcher/index.ts'
import { errorMessage, HookspanError } from '../internal/errors.ts'
import type { Loaded } from './module-hooks.ts'
import type { KnownPackage } from './packages.ts'
import { tell } from './tell.ts'

/**
 * Attaches, or says in one line why not.
 *
 * @returns whether it is attached.
 * @throws HookspanError `NOT_CAPABLE` where guards were to hold in it.
 */
export function attached(what: string, dispatcher: HookDispatcher, attach: () => unknown): boolean {
  try {
    attach()
    return true
  } catch (error) {
    // By the program itself, with guards of its own: that is said.
    if (/ observed by another dispatcher\./.test(errorMessage(error))) return false
    const isUnknown = error instanceof HookspanError && error.code === 'INVALID_OPTION'
    notAttached(isUnknown ? undefined : dispatcher, `${what} is not attached: ${errorMessage(error)}`)
    return false
  }
}

/**
 * The program goes on without us, but not without what guards it.
 *
 * @throws HookspanError `NOT_CAPABLE`.
 */
export function notAttached(dispatcher: HookDispatcher | undefined, why: string): void {
  const guard = dispatcher && guardOf(dispatcher)
  if (guard !== undefined) {
    throw new HookspanError(
      'NOT_CAPABLE',
      `${why} ${guard} of hookspan.config.*, and nobody would be asked. Mend what keeps it from being attached, or take the guard away.`,
    )
  }
  tell(why)
}

/** What of the configuration decides, or stands in for tools. */
export function guardOf({ plugins }: HookDispatcher): string | undefined {
  const gate = plugins.flatMap(({ gates = [] }) => gates).find(({ shadow }) => !shadow)
  if (gate !== undefined) return `Gate "${gate.id}" decides`
  const mocks = ({ standIn, hooks = [] }: HookDispatcher['plugins'][number]) =>
    standIn !== undefined || hooks.some(({ mocks }) => mocks)
  return plugins.some(mocks) ? 'Tools are mocked' : undefined
}

type Callable = (new (...args: unknown[]) => object) & ((...args: unknown[]) => unknown)

/** What runs tools past all that hookspan has is told when it is used, and not used where guards are to hold. */
export function refused(
  name: string,
  { replaced, makers = [], instead }: Extract<KnownPackage, { how: 'refuse' }>,
  exports: Loaded['exports'],
  dispatcher: HookDispatcher,
): Loaded['exports'] {
  const given = replaced.map((one) => {
    const own = exports[one]
    // Not in this version.
    if (typeof own !== 'function') return [one, own]
    const use = () => notAttached(dispatcher, `${one} of ${name} is not attached: ${instead}.`)
    const guarded = new Proxy(own as Callable, {
      construct(...args) {
        use()
        return Reflect.construct(...args)
      },
      apply(...args) {
        use()
        return Reflect.apply(...args)
      },
      get(...args) {
        const value = Reflect.get(...args)
        if (typeof value !== 'function' || !makers.includes(String(args[1]))) return value
        return (...given: unknown[]) => {
          use()
          return value.apply(own, given)
        }
      },
    })
    return [one, guarded]
  })
  return Object.fromEntries(given)
}
