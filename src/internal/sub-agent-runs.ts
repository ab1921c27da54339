/** Results of runs that have had sub-agents, of which they tell nothing. */
const runs = new WeakSet<object>()

export function noteSubAgents<T extends object>(run: T): T {
  runs.add(run)
  return run
}

export function hadSubAgents(run: object): boolean {
  return runs.has(run)
}
