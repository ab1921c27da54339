import fc from 'fast-check'
import { match } from 'hookspan/mock'

/** What an argument may be, as a tree that says it: made into what `when()` gets, and judged by itself. */
export type Want =
  | { is: 'value'; value: unknown }
  | { is: 'object'; fields: Record<string, Want> }
  | { is: 'list'; items: Want[] }
  | { is: 'regex'; source: string; plain: boolean }
  | { is: 'any' | 'exists' | 'absent' | 'string' | 'number' | 'boolean' | 'even' }
  | { is: 'gt' | 'gte' | 'lt' | 'lte'; bound: number | string }
  | { is: 'contains' | 'not' | 'exactly' | 'partial'; of: Want }
  | { is: 'oneOf'; of: Want[] }

type Mode = 'exact' | 'partial'

const KEYS = ['a', 'b', 'c'] as const
const scalar = fc.constantFrom<unknown>(0, 1, 2, '', 'x', 'xy', '1', true, null)

/** Small, so that calls meet rules. */
export const someArgs: fc.Arbitrary<unknown> = fc.letrec<{ value: unknown; object: unknown }>((tie) => ({
  value: fc.oneof(
    { weight: 5, arbitrary: scalar },
    { weight: 1, arbitrary: fc.array(tie('value'), { maxLength: 2 }) },
    { weight: 1, arbitrary: tie('object') },
  ),
  object: fc.dictionary(fc.constantFrom(...KEYS), tie('value'), { maxKeys: 3, noNullPrototype: true }),
})).object

export const someWant: fc.Arbitrary<Want> = fc.letrec<{ want: Want; object: Want }>((tie) => ({
  want: fc.oneof(
    { maxDepth: 3, depthIdentifier: 'want' },
    scalar.map((value): Want => ({ is: 'value', value })),
    fc.constantFrom<Want>(
      ...(['any', 'exists', 'absent', 'string', 'number', 'boolean', 'even'] as const).map((is) => ({ is })),
    ),
    fc.record({
      is: fc.constantFrom('gt', 'gte', 'lt', 'lte'),
      bound: fc.constantFrom<number | string>(0, 1, '', 'x'),
    }),
    fc.record({
      is: fc.constant('regex' as const),
      source: fc.constantFrom('x', '^x$', '1'),
      plain: fc.boolean(),
    }),
    fc.record({ is: fc.constantFrom('contains', 'not', 'exactly', 'partial'), of: tie('want') }),
    fc.record({
      is: fc.constant('oneOf' as const),
      of: fc.array(tie('want'), { minLength: 1, maxLength: 2 }),
    }),
    fc.record({ is: fc.constant('list' as const), items: fc.array(tie('want'), { maxLength: 2 }) }),
    tie('object'),
  ),
  object: fc
    .dictionary(fc.constantFrom(...KEYS), tie('want'), { maxKeys: 2, noNullPrototype: true })
    .map((fields): Want => ({ is: 'object', fields })),
})).object

/** As a test writes it. */
export function written(want: Want): unknown {
  switch (want.is) {
    case 'value':
      return want.value
    case 'object':
      return Object.fromEntries(Object.entries(want.fields).map(([key, of]) => [key, written(of)]))
    case 'list':
      return want.items.map(written)
    case 'regex':
      return want.plain ? new RegExp(want.source, 'g') : match.regex(want.source)
    case 'even':
      return match.where((value: number) => value % 2 === 0)
    case 'oneOf':
      return match.oneOf(
        ...want.of.map(written),
        ...(want.of.length === 1 ? [written(want.of[0] as Want)] : []),
      )
    case 'contains':
    case 'not':
    case 'exactly':
    case 'partial':
      return match[want.is](written(want.of))
    case 'gt':
    case 'gte':
    case 'lt':
    case 'lte':
      return match[want.is](want.bound)
    default:
      return match[want.is]()
  }
}

/** Whether something that is there fits. */
export function fits(want: Want, value: unknown, mode: Mode): boolean {
  switch (want.is) {
    case 'value':
      return want.value === value
    case 'any':
    case 'exists':
      return true
    case 'absent':
      return false
    case 'string':
    case 'number':
    case 'boolean':
      return typeof value === want.is
    case 'even':
      return (value as number) % 2 === 0
    case 'gt':
    case 'gte':
    case 'lt':
    case 'lte':
      return typeof value === typeof want.bound && compares(want.is, value as number, want.bound as number)
    case 'regex':
      return typeof value === 'string' && new RegExp(want.source).test(value)
    case 'contains':
      if (typeof value === 'string') {
        return want.of.is === 'value' && typeof want.of.value === 'string' && value.includes(want.of.value)
      }
      return Array.isArray(value) && value.some((item) => fits(want.of, item, 'partial'))
    case 'not':
      return !fits(want.of, value, 'partial')
    case 'exactly':
      return fits(want.of, value, 'exact')
    case 'partial':
      return fits(want.of, value, 'partial')
    case 'oneOf':
      return want.of.some((one) => fits(one, value, 'partial'))
    case 'list':
      return (
        Array.isArray(value) &&
        value.length === want.items.length &&
        want.items.every((item, index) => fits(item, value[index], mode))
      )
    case 'object': {
      if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
      const has = value as Record<string, unknown>
      const all = Object.entries(want.fields).every(([key, of]) => {
        return key in has ? fits(of, has[key], mode) : mayBeAbsent(of)
      })
      return all && (mode === 'partial' || Object.keys(has).every((key) => key in want.fields))
    }
  }
}

/** What is about being there speaks of what is not there; nothing else does. */
function mayBeAbsent(want: Want): boolean {
  if (want.is === 'absent') return true
  if (want.is === 'not') return want.of.is === 'exists'
  return want.is === 'oneOf' && want.of.some(mayBeAbsent)
}

function compares(sign: 'gt' | 'gte' | 'lt' | 'lte', a: number, b: number): boolean {
  if (sign === 'gt') return a > b
  if (sign === 'gte') return a >= b
  return sign === 'lt' ? a < b : a <= b
}
