import { type AdapterCapabilities, CAPABILITIES } from 'hookspan/adapter'
import type { ContractOutcome, ContractRun, ContractSubject } from 'hookspan/adapter/contract'
import { type Agent, type AgentRun, type AgentTool, execAgent, resumeAgent } from 'hookspan/agent'
import { contractClient, expertTools } from './model.ts'

export const ALL_CAPABILITIES = Object.fromEntries(
  Object.keys(CAPABILITIES).map((name) => [name, true]),
) as AdapterCapabilities

/** The reference agent, held to what it asks of adapters. */
export const execAgentSubject: ContractSubject = {
  name: 'execAgent',
  capabilities: ALL_CAPABILITIES,
  readsItself: true,
  async run(run) {
    const { dispatcher, prompt, signal, state } = run
    const { client } = contractClient(run)
    const shared = { agent: agentOf(run), client, dispatcher, priceOf: () => 0, ...(signal && { signal }) }
    if (state !== undefined) return outcomeOf(await resumeAgent({ ...shared, state: state as never }))
    return outcomeOf(await execAgent({ ...shared, prompt }))
  },
}

function agentOf(run: ContractRun): Agent {
  const { agentName, tools, subAgent, stream } = run
  const own = { tools: expertTools(run) as unknown as readonly AgentTool[], ...(stream && { stream: true }) }
  return {
    name: agentName,
    model: 'contract',
    tools: tools as unknown as readonly AgentTool[],
    ...(subAgent && { subAgents: [{ name: subAgent.name, model: subAgent.name, ...own }] }),
    ...(stream && { stream: true }),
  }
}

function outcomeOf({ status, content, state }: AgentRun): ContractOutcome {
  return { status: status === 'waiting_for_human' ? 'waiting' : status, content, ...(state && { state }) }
}
