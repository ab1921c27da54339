import { errorMessage, errorSentence } from '../../internal/errors.ts'
import { canonicalJson } from '../../internal/json.ts'
import { isRecord } from '../../internal/objects.ts'
import { checkSchema, formatProblems } from '../../internal/schema/check-schema.ts'

/** What the SDK takes as a schema, and a function that gives one. */
interface Schema {
  readonly '~standard'?: { validate(value: unknown): Checked | Promise<Checked> }
  validate?(value: unknown): Validated | Promise<Validated>
  /** Where it has none of these, the SDK checks nothing. */
  readonly jsonSchema?: unknown
}

interface Checked {
  readonly issues?: readonly { readonly message: string; readonly path?: readonly unknown[] }[]
}

interface Validated {
  readonly success: boolean
  readonly error?: unknown
}

/** Why a tool cannot have what a gate or a human put in the place of arguments that the SDK had checked before. */
export async function misfit(given: unknown, before: unknown, now: unknown): Promise<Error | undefined> {
  if (now === before || canonicalJson(now) === canonicalJson(before)) return undefined
  const schema = schemaOf(given)
  const problem = await problemOf(schema, now)
  // A schema that makes something else of what it takes may not take what it made, which is what was decided on.
  if (problem === undefined || (await problemOf(schema, before)) !== undefined) return undefined
  return new Error(
    `The arguments were changed, and do not fit the schema of the tool: ${errorSentence(problem)}`,
  )
}

function schemaOf(given: unknown): Schema | undefined {
  if (typeof given === 'function' && !('~standard' in given)) return given() as Schema
  return (given ?? undefined) as Schema | undefined
}

async function problemOf(schema: Schema | undefined, value: unknown): Promise<string | undefined> {
  // The schema may write into what it is given.
  const copy = structuredClone(value)
  try {
    const checked = await schema?.['~standard']?.validate(copy)
    if (checked !== undefined) return checked.issues?.map(textOf).join('; ')
    if (schema !== undefined && schema.validate === undefined) return await unlike(schema.jsonSchema, copy)
    const { success = true, error } = (await schema?.validate?.(copy)) ?? {}
    return success ? undefined : errorMessage(error)
  } catch (error) {
    return errorMessage(error)
  }
}

/** Nothing, where the schema cannot be read. */
async function unlike(jsonSchema: unknown, value: unknown): Promise<string | undefined> {
  const problems = await Promise.resolve(jsonSchema)
    .then((schema) => (isRecord(schema) ? checkSchema(schema, value) : []))
    .catch(() => [])
  return problems.length === 0 ? undefined : formatProblems(problems, 'args')
}

function textOf({ path = [], message }: NonNullable<Checked['issues']>[number]): string {
  const place = path.map((key) => String((key as { key?: unknown } | null)?.key ?? key)).join('.')
  return place === '' ? message : `${place}: ${message}`
}
