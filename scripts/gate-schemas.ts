/** Writes the JSON Schemas of what gates are asked and answer into `schemas/`, out of the types. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { createGenerator } from 'ts-json-schema-generator'
import { DECISION_SCHEMA_VERSION } from '../src/gates/index.ts'

const root = fileURLToPath(new URL('..', import.meta.url))

/** What the types cannot say. */
const LIMITS: Record<string, object> = { timeoutMs: { minimum: 1 }, allow: { minItems: 1 } }

export function gateSchemas(): Record<string, object> {
  const make = (path: string, type: string, title: string) => {
    const generator = createGenerator({
      path: `${root}${path}`,
      tsconfig: `${root}tsconfig.json`,
      type,
      skipTypeCheck: true,
      additionalProperties: false,
      topRef: false,
    })
    const schema = generator.createSchema(type) as Record<string, unknown>
    return limited({ ...schema, title, version: DECISION_SCHEMA_VERSION }) as object
  }
  return {
    'gate-decision.schema.json': make('src/gates/decision.ts', 'Decision', 'What a hookspan gate answers'),
    'gate-invocation.schema.json': make(
      'src/policies/invocation.ts',
      'GateInvocation',
      'What a hookspan gate is asked',
    ),
  }
}

function limited(node: unknown, key = ''): unknown {
  if (Array.isArray(node)) return node.map((item) => limited(item))
  if (typeof node !== 'object' || node === null) return node
  const entries = Object.entries(node).map(([name, item]) => [name, limited(item, name)])
  return { ...Object.fromEntries(entries), ...('type' in node ? LIMITS[key] : {}) }
}

export function schemaText(schema: object): string {
  return `${JSON.stringify(schema, null, 2)}\n`
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  mkdirSync(`${root}schemas`, { recursive: true })
  for (const [name, schema] of Object.entries(gateSchemas()))
    writeFileSync(`${root}schemas/${name}`, schemaText(schema))
}
