import { isRecord } from '../internal/objects.ts'

/** A JSON Schema or a Standard Schema, out of what the AI SDK and Mastra take as a schema. */
export function schemaOf(schema: unknown): unknown {
  if ((typeof schema !== 'object' && typeof schema !== 'function') || schema === null) return undefined
  if ('~standard' in schema) return schema
  const { jsonSchema } = schema as { jsonSchema?: unknown }
  return isRecord(jsonSchema) && typeof jsonSchema.then !== 'function' ? jsonSchema : undefined
}
