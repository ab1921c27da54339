/** What SDKs throw through the code of a tool, and is no failure of it. */

/** By which LangGraph stops or leaves a graph. */
export function isBubbleUp(error: unknown): boolean {
  return (error as { is_bubble_up?: unknown } | null | undefined)?.is_bubble_up === true
}

/** Of these, what waits for an answer. */
export function isGraphInterrupt(error: unknown): boolean {
  return isBubbleUp(error) && /Interrupt/.test(String((error as Error).name))
}

/** By which Strands stops an agent until somebody has answered. */
export function isStrandsInterrupt(error: unknown): boolean {
  return (error as { name?: unknown } | null | undefined)?.name === 'InterruptError'
}
