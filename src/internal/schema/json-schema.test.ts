import { Ajv2020 } from 'ajv/dist/2020.js'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { checkJsonSchema } from './json-schema.ts'

const ajv = new Ajv2020({ strict: false, validateFormats: false })

const leaf = fc.oneof(
  fc.constant({}),
  fc.boolean(),
  fc
    .constantFrom('string', 'number', 'integer', 'boolean', 'null', 'object', 'array')
    .map((type) => ({ type })),
  fc.constantFrom(['string', 'null'], ['number', 'object']).map((type) => ({ type })),
  fc.record(
    { minimum: fc.integer({ min: -2, max: 2 }), exclusiveMaximum: fc.integer({ min: -1, max: 4 }) },
    { requiredKeys: [] },
  ),
  fc.record(
    { minLength: fc.nat(2), maxLength: fc.nat(3), pattern: fc.constantFrom('^a', 'b$', '.') },
    { requiredKeys: [] },
  ),
  fc.record({ enum: fc.array(fc.constantFrom<unknown>('a', 1, null, { a: 1 }, [1]), { minLength: 1 }) }),
  fc.constantFrom<unknown>('a', 1, null, { a: 1 }).map((value) => ({ const: value })),
  fc.constantFrom(2, 0.5).map((multipleOf) => ({ multipleOf })),
)

const { schema } = fc.letrec<{ schema: unknown }>((tie) => {
  const list = fc.array(tie('schema'), { minLength: 1, maxLength: 3 })
  const properties = fc.dictionary(fc.constantFrom('a', 'b', 'c'), tie('schema'), {
    maxKeys: 3,
    noNullPrototype: true,
  })
  return {
    schema: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      leaf,
      fc.record(
        {
          properties,
          required: fc.uniqueArray(fc.constantFrom('a', 'b', 'c')),
          additionalProperties: tie('schema'),
          minProperties: fc.nat(2),
          propertyNames: fc.constant({ maxLength: 1 }),
          dependentRequired: fc.constant({ a: ['b'] }),
        },
        { requiredKeys: [] },
      ),
      fc.record(
        {
          items: tie('schema'),
          prefixItems: list,
          minItems: fc.nat(2),
          uniqueItems: fc.boolean(),
        },
        { requiredKeys: [] },
      ),
      list.map((anyOf) => ({ anyOf })),
      list.map((oneOf) => ({ oneOf })),
      list.map((allOf) => ({ allOf })),
      fc.tuple(tie('schema')).map(([not]) => ({ not })),
      fc.tuple(tie('schema'), tie('schema'), tie('schema')).map(([a, b, c]) => ({ if: a, then: b, else: c })),
    ),
  }
})

/** No branches: of `anyOf` and `if` ajv counts what failed, and does not count what the standard wants counted. */
const parts = fc.array(
  fc
    .dictionary(fc.constantFrom('a', 'b', 'c'), leaf, { maxKeys: 2, noNullPrototype: true })
    .map((properties) => ({
      properties,
    })),
  { minLength: 1, maxLength: 2 },
)
const closed = fc.record(
  {
    allOf: parts,
    patternProperties: fc.constant({ '^d': true }),
    unevaluatedProperties: fc.constantFrom<unknown>(false, { type: 'string' }),
  },
  { requiredKeys: ['unevaluatedProperties'] },
)

/** Only outermost and alone: in a loop, or beside `prefixItems`, ajv takes an empty list for one that contains anything. */
const containing = schema.map((contains) => ({ contains }))

const { value } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom<unknown>(null, true, false, 'a', 'ab', 'b', '', '👋', 0, 1, -1, 2.5, 3),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom('a', 'b', 'c', 'dd'), tie('value'), { maxKeys: 3, noNullPrototype: true }),
  ),
}))

describe('checkJsonSchema', () => {
  it('agrees with ajv on what fits', { timeout: 30_000 }, () => {
    fc.assert(
      fc.property(
        fc.oneof({ weight: 4, arbitrary: schema }, closed, containing),
        value,
        (definition, data) => {
          const expected = ajv.validate(definition as object, data)
          expect(checkJsonSchema(definition, data).length === 0).toBe(expected)
        },
      ),
      { numRuns: 400 },
    )
  })

  it('follows references, and says which cannot be followed', () => {
    const tree = {
      $ref: '#/$defs/node',
      $defs: {
        node: { type: 'object', properties: { child: { $ref: '#/$defs/node' }, tag: { $ref: '#name' } } },
        n: { $anchor: 'name', type: 'string' },
      },
    }
    expect(checkJsonSchema(tree, { child: { child: { tag: 7 } } })).toEqual([
      { path: ['child', 'child', 'tag'], message: 'expected string', value: 7 },
    ])
    expect(() => checkJsonSchema({ $ref: '#/nowhere' }, 1)).toThrow('leads nowhere')
    expect(() => checkJsonSchema({ $ref: '#' }, 1)).toThrow('goes round in a circle')
    expect(() => checkJsonSchema({ type: 'text' }, 1)).toThrow('unknown type')
    expect(() => checkJsonSchema('text', 1)).toThrow('Expected a JSON Schema')
  })

  it('takes the schemas of Google, with types in capitals and limits as text', () => {
    const schema = {
      type: 'OBJECT',
      properties: {
        q: { type: 'STRING', minLength: '2' },
        tags: { type: 'ARRAY', items: { type: 'STRING' }, maxItems: '1', nullable: true },
        any: { type: 'TYPE_UNSPECIFIED' },
      },
      required: ['q'],
    }
    expect(checkJsonSchema(schema, { q: 'ab', tags: null, any: 1 })).toEqual([])
    const problems = checkJsonSchema(schema, { q: 'a', tags: ['b', 3] })
    expect(problems.map(({ path, message }) => [path.join('.'), message])).toEqual([
      ['q', 'expected a string of a length >= 2'],
      ['tags', 'expected a list of a length <= 1'],
      ['tags.1', 'expected string'],
    ])
  })

  it('lets no property pass that a combined schema leaves open', () => {
    const schema = {
      allOf: [{ properties: { a: {} } }, { $ref: '#/$defs/b' }],
      unevaluatedProperties: false,
      $defs: { b: { properties: { b: {} } } },
    }
    expect(checkJsonSchema(schema, { a: 1, b: 2 })).toEqual([])
    expect(checkJsonSchema(schema, { a: 1, c: 3 })).toEqual([
      { path: ['c'], message: 'is not a property of the schema', value: 3 },
    ])
    const either = {
      anyOf: [{ properties: {} }, { properties: { a: { const: 1 } } }],
      unevaluatedProperties: false,
    }
    expect(checkJsonSchema(either, { a: 1 })).toEqual([])
    expect(checkJsonSchema(either, { a: 2 })).toMatchObject([{ path: ['a'] }])
    expect(checkJsonSchema({ prefixItems: [{}], unevaluatedItems: false }, [1, 2])).toHaveLength(1)
  })

  it('follows a dynamic reference within one document, and does not guess between several', () => {
    const node = {
      $dynamicAnchor: 'node',
      properties: { child: { $dynamicRef: '#node' }, n: { type: 'number' } },
    }
    expect(checkJsonSchema(node, { child: { child: { n: 'x' } } })).toMatchObject([
      { path: ['child', 'child', 'n'] },
    ])
    const twice = { $dynamicRef: '#node', $defs: { a: { $dynamicAnchor: 'node' }, b: { $anchor: 'node' } } }
    expect(() => checkJsonSchema(twice, 1)).toThrow('the anchor "node" more than once')
  })

  it('takes the keywords and the patterns of older schemas', () => {
    const older = { dependencies: { card: ['address'], gift: { required: ['text'] } } }
    expect(checkJsonSchema(older, { card: 1 })).toMatchObject([{ path: ['address'], message: 'is required' }])
    expect(checkJsonSchema(older, { gift: 1 })).toMatchObject([{ path: ['text'] }])
    expect(checkJsonSchema(older, { card: 1, address: 2 })).toEqual([])
    expect(checkJsonSchema({ pattern: '^[\\w-.]+$' }, 'a-b.c')).toEqual([])
    expect(checkJsonSchema({ pattern: '^[\\w-.]+$' }, 'a b')).toHaveLength(1)
  })

  it('tells of the alternative that came nearest', () => {
    const either = {
      anyOf: [{ type: 'string' }, { type: 'object', properties: { city: { type: 'string' } } }],
    }
    expect(checkJsonSchema(either, { city: 7 })).toEqual([
      { path: ['city'], message: 'expected string', value: 7 },
    ])
  })

  it('tells of as many problems as there are', () => {
    const list = Array.from({ length: 130_000 }, () => 1)
    const schema = { properties: { list: { items: { type: 'string' } } } }
    expect(checkJsonSchema(schema, { list })).toHaveLength(130_000)
  })
})
