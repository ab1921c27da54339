/** The result of an agent's run, which does not tell whose it is. */
export interface NamedRun {
  readonly agentName: string
  readonly run: object
}

interface Noted {
  readonly agentName: string
  /** Undefined where not all of them are known. */
  readonly below: readonly NamedRun[] | undefined
}

/** Of results of runs that have had sub-agents, of which they tell nothing. */
const noted = new WeakMap<object, Noted>()

export function noteSubAgents<T extends object>(run: T, agentName: string, below: Noted['below']): T {
  noted.set(run, { agentName, below })
  return run
}

/** The runs of a tree, its own first; undefined where one has had a sub-agent whose result nobody has. */
export function runsInTree(run: object, agentName?: string): readonly Partial<NamedRun>[] | undefined {
  const its = noted.get(run)
  if (its === undefined) return [{ run, ...(agentName !== undefined && { agentName }) }]
  const below = its.below?.map((other) => runsInTree(other.run, other.agentName))
  if (below === undefined || below.includes(undefined)) return undefined
  return [{ run, agentName: its.agentName }, ...below.flatMap((runs) => runs ?? [])]
}
