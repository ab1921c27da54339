import { describeValue, HookspanError } from '../../internal/errors.ts'
import { isPlain, isRecord } from '../../internal/objects.ts'

export type Path = readonly (string | number)[]

/** One place in which a value is not what was expected. */
export type Difference =
  | { readonly kind: 'missing'; readonly path: Path; readonly expected: string }
  | { readonly kind: 'unexpected'; readonly path: Path; readonly actual: unknown }
  | { readonly kind: 'differs'; readonly path: Path; readonly expected: string; readonly actual: unknown }

/** One test of one value, with the words in which a failure is told. Made by the functions of {@link match}. */
export interface Matcher {
  readonly [MATCHER]: true
  /** As it reads in a message: `a number > 5`. */
  readonly describe: string
  /** Whether a property that is absent may match. `false`, and not left out: the contrary of this one matches it. */
  readonly matchesAbsent?: boolean
  test(value: unknown): boolean
  /** Says more than "expected X, got Y", where it can. */
  explain?(value: unknown, path: Path): Difference[]
}

export const MATCHER: unique symbol = Symbol.for('hookspan.matcher')

export function isMatcher(value: unknown): value is Matcher {
  return typeof value === 'object' && value !== null && (value as Partial<Matcher>)[MATCHER] === true
}

export const show = (value: unknown) =>
  describeValue(value)
    .replace(/ \(\w+\)$/, '')
    .replaceAll('`', '')

/** How an expectation reads in a message. */
export function describeExpected(expected: unknown): string {
  return nameOf(expected) ?? show(withNames(expected))
}

/** The expectation with the name of each matcher in its place, for a message. */
export function withNames(expected: unknown, above: readonly unknown[] = []): unknown {
  const name = nameOf(expected)
  if (name !== undefined) return expected instanceof RegExp ? name : `<${name}>`
  if (typeof expected !== 'object' || expected === null) return expected
  if (above.includes(expected)) return '[Circular]'
  const inside = [...above, expected]
  if (Array.isArray(expected)) return expected.map((item) => withNames(item, inside))
  if (!isPlain(expected)) return expected
  return Object.fromEntries(Object.entries(expected).map(([key, item]) => [key, withNames(item, inside)]))
}

/** What a matcher of any kind says of itself. */
export function nameOf(expected: unknown): string | undefined {
  if (isMatcher(expected)) return expected.describe
  if (expected instanceof RegExp) return String(expected)
  return isForeignMatcher(expected) ? foreignName(expected) : undefined
}

/** The matchers of vitest and jest: `expect.stringContaining('x')`. */
interface ForeignMatcher {
  asymmetricMatch(value: unknown): boolean
}

export function isForeignMatcher(value: unknown): value is ForeignMatcher {
  return isRecord(value) && typeof value.asymmetricMatch === 'function'
}

/** Those of `bun test` show nothing: whatever they are held against would differ, also where it is as expected. */
export function assertNotOfBun(expected: unknown): void {
  const tag = isRecord(expected) ? (expected as { [Symbol.toStringTag]?: unknown })[Symbol.toStringTag] : ''
  const [, first = '', more = ''] = /^Expect([A-Z])(\w*)$/.exec(String(tag)) ?? []
  if (first === '' || Reflect.ownKeys(expected as object).length > 0) return
  throw new HookspanError(
    'INVALID_OPTION',
    `Only the \`expect\` of bun test itself can ask its \`expect.${first.toLowerCase()}${more}()\`. ` +
      'Write a matcher of `match`, from hookspan/mock, or a function.',
  )
}

function foreignName(value: object): string {
  const { toAsymmetricMatcher, sample } = value as { toAsymmetricMatcher?: () => string; sample?: unknown }
  try {
    // The others have but the name of their class as text.
    const name = toAsymmetricMatcher?.call(value)
    return name ?? (sample === undefined ? `${value}` : `${value} ${describeExpected(sample)}`)
  } catch {
    return 'a matcher'
  }
}
