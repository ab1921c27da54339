import type { TokenUsage } from '../../hooks/index.ts'
import { readFields } from '../../internal/objects.ts'

const PARTS = [
  'cachedInputTokens',
  'cacheCreationInputTokens',
  'cacheCreation1hInputTokens',
  'reasoningTokens',
] as const
const COUNTS = ['inputTokens', 'outputTokens', ...PARTS] as const

type Counts = Partial<Record<(typeof COUNTS)[number], unknown>>

export const NO_USAGE: TokenUsage = { inputTokens: 0, outputTokens: 0 }

/** What is counted or paid: in a sum, and in the budget held against it, nothing else may be. */
export function isAmount(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0
}

/**
 * What a reply says it used, as far as it can be counted; undefined where it is not known how much that was. One of the two
 * that is left out is none.
 */
export function countable(usage: unknown): TokenUsage | undefined {
  const parts = countsIn(usage)
  const { inputTokens, outputTokens } = parts
  if ((inputTokens ?? outputTokens ?? undefined) === undefined) return undefined
  const [input, output] = [inputTokens ?? 0, outputTokens ?? 0]
  if (!isAmount(input) || !isAmount(output)) return undefined
  const counted: { -readonly [K in keyof TokenUsage]: TokenUsage[K] } = {
    inputTokens: input,
    outputTokens: output,
  }
  for (const name of PARTS) {
    const part = parts[name]
    if (isAmount(part)) counted[name] = part
  }
  return counted
}

/** Of an object one of whose fields cannot be read, the others. */
function countsIn(usage: unknown): Counts {
  if (typeof usage !== 'object' || usage === null) return {}
  try {
    const { inputTokens, outputTokens, reasoningTokens } = usage as Counts
    const { cachedInputTokens, cacheCreationInputTokens, cacheCreation1hInputTokens } = usage as Counts
    return {
      inputTokens,
      outputTokens,
      cachedInputTokens,
      cacheCreationInputTokens,
      cacheCreation1hInputTokens,
      reasoningTokens,
    }
  } catch {
    return readFields(usage, COUNTS)
  }
}

/** The sum; optional parts are present when either side has them. */
export function addUsage(a: TokenUsage, b: TokenUsage | undefined): TokenUsage {
  if (b === undefined) return a
  const cached = addOptional(a.cachedInputTokens, b.cachedInputTokens)
  const written = addOptional(a.cacheCreationInputTokens, b.cacheCreationInputTokens)
  const longer = addOptional(a.cacheCreation1hInputTokens, b.cacheCreation1hInputTokens)
  const reasoning = addOptional(a.reasoningTokens, b.reasoningTokens)
  const sum: { -readonly [K in keyof TokenUsage]: TokenUsage[K] } = {
    inputTokens: a.inputTokens + b.inputTokens,
    outputTokens: a.outputTokens + b.outputTokens,
  }
  if (cached !== undefined) sum.cachedInputTokens = cached
  if (written !== undefined) sum.cacheCreationInputTokens = written
  if (longer !== undefined) sum.cacheCreation1hInputTokens = longer
  if (reasoning !== undefined) sum.reasoningTokens = reasoning
  return sum
}

/** A sum in which an absent part is unknown, not zero. */
export function addOptional(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined ? b : b === undefined ? a : a + b
}
