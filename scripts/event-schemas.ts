/** Writes the JSON Schema of every event into `schemas/`, out of the types. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { createGenerator } from 'ts-json-schema-generator'
import {
  type AnyHookType,
  EVENT_SCHEMA_VERSION,
  EXTENDED_HOOK_TYPES,
  HOOK_TYPES,
} from '../src/hooks/index.ts'

const root = fileURLToPath(new URL('..', import.meta.url))

export const EVENTS_FILE = `events-${EVENT_SCHEMA_VERSION}.schema.json`

/** What the types cannot say. */
const COUNT = { type: 'integer', minimum: 0 }
const NOT_NEGATIVE = { minimum: 0 }
const LIMITS: Record<string, object> = {
  sequence: COUNT,
  stepIndex: COUNT,
  callIndex: COUNT,
  steps: COUNT,
  llmCalls: COUNT,
  toolCalls: COUNT,
  messageCount: COUNT,
  messagesBefore: COUNT,
  messagesAfter: COUNT,
  tokenCount: COUNT,
  timestamp: NOT_NEGATIVE,
  costUsd: NOT_NEGATIVE,
  executionTimeMs: NOT_NEGATIVE,
  waitedMs: NOT_NEGATIVE,
  durationMs: NOT_NEGATIVE,
  timeToFirstChunkMs: NOT_NEGATIVE,
  inputTokens: COUNT,
  outputTokens: COUNT,
  cachedInputTokens: COUNT,
  cacheCreationInputTokens: COUNT,
  reasoningTokens: COUNT,
  schemaVersion: { const: EVENT_SCHEMA_VERSION, description: 'Grows with each incompatible change.' },
}

/**
 * One definition per hook type (`#/definitions/afterToolCall`), and any of them at the top. Open, because an event
 * may get new fields without becoming another version; `closed` refuses fields that the types do not have.
 */
export function eventSchema(options: { closed?: boolean } = {}): object {
  const { definitions = {} } = createGenerator({
    path: `${root}src/hooks/events.ts`,
    tsconfig: `${root}tsconfig.json`,
    type: 'HookEventMap',
    skipTypeCheck: true,
    functions: 'hide',
    additionalProperties: options.closed !== true,
  }).createSchema('HookEventMap') as { definitions?: Record<string, { properties?: Record<string, object> }> }
  const { HookEventMap, ...types } = definitions
  const byHookType = HookEventMap?.properties as Record<AnyHookType, { $ref: string }>
  const hookTypes = [...HOOK_TYPES, ...EXTENDED_HOOK_TYPES]
  return limited({
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'An event of a hookspan operation',
    version: EVENT_SCHEMA_VERSION,
    oneOf: hookTypes.map((type) => ({ $ref: `#/definitions/${type}` })),
    definitions: {
      ...Object.fromEntries(hookTypes.map((type) => [type, { $ref: byHookType[type].$ref }])),
      ...types,
    },
  }) as object
}

function limited(node: unknown, key = ''): unknown {
  if (Array.isArray(node)) return node.map((item) => limited(item))
  if (typeof node !== 'object' || node === null) return node
  const entries = Object.entries(node).map(([name, item]) => [name, limited(item, name)])
  return {
    ...Object.fromEntries(entries),
    ...('type' in node && typeof node.type === 'string' ? LIMITS[key] : {}),
  }
}

export function schemaText(schema: object): string {
  return `${JSON.stringify(schema, null, 2)}\n`
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  mkdirSync(`${root}schemas`, { recursive: true })
  writeFileSync(`${root}schemas/${EVENTS_FILE}`, schemaText(eventSchema()))
}
