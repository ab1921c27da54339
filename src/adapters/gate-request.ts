import type { LlmRequest } from '../hooks/index.ts'
import { HookspanError } from '../internal/errors.ts'
import { asObject, type Loose } from '../wire/reading.ts'
import { sameJson } from '../wire/rewrite.ts'

/** What becomes of a field that gates set. */
export interface Sending {
  /** Whom it would be set for, as `the AI SDK`. */
  readonly by: string
  /** Whether the field is sent as it is told. */
  isSent(field: string): boolean
  /** What to do instead: a sentence or two. */
  mend(field: string): string
}

/**
 * Refuses what gates set and nobody would send: the call would be made as before, and told as changed.
 *
 * @throws HookspanError `NOT_CAPABLE`, with the field and what to do instead.
 */
export function assertSent(asked: Loose, effective: Loose, { by, isSent, mend }: Sending): void {
  if (effective === asked) return
  for (const field of new Set([...Object.keys(asked), ...Object.keys(effective)])) {
    if (isSent(field) || sameJson(asked[field], effective[field])) continue
    throw new HookspanError(
      'NOT_CAPABLE',
      `A beforeLlmCall gate set \`${field}\`, which ${by} does not ask a model. ${mend(field)}`,
    )
  }
}

/** What stands in the config of Google's requests by another name. */
const GOOGLE_NAMES: Readonly<Record<string, string>> = {
  max_tokens: 'maxOutputTokens',
  maxTokens: 'maxOutputTokens',
  max_completion_tokens: 'maxOutputTokens',
  stop: 'stopSequences',
  system: 'systemInstruction',
  instructions: 'systemInstruction',
  response_format: 'responseSchema',
  tool_choice: 'toolConfig',
  toolChoice: 'toolConfig',
}

const GOOGLE_FIELDS = ['contents', 'config']

/**
 * {@link assertSent} of `{ contents, config }`: of the config Google's client sends what it knows by name.
 *
 * @param kept what of the config is the caller's alone.
 */
export function assertSentToGoogle(
  asked: LlmRequest,
  effective: LlmRequest,
  kept: ReadonlySet<string>,
): void {
  if (effective === asked) return
  assertSent(asked, effective, {
    by: "Google's client",
    isSent: (field) => GOOGLE_FIELDS.includes(field),
    mend: googleMend,
  })
  const before = asObject(asked.config) ?? {}
  assertSent(before, asObject(effective.config) ?? {}, {
    by: "Google's client",
    isSent: (field) =>
      field in before || !(kept.has(field) || field.includes('_') || Object.hasOwn(GOOGLE_NAMES, field)),
    mend: (field) =>
      kept.has(field) ? 'It is set by who makes the call.' : `In \`config\` say \`${googleName(field)}\`.`,
  })
}

function googleMend(field: string): string {
  if (field === 'model') return 'It is chosen by who makes the call.'
  if (field === 'stream') return 'It is decided by who makes the call.'
  if (field === 'messages' || field === 'input' || field === 'prompt') return 'Say `contents`.'
  return `Set \`config: { ...config, ${googleName(field)} }\`.`
}

function googleName(field: string): string {
  if (Object.hasOwn(GOOGLE_NAMES, field)) return GOOGLE_NAMES[field] as string
  return field.replace(/_+(\w)/g, (_, letter: string) => letter.toUpperCase())
}
