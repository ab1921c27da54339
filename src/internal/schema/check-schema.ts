import { describeValue } from '../errors.ts'
import { checkJsonSchema } from './json-schema.ts'
import type { SchemaProblem } from './problem.ts'

/** https://standardschema.dev, as far as it is needed here. */
interface StandardSchema {
  readonly '~standard': {
    validate(value: unknown): StandardResult | Promise<StandardResult>
    /** Of ours alone: says where a value does not fit, for a `validate` that says no more than that it does not. */
    readonly placing?: unknown
  }
}

interface StandardResult {
  readonly issues?: readonly {
    readonly message: string
    readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[]
  }[]
}

/**
 * Where `value` does not fit; empty when it does. Takes a JSON Schema or a Standard Schema (zod, valibot, ArkType).
 * A promise only when the Standard Schema validates asynchronously.
 *
 * @throws TypeError when the definition is neither.
 */
export function checkSchema(definition: unknown, value: unknown): SchemaProblem[] | Promise<SchemaProblem[]> {
  if (isStandardSchema(definition)) {
    const { placing } = definition['~standard']
    const result = definition['~standard'].validate(value)
    const read = (given: StandardResult) => placed(readIssues(given, value), placing, value)
    return result instanceof Promise ? result.then(read) : read(result)
  }
  return checkJsonSchema(definition, value)
}

function placed(problems: SchemaProblem[], placing: unknown, value: unknown): SchemaProblem[] {
  if (problems.length === 0 || placing === undefined) return problems
  try {
    const found = checkJsonSchema(placing, value).filter((problem) => problem.value !== undefined)
    return found.length > 0 ? found : problems
  } catch {
    return problems
  }
}

export function isStandardSchema(value: unknown): value is StandardSchema {
  const type = typeof value
  if ((type !== 'object' && type !== 'function') || value === null) return false
  const standard = (value as Partial<StandardSchema>)['~standard']
  return typeof standard?.validate === 'function'
}

/**
 * Whether JSON tells what it says. `z.toJSONSchema()` gives JSON Schema with the schema that it was made of hidden in it, where JSON
 * does not look.
 */
export function hasJsonForm(schema: unknown): boolean {
  if (!isStandardSchema(schema)) return true
  const isHidden = Object.getOwnPropertyDescriptor(schema, '~standard')?.enumerable === false
  return isHidden && Object.getPrototypeOf(schema) === Object.prototype
}

function readIssues({ issues = [] }: StandardResult, value: unknown): SchemaProblem[] {
  return issues.map(({ message, path = [] }) => {
    const keys = path.map((part) => {
      const key = typeof part === 'object' ? part.key : part
      return typeof key === 'symbol' ? String(key) : key
    })
    return { path: keys, message, value: keys.reduce<unknown>(valueAt, value) }
  })
}

function valueAt(value: unknown, key: string | number): unknown {
  return typeof value === 'object' && value !== null
    ? (value as Record<string | number, unknown>)[key]
    : undefined
}

/** `args.city: expected a string, got 7`, one line per problem. */
export function formatProblems(problems: readonly SchemaProblem[], root: string): string {
  return problems
    .map(({ path, message, value }) => {
      const at = path.reduce<string>(
        (text, part) => (typeof part === 'number' ? `${text}[${part}]` : `${text}.${part}`),
        root,
      )
      return `${at}: ${message}, got ${describeValue(value)}`
    })
    .join('\n')
}
