import type { SeenTools } from './seen-tools.ts'

/** How many agents, and patterns of each, are remembered, so that it stays bounded. */
const MAX = 1_000

/** The patterns that a tool fitted: in a later run, which may not call the sub-agent that has it, they are not misspelt. */
export class FittedPatterns {
  readonly #byAgent = new Map<string | undefined, Set<string>>()

  /**
   * Whether it fits, or did before.
   *
   * @param agent whose guard it is; undefined where it is one for all.
   */
  has(agent: string | undefined, pattern: string | RegExp, seen: SeenTools): boolean {
    const known = this.#byAgent.get(agent)
    const key = String(pattern)
    if (known?.has(key)) return true
    if (!seen.has(pattern)) return false
    if (known === undefined) {
      if (this.#byAgent.size < MAX) this.#byAgent.set(agent, new Set([key]))
    } else if (known.size < MAX) known.add(key)
    return true
  }
}
