import type { TokenUsage } from '../../hooks/index.ts'

export const NO_USAGE: TokenUsage = { inputTokens: 0, outputTokens: 0 }

/** The sum; optional parts are present when either side has them. */
export function addUsage(a: TokenUsage, b: TokenUsage | undefined): TokenUsage {
  if (b === undefined) return a
  const cached = addOptional(a.cachedInputTokens, b.cachedInputTokens)
  const written = addOptional(a.cacheCreationInputTokens, b.cacheCreationInputTokens)
  const reasoning = addOptional(a.reasoningTokens, b.reasoningTokens)
  const sum: { -readonly [K in keyof TokenUsage]: TokenUsage[K] } = {
    inputTokens: a.inputTokens + b.inputTokens,
    outputTokens: a.outputTokens + b.outputTokens,
  }
  if (cached !== undefined) sum.cachedInputTokens = cached
  if (written !== undefined) sum.cacheCreationInputTokens = written
  if (reasoning !== undefined) sum.reasoningTokens = reasoning
  return sum
}

/** A sum in which an absent part is unknown, not zero. */
export function addOptional(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined ? b : b === undefined ? a : a + b
}
