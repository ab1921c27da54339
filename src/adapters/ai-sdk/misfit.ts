import { misfitOf, problemBySchema } from '../../adapter/changed-arguments.ts'
import { errorMessage, errorSentence } from '../../internal/errors.ts'
import { isRecord } from '../../internal/objects.ts'

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
  const schema = schemaOf(given)
  const problemOf = async (value: unknown): Promise<string | undefined> => {
    const { '~standard': standard, validate } = schema ?? {}
    if (standard !== undefined || validate !== undefined) return problemBySdk(schema as Schema, value)
    const jsonSchema = await Promise.resolve(schema?.jsonSchema).catch(() => undefined)
    return isRecord(jsonSchema) ? problemBySchema(jsonSchema, value) : undefined
  }
  const wrong = await misfitOf(problemOf, before, now)
  return wrong === undefined ? undefined : new Error(errorSentence(wrong))
}

function schemaOf(given: unknown): Schema | undefined {
  if (typeof given === 'function' && !('~standard' in given)) return given() as Schema
  return (given ?? undefined) as Schema | undefined
}

async function problemBySdk(schema: Schema, value: unknown): Promise<string | undefined> {
  try {
    const checked = await schema['~standard']?.validate(value)
    if (checked !== undefined) return checked.issues?.map(textOf).join('; ')
    const { success = true, error } = (await schema.validate?.(value)) ?? {}
    return success ? undefined : errorMessage(error)
  } catch (error) {
    return errorMessage(error)
  }
}

function textOf({ path = [], message }: NonNullable<Checked['issues']>[number]): string {
  const place = path.map((key) => String((key as { key?: unknown } | null)?.key ?? key)).join('.')
  return place === '' ? message : `${place}: ${message}`
}
