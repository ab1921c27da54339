import { describeValue } from '../../internal/errors.ts'

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
  if (isMatcher(expected)) return expected.describe
  if (expected instanceof RegExp) return String(expected)
  return show(expected)
}
