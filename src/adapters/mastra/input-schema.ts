import { isRecord } from '../../internal/objects.ts'

/** As Mastra's loop has it: what the model is told, and what the tool's author wrote, as a function. */
interface LoopSchema {
  readonly jsonSchema?: unknown
  validate(value: unknown): Validated | Promise<Validated>
}

interface Validated {
  readonly success: boolean
  readonly error?: { readonly message?: string }
}

/**
 * A Standard Schema of what a tool takes. What the model is told may want more of it than the tool does: models of
 * OpenAI are to give each argument, as null where it is left out.
 */
export function takenBy(schema: unknown): unknown {
  if (!isRecord(schema) || '~standard' in schema || !isLoopSchema(schema)) return schema
  // A copy, because the schema may take nulls out of what it is given.
  const validate = (value: unknown) =>
    next(schema.validate(structuredClone(value)), ({ success, error }) => {
      if (success) return { value }
      // Mastra tries again without nulls.
      return next(schema.validate(withoutNulls(value)), (second) => {
        if (second.success) return { value }
        return { issues: [{ message: error?.message ?? 'is not taken' }] }
      })
    })
  // Mastra says what is wrong, and not where.
  return { '~standard': { version: 1, vendor: 'mastra', validate, placing: schema.jsonSchema } }
}

/** At once where it can be: calls are noted in the order in which they are decided. */
function next<T, R>(given: T | Promise<T>, then: (value: T) => R | Promise<R>): R | Promise<R> {
  return given instanceof Promise ? given.then(then) : then(given)
}

function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls)
  if (!isRecord(value)) return value
  const kept = Object.entries(value).filter(([, each]) => each !== null)
  return Object.fromEntries(kept.map(([key, each]) => [key, withoutNulls(each)]))
}

function isLoopSchema(schema: object): schema is LoopSchema {
  return 'validate' in schema && typeof schema.validate === 'function'
}
