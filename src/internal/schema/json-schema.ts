import { append } from '../append.ts'
import { describeValue } from '../errors.ts'
import { canonicalJson } from '../json.ts'
import { isRecord } from '../objects.ts'
import { asList, asSchemas, deeper, entries, expression, type Place, referred } from './place.ts'
import type { SchemaProblem } from './problem.ts'
import { isSchema, type Schema } from './references.ts'
import { unevaluatedKeys } from './unevaluated.ts'

/**
 * Checks a value against a JSON Schema as tools use it: every keyword of draft 2020-12 that tests values, references
 * within the schema (`#`, `#/...`, anchors), what earlier drafts called `dependencies`, `nullable`, and what Google's
 * schemas write otherwise: types in capitals, and limits as text. As the standard says, `format` and unknown keywords test nothing. References to other documents throw, also where such a
 * document is embedded.
 *
 * @throws TypeError when the schema is no JSON Schema or cannot be followed.
 */
export function checkJsonSchema(schema: unknown, value: unknown): SchemaProblem[] {
  if (typeof schema !== 'boolean' && !isRecord(schema)) {
    throw new TypeError(`Expected a JSON Schema or a Standard Schema, got ${describeValue(schema)}`)
  }
  return check(schema, value, { root: schema, path: [], refs: [] })
}

function check(schema: Schema, value: unknown, place: Place): SchemaProblem[] {
  if (schema === true) return []
  if (schema === false) return [problem(place, 'expected nothing here', value)]
  if (schema.nullable === true && value === null) return []
  const wrongType = checkType(schema, value, place)
  if (wrongType.length > 0) return wrongType
  return [
    ...checkRef(schema, value, place),
    ...checkCombined(schema, value, place),
    ...(typeof value === 'number' ? checkNumber(schema, value, place) : []),
    ...(typeof value === 'string' ? checkString(schema, value, place) : []),
    ...(Array.isArray(value) ? checkList(schema, value, place) : []),
    ...(isRecord(value) ? checkObject(schema, value, place) : []),
    ...checkUnevaluated(schema, value, place),
  ]
}

function checkRef(schema: Record<string, unknown>, value: unknown, place: Place): SchemaProblem[] {
  return referred(schema, place).flatMap((target) => check(target.schema, value, target.place))
}

/** Properties and items that nothing else in the schema, or in what it is combined of, speaks of. */
function checkUnevaluated(schema: Record<string, unknown>, value: unknown, place: Place): SchemaProblem[] {
  const rule = Array.isArray(value) ? schema.unevaluatedItems : schema.unevaluatedProperties
  if (!isSchema(rule) || typeof value !== 'object' || value === null) return []
  return unevaluatedKeys(schema, value, place, check).flatMap((key) => {
    const item = (value as Record<string | number, unknown>)[key]
    if (rule === false) return [problem(deeper(place, key), 'is not a property of the schema', item)]
    return check(rule, item, deeper(place, key))
  })
}

function checkType(schema: Record<string, unknown>, value: unknown, place: Place): SchemaProblem[] {
  const { type, enum: options } = schema
  const types = (type === undefined ? [] : Array.isArray(type) ? type : [type]).map(inSmallLetters)
  if (types.length > 0 && !types.some((name) => hasType(value, name))) {
    return [problem(place, `expected ${types.join(' or ')}`, value)]
  }
  if (Array.isArray(options) && !options.some((option) => same(option, value))) {
    return [
      problem(place, `expected one of ${options.map((option) => JSON.stringify(option)).join(', ')}`, value),
    ]
  }
  if (Object.hasOwn(schema, 'const') && !same(schema.const, value)) {
    return [problem(place, `expected ${JSON.stringify(schema.const)}`, value)]
  }
  return []
}

function inSmallLetters(type: unknown): unknown {
  return typeof type === 'string' && type === type.toUpperCase() ? type.toLowerCase() : type
}

function hasType(value: unknown, type: unknown): boolean {
  switch (type) {
    case 'type_unspecified':
      return true
    case 'null':
      return value === null
    case 'array':
      return Array.isArray(value)
    case 'object':
      return isRecord(value)
    case 'integer':
      return Number.isInteger(value)
    case 'number':
      return typeof value === 'number' && Number.isFinite(value)
    case 'string':
    case 'boolean':
      return typeof value === type
    default:
      throw new TypeError(`The schema has the unknown type ${describeValue(type)}`)
  }
}

function checkCombined(schema: Record<string, unknown>, value: unknown, place: Place): SchemaProblem[] {
  const found: SchemaProblem[] = []
  const { allOf, anyOf, oneOf } = schema
  for (const each of asSchemas(allOf)) append(found, check(each, value, place))
  if (Array.isArray(anyOf)) {
    const tries = asSchemas(anyOf).map((each) => check(each, value, place))
    if (!tries.some((problems) => problems.length === 0)) found.push(closest(tries, place, value, 'anyOf'))
  }
  if (Array.isArray(oneOf)) {
    const tries = asSchemas(oneOf).map((each) => check(each, value, place))
    const fitting = tries.filter((problems) => problems.length === 0).length
    if (fitting === 0) found.push(closest(tries, place, value, 'oneOf'))
    else if (fitting > 1)
      found.push(problem(place, `expected to fit one of \`oneOf\`, fits ${fitting}`, value))
  }
  if (isSchema(schema.not) && check(schema.not, value, place).length === 0) {
    found.push(problem(place, `expected anything but ${JSON.stringify(schema.not)}`, value))
  }
  if (isSchema(schema.if)) {
    const branch = check(schema.if, value, place).length === 0 ? schema.then : schema.else
    if (isSchema(branch)) append(found, check(branch, value, place))
  }
  return found
}

/** Of several schemas that do not fit, the one that comes nearest says why. */
function closest(tries: SchemaProblem[][], place: Place, value: unknown, keyword: string): SchemaProblem {
  const [nearest] = tries.toSorted(
    (a, b) => (b[0]?.path.length ?? 0) - (a[0]?.path.length ?? 0) || a.length - b.length,
  )
  return nearest?.[0] ?? problem(place, `expected to fit one of \`${keyword}\``, value)
}

function checkNumber(schema: Record<string, unknown>, value: number, place: Place): SchemaProblem[] {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema
  const rules: [unknown, (bound: number) => boolean, string][] = [
    [minimum, (bound) => value >= bound, '>='],
    [maximum, (bound) => value <= bound, '<='],
    [exclusiveMinimum, (bound) => value > bound, '>'],
    [exclusiveMaximum, (bound) => value < bound, '<'],
    [multipleOf, (bound) => Math.abs(value / bound - Math.round(value / bound)) < 1e-9, 'a multiple of'],
  ]
  return broken(rules, 'a number', value, place)
}

function checkString(schema: Record<string, unknown>, value: string, place: Place): SchemaProblem[] {
  const { minLength, maxLength, pattern } = schema
  const length = minLength === undefined && maxLength === undefined ? 0 : [...value].length
  const found = broken(
    [
      [minLength, (bound) => length >= bound, 'of a length >='],
      [maxLength, (bound) => length <= bound, 'of a length <='],
    ],
    'a string',
    value,
    place,
  )
  if (typeof pattern === 'string' && !expression(pattern).test(value)) {
    found.push(problem(place, `expected a string that matches ${pattern}`, value))
  }
  return found
}

function checkList(schema: Record<string, unknown>, value: unknown[], place: Place): SchemaProblem[] {
  const { minItems, maxItems, uniqueItems, contains, minContains = 1, maxContains } = schema
  const found = broken(
    [
      [minItems, (bound) => value.length >= bound, 'of a length >='],
      [maxItems, (bound) => value.length <= bound, 'of a length <='],
    ],
    'a list',
    value,
    place,
  )
  // The lists of `items` before draft 2020-12 are today's `prefixItems`.
  const prefix = Array.isArray(schema.items) ? asSchemas(schema.items) : asSchemas(schema.prefixItems)
  const rest = Array.isArray(schema.items) ? schema.additionalItems : schema.items
  for (const [index, item] of value.entries()) {
    const each = prefix[index] ?? rest
    if (isSchema(each)) append(found, check(each, item, deeper(place, index)))
  }
  if (uniqueItems === true && new Set(value.map(canonicalJson)).size < value.length) {
    found.push(problem(place, 'expected a list without repeated items', value))
  }
  if (isSchema(contains)) {
    const count = value.filter(
      (item, index) => check(contains, item, deeper(place, index)).length === 0,
    ).length
    if (count < Number(minContains) || (typeof maxContains === 'number' && count > maxContains)) {
      found.push(problem(place, `expected a list that contains ${JSON.stringify(contains)}`, value))
    }
  }
  return found
}

function checkObject(
  schema: Record<string, unknown>,
  value: Record<string, unknown>,
  place: Place,
): SchemaProblem[] {
  const { required, properties, patternProperties, additionalProperties, propertyNames } = schema
  const { minProperties, maxProperties } = schema
  const has = (key: string) => Object.hasOwn(value, key) && value[key] !== undefined
  // Before draft 2019-09 one keyword did the work of the two.
  const dependent = [schema.dependentRequired, schema.dependentSchemas, schema.dependencies]
    .flatMap(entries)
    .filter(([key]) => has(key))
  const keys = Object.keys(value).filter((key) => value[key] !== undefined)
  const found = broken(
    [
      [minProperties, (bound) => keys.length >= bound, 'with a number of properties >='],
      [maxProperties, (bound) => keys.length <= bound, 'with a number of properties <='],
    ],
    'an object',
    value,
    place,
  )
  const needed = asList(required).map(String)
  for (const [, more] of dependent) append(needed, asList(more).map(String))
  for (const key of new Set(needed)) {
    if (!has(key)) found.push(problem(deeper(place, key), 'is required', undefined))
  }
  const patterns = entries(patternProperties).map(([source, each]) => [expression(source), each] as const)
  for (const key of keys) {
    const at = deeper(place, key)
    const own = isRecord(properties) && Object.hasOwn(properties, key) ? properties[key] : undefined
    const fitting = patterns.filter(([pattern]) => pattern.test(key)).map(([, each]) => each)
    if (isSchema(own)) append(found, check(own, value[key], at))
    for (const each of fitting) if (isSchema(each)) append(found, check(each, value[key], at))
    if (own === undefined && fitting.length === 0) {
      if (additionalProperties === false)
        found.push(problem(at, 'is not a property of the schema', value[key]))
      else if (isSchema(additionalProperties)) append(found, check(additionalProperties, value[key], at))
    }
    if (isSchema(propertyNames)) append(found, check(propertyNames, key, at))
  }
  for (const [, each] of dependent) if (isSchema(each)) append(found, check(each, value, place))
  return found
}

function broken(
  rules: [unknown, (bound: number) => boolean, string][],
  noun: string,
  value: unknown,
  place: Place,
): SchemaProblem[] {
  return rules
    .filter(([bound, holds]) => isLimit(bound) && !holds(Number(bound)))
    .map(([bound, , sign]) => problem(place, `expected ${noun} ${sign} ${bound}`, value))
}

const isLimit = (bound: unknown) =>
  typeof bound === 'number' || (typeof bound === 'string' && /^\d+$/.test(bound))

function problem({ path }: Place, message: string, value: unknown): SchemaProblem {
  return { path, message, value }
}

function same(a: unknown, b: unknown): boolean {
  return a === b || (typeof a === 'object' && typeof b === 'object' && canonicalJson(a) === canonicalJson(b))
}
