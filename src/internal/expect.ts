import { ignoreRejection } from './async.ts'
import { describeValue, errorSentence, HookspanError, type HookspanErrorCode } from './errors.ts'
import { nearestName } from './nearest-name.ts'
import { isPlain } from './objects.ts'

/** What a value has to be: the words for it in a message, and whether one is that. */
export interface Shape {
  readonly words: string
  readonly required?: boolean
  /** Never shown: where it goes, a secret may have been put by mistake. */
  readonly secret?: boolean
  fits(value: unknown): boolean
}

/** A shape for each field that an object may have: one without a shape here does not compile. */
export type Fields<T> = { readonly [K in keyof Required<T>]: Shape }

export const shape = (words: string, fits: Shape['fits']): Shape => ({ words, fits })
const isObject = (value: unknown) =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !isHolder(value)
const isList = (value: unknown, fits: Shape['fits']) => Array.isArray(value) && value.every(fits)
const isObjects = (value: unknown) => isList(value, isObject)
const isNumberFrom = (min: number) => (value: unknown) => typeof value === 'number' && value >= min

export const a = {
  /** Looked at elsewhere. */
  value: shape('a value', () => true),
  name: shape('a non-empty string', (value) => typeof value === 'string' && value !== ''),
  string: shape('a string', (value) => typeof value === 'string'),
  boolean: shape('a boolean', (value) => typeof value === 'boolean'),
  function: shape('a function', (value) => typeof value === 'function'),
  list: shape('a list', Array.isArray),
  strings: shape('a list of strings', (value) => isList(value, (one) => typeof one === 'string')),
  object: shape('an object', isObject),
  objects: shape('a list of objects', isObjects),
  signal: shape('an AbortSignal', (value) => value instanceof AbortSignal),
  finite: shape('a finite number', Number.isFinite),
  port: shape(
    'a port, from 0 to 65535',
    (v) => Number.isInteger(v) && isNumberFrom(0)(v) && (v as number) < 65_536,
  ),
  milliseconds: shape('a number of milliseconds >= 1', isNumberFrom(1)),
  number: (min: number) => shape(`a number >= ${min}`, isNumberFrom(min)),
  integer: (min: number) => shape(`an integer >= ${min}`, (v) => Number.isInteger(v) && isNumberFrom(min)(v)),
  /** What others made, by what is called of it: one that lacks it fails in the middle of a run. */
  with: (...methods: readonly string[]) =>
    shape(`an object with ${methods.map((name) => `${name}()`).join(', ')}`, (value) =>
      methods.every((name) => typeof (value as Record<string, unknown> | null)?.[name] === 'function'),
    ),
  oneOf: (...names: readonly string[]) =>
    shape(
      names
        .map((name) => `"${name}"`)
        .join(', ')
        .replace(/, ([^,]*)$/, ' or $1'),
      (value) => names.includes(value as string),
    ),
  someOf: (...names: readonly string[]) =>
    shape(
      `a list of ${names.join(', ')}`,
      (value) => isList(value, (one) => names.includes(one as string)) && (value as unknown[]).length > 0,
    ),
} as const

/** What a text is compared with, or looked through for. */
export const TEXT_OR_REGEXP: Shape = shape(
  'a string or a RegExp',
  (value) => typeof value === 'string' || value instanceof RegExp,
)

export function required(given: Shape): Shape {
  return { ...given, required: true }
}

export function secret(given: Shape): Shape {
  return { ...given, secret: true }
}

/** What stands in a message for a value that may be, or hold, a secret. */
export function unshown(value: unknown): unknown {
  if (value === undefined || value === null) return value
  return `[${Array.isArray(value) ? 'list' : typeof value}, not shown]`
}

/** What of its own has no fields: read as options, a promise of rules or a `Map` of them would be none at all. */
const HOLDERS =
  /^\[object (Promise|(Weak)?(Map|Set)|Date|RegExp|Headers|URLSearchParams|FormData|String|Number|Boolean|\w*Array|ArrayBuffer)\]$/

function isHolder(value: object): boolean {
  if (Object.getPrototypeOf(value) === Object.prototype) return false
  return HOLDERS.test(Object.prototype.toString.call(value))
}

/** Of `flush({ timeoutMs })` and the like. */
export const TIMEOUT: Fields<{ timeoutMs?: number }> = { timeoutMs: a.number(0) }

/** The one form in which a wrong value is told: `Expected <what>, got <value>.` A promise that is refused by it may fail: nobody waits for it. */
export function expected(
  what: string,
  value: unknown,
  code: HookspanErrorCode = 'INVALID_OPTION',
): HookspanError {
  ignoreRejection(value)
  return new HookspanError(code, `Expected ${what}, got ${describeValue(value)}.`)
}

/** What a function of the user's answered that guards something. One that says neither yes nor no, as without its `return`, is not taken for a no. */
export function yesOrNo(answer: unknown, what: string): boolean {
  if (typeof answer === 'boolean') return answer
  throw expected(`${what} to give true or false`, answer)
}

/** @throws HookspanError `INVALID_CALL`. */
export function assertBody(body: unknown, what: string): void {
  if (typeof body !== 'function') throw expected(`${what} to be a function`, body, 'INVALID_CALL')
}

/** What something is called in a message before anybody has looked at its id: `gate "opa"`, or `the gate`. */
export function named(kind: string, given: unknown): string {
  const id = isObject(given) ? readId(given as object) : undefined
  return a.name.fits(id) ? `${kind} "${id}"` : `the ${kind}`
}

function readId(given: object): unknown {
  try {
    return (given as { id?: unknown }).id
  } catch {
    return undefined
  }
}

/** Makes the errors of one kind of input: `<subject>: <why>.` */
export function refusing(
  code: HookspanErrorCode,
  subject: string,
): (why: string, cause?: unknown) => HookspanError {
  return (why, cause) =>
    new HookspanError(code, `${subject}: ${why}.`, cause === undefined ? undefined : { cause })
}

/**
 * Holds what a user handed in to its table: no other fields, each of its shape.
 *
 * @throws HookspanError naming the field, and the nearest one that there is.
 */
export function assertFields<T extends object>(
  given: unknown,
  fields: Fields<T>,
  whose: string,
  code: HookspanErrorCode = 'INVALID_OPTION',
): asserts given is T {
  assertObject(given, whose, code)
  // Of a plain object only what it has is looked at: operations are started, and hooks registered, often.
  const plain = isPlain(given)
  if (!plain) assertKnown(given, Object.keys(fields), whose, code)
  for (const name in plain ? given : fields) {
    if (isField(fields, name)) assertField(given, name, fields, whose, code)
    else assertKnown(given, Object.keys(fields), whose, code)
  }
  for (const name of requiredOf(fields)) assertField(given, name, fields, whose, code)
}

type Table = Readonly<Record<string, Shape>>

/** Not what every object has, as `constructor`. */
function isField(fields: object, name: string): boolean {
  return (fields as Table)[name]?.fits !== undefined
}

function assertField(
  given: object,
  name: string,
  fields: object,
  whose: string,
  code: HookspanErrorCode,
): void {
  const { words, required: needed, fits, secret } = (fields as Table)[name] as Shape
  const value = readField(given, name, whose, code)
  if (value === undefined ? needed !== true : isFit(fits, value)) return
  throw expected(`\`${name}\` of ${whose} to be ${words}`, secret ? unshown(value) : value, code)
}

/** What cannot even be looked at, as a revoked proxy, fits nowhere. */
function isFit(fits: Shape['fits'], value: unknown): boolean {
  try {
    return fits(value)
  } catch {
    return false
  }
}

function readField(given: object, name: string, whose: string, code: HookspanErrorCode): unknown {
  try {
    return (given as Readonly<Record<string, unknown>>)[name]
  } catch (error) {
    throw new HookspanError(code, `\`${name}\` of ${whose} cannot be read: ${errorSentence(error)}`, {
      cause: error,
    })
  }
}

const requiredNames = new WeakMap<object, readonly string[]>()

function requiredOf(fields: object): readonly string[] {
  let names = requiredNames.get(fields)
  if (names === undefined) {
    names = Object.keys(fields).filter((name) => (fields as Table)[name]?.required === true)
    requiredNames.set(fields, names)
  }
  return names
}

/**
 * A misspelt option of a guard is a missing guard.
 *
 * @throws HookspanError for what is no object, and for a key that is not known.
 */
export function assertKnown(
  given: unknown,
  known: readonly string[],
  whose: string,
  code: HookspanErrorCode = 'INVALID_OPTION',
): asserts given is object {
  assertObject(given, whose, code)
  const strays = namesOf(given).filter((key) => !known.includes(key))
  const stray = isPlain(given) ? strays[0] : strays.find((key) => isMisspelt(key, given, known))
  if (stray !== undefined) throw unknownKey(stray, known, whose, code)
}

function assertObject(given: unknown, whose: string, code: HookspanErrorCode): asserts given is object {
  if (isObject(given)) return
  throw expected(`the options of ${whose} to be an object`, given, code)
}

/** The names of a type's fields: one that is left out, or that there is not, does not compile. */
export function keysOf<T>(keys: Readonly<Record<keyof Required<T>, true>>): ReadonlySet<string> {
  return new Set(Object.keys(keys))
}

/** As `assertKnown`, for what is often asked: nothing is made unless something is wrong. */
export function assertKeys(
  given: object,
  known: ReadonlySet<string>,
  whose: string,
  code: HookspanErrorCode,
): void {
  for (const key in given) if (!known.has(key)) return assertKnown(given, [...known], whose, code)
}

/** Of an instance, what its classes bring, too. */
function namesOf(given: object): string[] {
  const names = Object.keys(given)
  if (isPlain(given)) return names
  const prototype = Object.getPrototypeOf(given) as object
  return [...names, ...Object.getOwnPropertyNames(prototype), ...namesOf(prototype)]
}

/** An instance may have more to it than what it is used as here; what it lacks under one letter less, it may not. */
function isMisspelt(key: string, given: object, known: readonly string[]): boolean {
  const near = nearestName(key, known)
  return near !== undefined && !(near in given)
}

function unknownKey(
  key: string,
  known: readonly string[],
  whose: string,
  code: HookspanErrorCode,
): HookspanError {
  const hint = didYouMean(key, known)
  return new HookspanError(code, `Unknown option \`${key}\` of ${whose}.${hint} Known: ${known.join(', ')}.`)
}

/** What to add to the message about a name that is not known. */
export function didYouMean(name: string, names: Iterable<string>, quote = '`'): string {
  const near = nearestName(name, names)
  return near === undefined ? '' : ` Did you mean ${quote}${near}${quote}?`
}
