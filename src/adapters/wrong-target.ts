import { isThenable } from '../internal/async.ts'
import { describeValue, HookspanError } from '../internal/errors.ts'

/**
 * What is said to whoever hands in something else than is observed: what it is, and what to do with it.
 *
 * @param mend where more is known of it than that it is a class, a list or a promise.
 */
export function wrongTarget(observer: string, wanted: string, given: unknown, mend?: string): HookspanError {
  const [what, otherwise] = kindOf(given, observer)
  const told = mend ?? otherwise
  const message = `Expected the first argument of ${observer} to be ${wanted}, got ${what}.${told ? ` ${told}` : ''}`
  return new HookspanError('INVALID_OPTION', message)
}

/** What it is, and the mend. Nothing that it holds is shown: clients have keys. */
function kindOf(given: unknown, observer: string): [what: string, mend?: string] {
  if (typeof given === 'function') return ofFunction(given)
  if (typeof given !== 'object' || given === null) return [describeValue(given)]
  // Mastra's workflows have a `then` of their own.
  if (isThenable(given) && 'catch' in given) return ['a promise', 'Await it first.']
  if (Array.isArray(given)) return ['a list', `Call ${observer} for each of the list.`]
  if (Object.prototype.toString.call(given) === '[object Module]') return ['a module']
  const name: unknown = Object.getPrototypeOf(given)?.constructor?.name
  const isPlain = typeof name !== 'string' || name === '' || name === 'Object'
  if (!isPlain) return [`an object of the class ${name}`]
  const keys = Object.keys(given).slice(0, 5)
  return [
    keys.length === 0 ? 'an empty object' : `an object with ${keys.map((key) => `\`${key}\``).join(', ')}`,
  ]
}

function ofFunction(given: { readonly name: string }): [what: string, mend?: string] {
  if (!isClass(given)) return [describeValue(given)]
  return [`the class ${given.name}`, `Hand over an object of it: new ${given.name}().`]
}

export function isClass(given: unknown): boolean {
  return typeof given === 'function' && /^class\b/.test(Function.prototype.toString.call(given))
}

/**
 * What is observed stays as it was asked for the first time: other options would count for nothing.
 *
 * @throws HookspanError `INVALID_OPTION`.
 */
export function assertSame<O extends { readonly dispatcher: unknown }>(
  before: O,
  asked: O,
  what: string,
  mend: string,
): void {
  if (before.dispatcher !== asked.dispatcher) {
    throw new HookspanError('INVALID_OPTION', `${what} observed by another dispatcher. ${mend}`)
  }
  const other = (Object.keys(asked) as (keyof O)[]).find((key) => before[key] !== asked[key])
  if (other === undefined) return
  throw new HookspanError('INVALID_OPTION', `${what} observed with another \`${String(other)}\`. ${mend}`)
}
