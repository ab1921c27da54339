import * as matchers from './matchers.ts'

const { absent, any, boolean, closeTo, contains, exactly, exists, gt, gte, lt, lte } = matchers
const { not, number, oneOf, partial, regex, schema, string, where } = matchers

/**
 * What an argument may be, at any depth of `when({ ... })`. Regular expressions and the asymmetric matchers of
 * vitest may be used as well.
 *
 * @example
 * mock('get_weather').when({ city: match.regex(/^Ber/), days: match.lte(7) })
 */
export const match = {
  absent,
  any,
  boolean,
  closeTo,
  contains,
  exactly,
  exists,
  gt,
  gte,
  lt,
  lte,
  not,
  number,
  oneOf,
  partial,
  regex,
  schema,
  string,
  where,
} as const
