import { isDeepStrictEqual, types } from 'node:util'
import { append } from '../../internal/append.ts'
import { describeValue } from '../../internal/errors.ts'
import { isPlain, isRecord } from '../../internal/objects.ts'
import { isError } from '../../internal/realms.ts'
import {
  assertNotOfBun,
  type Difference,
  describeExpected,
  isForeignMatcher,
  isMatcher,
  type Path,
} from './matcher.ts'

/** `exact`: no property more. `partial`: further properties are allowed, at every depth. */
export type CompareMode = 'exact' | 'partial'

/** How deep matchers are looked for. */
const MAX_DEPTH = 500

/** Where `actual` is not as expected; empty when it is. Expectations may hold matchers at any depth. */
export function differences(
  expected: unknown,
  actual: unknown,
  mode: CompareMode,
  path: Path = [],
): Difference[] {
  if (isMatcher(expected)) {
    if (holds(() => expected.test(actual))) return []
    const told = expected.explain?.(actual, path) ?? []
    return told.length > 0 ? told : [differs(path, expected, actual)]
  }
  if (expected instanceof RegExp) {
    const matches =
      typeof actual === 'string' &&
      new RegExp(expected.source, expected.flags.replace(/[gy]/g, '')).test(actual)
    return matches ? [] : [differs(path, expected, actual)]
  }
  if (isForeignMatcher(expected)) {
    if (holds(() => expected.asymmetricMatch(actual))) return []
    return [differs(path, expected, actual)]
  }
  assertNotOfBun(expected)
  if (Object.is(expected, actual) || expected === actual) return []
  // It may be in itself.
  if (path.length > MAX_DEPTH) {
    return isDeepStrictEqual(expected, actual) ? [] : [differs(path, expected, actual)]
  }
  if (Array.isArray(expected) && Array.isArray(actual)) return compareLists(expected, actual, mode, path)
  if (isRecord(expected) && isRecord(actual)) {
    // What holds its content elsewhere than in properties would be equal to every other of its kind.
    if (isOpaque(expected) || isError(expected) || keepsContent(actual)) {
      return holds(() => isSame(expected, actual)) ? [] : [differs(path, expected, actual)]
    }
    return compareObjects(expected, actual, mode, path)
  }
  return [differs(path, expected, actual)]
}

function compareLists(
  expected: readonly unknown[],
  actual: readonly unknown[],
  mode: CompareMode,
  path: Path,
): Difference[] {
  const found: Difference[] = []
  for (let i = 0; i < Math.max(expected.length, actual.length); i++) {
    const at = [...path, i]
    if (i >= actual.length) found.push(missing(at, expected[i]))
    else if (i >= expected.length) found.push({ kind: 'unexpected', path: at, actual: actual[i] })
    else append(found, differences(expected[i], actual[i], mode, at))
  }
  return found
}

function compareObjects(
  expected: Record<string, unknown>,
  actual: Record<string, unknown>,
  mode: CompareMode,
  path: Path,
): Difference[] {
  const found: Difference[] = []
  for (const key of Object.keys(expected)) {
    const want = expected[key]
    const at = [...path, key]
    // What JSON leaves out is the same as what is not there.
    if (actual[key] === undefined && !Object.hasOwn(actual, key)) {
      if (want === undefined || (isMatcher(want) && want.matchesAbsent)) continue
      found.push(missing(at, want))
    } else append(found, differences(want, actual[key], mode, at))
  }
  if (mode === 'partial') return found
  for (const key of Object.keys(actual)) {
    if (!Object.hasOwn(expected, key) && actual[key] !== undefined) {
      found.push({ kind: 'unexpected', path: [...path, key], actual: actual[key] })
    }
  }
  return found
}

/** `args.items[2].city: expected "Berlin", got "Bonn"`. */
export function formatDifference(difference: Difference, root = 'args'): string {
  const at = formatPath(difference.path, root)
  switch (difference.kind) {
    case 'missing':
      return `${at}: expected ${difference.expected}, is missing`
    case 'unexpected':
      return `${at}: not expected, got ${showValue(difference.actual)}`
    case 'differs':
      return `${at}: expected ${difference.expected}, got ${showValue(difference.actual)}`
  }
}

function formatPath(path: Path, root: string): string {
  return path.reduce<string>((text, part) => {
    if (typeof part === 'number') return `${text}[${part}]`
    return /^[\p{L}_$][\p{L}\p{N}_$]*$/u.test(part) ? `${text}.${part}` : `${text}[${JSON.stringify(part)}]`
  }, root)
}

const showValue = (value: unknown) =>
  describeValue(value)
    .replace(/ \(\w+\)$/, '')
    .replaceAll('`', '')

/**
 * What is expected is put into words when it is told: of a long run each call is compared with all others, and little
 * of it is told. A class, for objects with a getter of their own are slow to make.
 */
class Expected<Kind extends 'missing' | 'differs'> {
  readonly kind: Kind
  readonly path: Path
  readonly actual: unknown
  readonly #expected: unknown

  constructor(kind: Kind, path: Path, expected: unknown, actual?: unknown) {
    this.kind = kind
    this.path = path
    this.actual = actual
    this.#expected = expected
  }

  get expected(): string {
    const words = describeExpected(this.#expected)
    return this.kind === 'differs' && this.#expected instanceof RegExp
      ? `a string that matches ${words}`
      : words
  }
}

function differs(path: Path, expected: unknown, actual: unknown): Difference {
  return new Expected('differs', path, expected, actual)
}

function missing(path: Path, expected: unknown): Difference {
  return new Expected('missing', path, expected)
}

function isOpaque(value: object): boolean {
  return keepsContent(value) || (!isPlain(value) && Object.keys(value).length === 0)
}

/** What Node compares by more than properties. */
function keepsContent(value: object): boolean {
  return (
    types.isDate(value) ||
    types.isMap(value) ||
    types.isSet(value) ||
    types.isBoxedPrimitive(value) ||
    types.isAnyArrayBuffer(value) ||
    types.isDataView(value)
  )
}

/** An instance without properties is compared by what it tells of itself (URLs, headers); one that tells nothing is like no other. */
function isSame(expected: object, actual: object): boolean {
  if (keepsContent(expected) || isError(expected)) return isDeepStrictEqual(expected, actual)
  if (Object.getPrototypeOf(expected) !== Object.getPrototypeOf(actual)) return false
  const content = contentOf(expected)
  return content !== undefined && isDeepStrictEqual(content, contentOf(actual))
}

function contentOf(value: { toJSON?: unknown; [Symbol.iterator]?: () => Iterator<unknown> }): unknown {
  if (typeof value.toJSON === 'function') return value.toJSON()
  const iterator = value[Symbol.iterator]?.()
  // One that is its own iterator would be used up.
  return iterator === undefined || iterator === value ? undefined : [...(value as Iterable<unknown>)]
}

function holds(test: () => boolean): boolean {
  try {
    return test()
  } catch {
    return false
  }
}
