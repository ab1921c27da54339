/** What Google's two APIs have in common. */
import type { TokenUsage } from '../hooks/values.ts'
import type { WireError } from './format.ts'
import { asCount, asObject, type Loose, readUsage, type UsageNames, writeUsage } from './reading.ts'

/** Whose the tools are that Google runs. */
export const OWNER = 'google'

/** Google counts thoughts, and what tools gave the model to read (`fromTools`), apart; the conventions count them in. */
export function countedUsage(value: unknown, names: UsageNames, fromTools: string): TokenUsage | undefined {
  const usage = readUsage(value, names)
  if (usage === undefined) return undefined
  return {
    ...usage,
    inputTokens: usage.inputTokens + Math.max(asCount(asObject(value)?.[fromTools]) ?? 0, 0),
    outputTokens: usage.outputTokens + (usage.reasoningTokens ?? 0),
  }
}

/** The other way round; `total` is the name of the sum. */
export function countsOf(usage: TokenUsage, names: UsageNames, total: string): Loose {
  const { inputTokens, outputTokens, reasoningTokens = 0 } = usage
  const counts = writeUsage({ ...usage, outputTokens: outputTokens - reasoningTokens }, names)
  return { ...counts, [total]: inputTokens + outputTokens }
}

const STATUSES: Readonly<Record<number, string>> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  429: 'RESOURCE_EXHAUSTED',
}

export function writeError({ status, message }: WireError): Loose {
  return { error: { code: status, message, status: STATUSES[status] ?? 'INTERNAL' } }
}
