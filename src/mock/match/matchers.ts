import { describeValue, HookspanError } from '../../internal/errors.ts'
import { checkSchema } from '../../internal/schema/check-schema.ts'
import type { SchemaProblem } from '../../internal/schema/problem.ts'
import { differences } from './difference.ts'
import { describeExpected, isMatcher, MATCHER, type Matcher, show } from './matcher.ts'

function matcher(describe: string, test: (value: unknown) => boolean, more: Partial<Matcher> = {}): Matcher {
  return { [MATCHER]: true, describe, test, ...more }
}

function absentIf(mayBeAbsent: boolean): Partial<Matcher> {
  return mayBeAbsent ? { matchesAbsent: true } : {}
}

function ordered(sign: string, holds: (a: number | string, b: number | string) => boolean) {
  return (bound: number | string): Matcher => {
    const type = typeof bound
    if ((type !== 'number' && type !== 'string') || Number.isNaN(bound)) {
      throw new HookspanError(
        'INVALID_OPTION',
        `Expected a number or a string to compare with, got ${describeValue(bound)}.`,
      )
    }
    // Number with number, text with text: '10' > 9 would be a guess.
    return matcher(
      `${type === 'number' ? 'a number' : 'a text'} ${sign} ${show(bound)}`,
      (value) => typeof value === type && holds(value as number, bound),
    )
  }
}

export const any = (): Matcher => matcher('anything', () => true)
export const exists = (): Matcher =>
  matcher('anything but undefined', (value) => value !== undefined, { matchesAbsent: false })
export const absent = (): Matcher =>
  matcher('nothing', (value) => value === undefined, { matchesAbsent: true })
export const string = (): Matcher => matcher('a string', (value) => typeof value === 'string')
export const number = (): Matcher =>
  matcher('a number', (value) => typeof value === 'number' && !Number.isNaN(value))
export const boolean = (): Matcher => matcher('a boolean', (value) => typeof value === 'boolean')
export const gt = ordered('>', (a, b) => a > b)
export const gte = ordered('>=', (a, b) => a >= b)
export const lt = ordered('<', (a, b) => a < b)
export const lte = ordered('<=', (a, b) => a <= b)

// Constants: a function would be named by this file where a library says the type of what holds `match`, and nobody can import it.

/** A number no farther than `tolerance` from `target`. */
export const closeTo = (target: number, tolerance = 1e-9): Matcher => {
  return matcher(
    `a number within ${tolerance} of ${target}`,
    (value) => typeof value === 'number' && Math.abs(value - target) <= tolerance,
  )
}

/** A string that the expression matches somewhere. A `g` or `y` flag is left out: matching keeps no position. */
export const regex = (pattern: RegExp | string): Matcher => {
  const source = typeof pattern === 'string' ? new RegExp(pattern) : pattern
  const stateless = new RegExp(source.source, source.flags.replace(/[gy]/g, ''))
  return matcher(
    `a string that matches ${stateless}`,
    (value) => typeof value === 'string' && stateless.test(value),
  )
}

/** A string with this part, or a list with an item that fits. */
export const contains = (part: unknown): Matcher => {
  return matcher(`something that contains ${describeExpected(part)}`, (value) => {
    if (typeof value === 'string') return typeof part === 'string' && value.includes(part)
    return Array.isArray(value) && value.some((item) => fits(part, item))
  })
}

/** Fits one of these; a single list is the list of them, as in vitest's `expect.oneOf`. */
export const oneOf = (...expected: readonly unknown[]): Matcher => {
  const [first, ...others] = expected
  const options: readonly unknown[] = Array.isArray(first) && others.length === 0 ? first : expected
  const words = `one of ${options.map(describeExpected).join(', ')}`
  const mayBeAbsent = options.some((one) => isMatcher(one) && one.matchesAbsent === true)
  return matcher(words, (value) => options.some((one) => fits(one, value)), absentIf(mayBeAbsent))
}

export const not = (expected: unknown): Matcher => {
  const words = `anything but ${describeExpected(expected)}`
  const mayBeAbsent = isMatcher(expected) && expected.matchesAbsent === false
  return matcher(words, (value) => !fits(expected, value), absentIf(mayBeAbsent))
}

/** Whatever the function is true for. A function that throws does not match. */
export const where = (
  predicate: (value: never) => boolean,
  describe = predicate.name || 'the predicate',
): Matcher => {
  return matcher(`something that passes ${describe}`, (value) => predicate(value as never) === true)
}

/** Equal at every depth, nothing more and nothing less. */
export const exactly = (expected: unknown): Matcher => {
  return held('exactly', expected, 'exact')
}

/** Holds at least these properties, at every depth; lists must be of the same length. */
export const partial = (expected: unknown): Matcher => {
  return held('at least', expected, 'partial')
}

function held(words: string, expected: unknown, mode: 'exact' | 'partial'): Matcher {
  return matcher(
    `${words} ${describeExpected(expected)}`,
    (value) => differences(expected, value, mode).length === 0,
    { explain: (value, path) => differences(expected, value, mode, path) },
  )
}

/** A JSON Schema, or a Standard Schema that answers at once (zod, valibot, ArkType). */
export const schema = (definition: unknown): Matcher => {
  const problems = (value: unknown): SchemaProblem[] => {
    const found = checkSchema(definition, value)
    if (found instanceof Promise) {
      throw new HookspanError(
        'INVALID_OPTION',
        'match.schema() takes no schema that validates asynchronously.',
      )
    }
    return found
  }
  return matcher('a value that fits the schema', (value) => problems(value).length === 0, {
    explain: (value, path) =>
      problems(value).map((problem) => ({
        kind: 'differs' as const,
        path: [...path, ...problem.path],
        expected: problem.message,
        actual: problem.value,
      })),
  })
}

function fits(expected: unknown, value: unknown): boolean {
  return differences(expected, value, 'partial').length === 0
}
