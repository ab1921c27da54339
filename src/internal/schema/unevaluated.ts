import { isRecord } from '../objects.ts'
import { asSchemas, deeper, entries, expression, type Place, referred } from './place.ts'
import type { SchemaProblem } from './problem.ts'
import { isSchema, type Schema } from './references.ts'

type Key = string | number

/** Holds a value against a schema. */
type Check = (schema: Schema, value: unknown, place: Place) => SchemaProblem[]

/** The properties or items of which no keyword beside `unevaluatedProperties` and `unevaluatedItems` speaks. */
export function unevaluatedKeys(
  schema: Record<string, unknown>,
  value: object,
  place: Place,
  check: Check,
): Key[] {
  const { unevaluatedItems: _items, unevaluatedProperties: _properties, ...others } = schema
  const known = evaluated(others, value, place, check)
  return keysOf(value).filter((key) => !known.has(key))
}

function keysOf(value: object): Key[] {
  return Array.isArray(value) ? [...value.keys()] : Object.keys(value)
}

function evaluated(schema: Schema, value: object, place: Place, check: Check): Set<Key> {
  if (typeof schema === 'boolean') return new Set()
  const own = Array.isArray(value) ? itemsOf(schema, value, place, check) : propertiesOf(schema, value)
  const inherited = inPlace(schema, value, place, check).flatMap((each) => [
    ...evaluated(each.schema, value, each.place, check),
  ])
  return new Set([...own, ...inherited])
}

function propertiesOf(schema: Record<string, unknown>, value: object): Key[] {
  const { properties, patternProperties, additionalProperties, unevaluatedProperties } = schema
  const keys = Object.keys(value)
  if (isSchema(additionalProperties) || isSchema(unevaluatedProperties)) return keys
  const patterns = entries(patternProperties).map(([source]) => expression(source))
  return keys.filter(
    (key) =>
      (isRecord(properties) && Object.hasOwn(properties, key)) ||
      patterns.some((pattern) => pattern.test(key)),
  )
}

function itemsOf(
  schema: Record<string, unknown>,
  value: readonly unknown[],
  place: Place,
  check: Check,
): Key[] {
  const { items, prefixItems, additionalItems, contains, unevaluatedItems } = schema
  const rest = Array.isArray(items) ? additionalItems : items
  if (isSchema(rest) || isSchema(unevaluatedItems)) return [...value.keys()]
  const first = asSchemas(Array.isArray(items) ? items : prefixItems).length
  return [...value.keys()].filter(
    (index) =>
      index < first ||
      (isSchema(contains) && check(contains, value[index], deeper(place, index)).length === 0),
  )
}

/** The schemas that are held against the same value, as far as it fits them. */
function inPlace(
  schema: Record<string, unknown>,
  value: object,
  place: Place,
  check: Check,
): { schema: Schema; place: Place }[] {
  const fits = (each: Schema) => check(each, value, place).length === 0
  const parts = [
    ...asSchemas(schema.allOf),
    ...asSchemas(schema.anyOf).filter(fits),
    ...asSchemas(schema.oneOf).filter(fits),
    ...[schema.dependentSchemas, schema.dependencies]
      .flatMap(entries)
      .flatMap(([key, each]) => (Object.hasOwn(value, key) && isSchema(each) ? [each] : [])),
  ]
  if (isSchema(schema.if)) {
    const holds = fits(schema.if)
    if (holds) parts.push(schema.if)
    const branch = holds ? schema.then : schema.else
    if (isSchema(branch)) parts.push(branch)
  }
  return [...parts.map((each) => ({ schema: each, place })), ...referred(schema, place)]
}
