import type { OperationInit } from '../dispatcher/index.ts'
import { toolDefinitions } from '../wire/request.ts'
import type { Agent } from './types.ts'

type RunTool = NonNullable<OperationInit['tools']>[number]

/** The tools that may be called in a run of the agent: its own, those of its sub-agents, and those of its requests. */
export function runTools(agent: Agent, seen: Set<Agent> = new Set()): RunTool[] {
  if (seen.has(agent)) return []
  seen.add(agent)
  const { tools = [], subAgents = [], request } = agent
  return [
    ...tools.map(({ name, identifier }) => ({ name, identifier })),
    ...subAgents.map(({ name }) => ({ name })),
    ...toolDefinitions(request ?? {}).map(({ name }) => ({ name: String(name) })),
    ...subAgents.flatMap((subAgent) => runTools(subAgent, seen)),
  ]
}
