import { HookspanError } from '../internal/errors.ts'

/** Whether nothing of ours can be put in the place of a method: the object is frozen, or the method is fixed in it. */
export function isLocked(object: object, key: PropertyKey): boolean {
  const own = Object.getOwnPropertyDescriptor(object, key)
  return own === undefined ? !Object.isExtensible(object) : !own.configurable && !own.writable
}

/**
 * Puts a function in the place of a method. It shows up when the object is listed, spread or logged as the method did.
 *
 * @param inCopies it shows up whatever the method did, so that who copies the object to wrap it has ours in the copy.
 * @returns takes it away again, unless somebody put another in its place.
 * @throws HookspanError `NOT_CAPABLE` where the object is locked.
 */
export function replace<T extends object, K extends keyof T>(
  object: T,
  key: K,
  value: T[K],
  inCopies = false,
): () => void {
  const before = Object.getOwnPropertyDescriptor(object, key)
  const { enumerable = inCopies, writable = false } = before ?? {}
  // Of an object that is sealed, the value is all that can be another.
  const ours = writable ? { value } : { value, configurable: true, writable: true, enumerable }
  if (!Reflect.defineProperty(object, key, ours)) {
    throw new HookspanError(
      'NOT_CAPABLE',
      `Cannot observe \`${String(key)}\` of ${nameOf(object)}: it is frozen. Hand the SDK one that is not.`,
    )
  }
  return () => {
    if (object[key] !== value) return
    if (before === undefined) delete object[key]
    else Object.defineProperty(object, key, before)
  }
}

function nameOf(object: object): string {
  const { name } = object as { name?: unknown }
  return typeof name === 'string' ? `"${name}"` : `this ${object.constructor?.name ?? 'object'}`
}

/** Does all of them; where one cannot be done, none is left. @returns undoes them. */
export function allOrNone(...doing: (() => () => void)[]): () => void {
  const done: (() => void)[] = []
  const undo = () => {
    for (const one of done.toReversed()) one()
  }
  try {
    for (const one of doing) done.push(one())
  } catch (error) {
    undo()
    throw error
  }
  return undo
}
