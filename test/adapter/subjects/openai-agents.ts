import { Agent, OpenAIProvider, Runner, RunState, tool } from '@openai/agents'
import type { HookDispatcher } from 'hookspan'
import type { ContractOutcome, ContractRun, ContractSubject, ContractTool } from 'hookspan/adapter/contract'
import { OPENAI_AGENTS_CAPABILITIES as capabilities, observeAgents } from 'hookspan/openai-agents'
import type OpenAI from 'openai'
import { z } from 'zod'
import { contractClient, expertTools, saysOf } from './model.ts'

/** The Agents SDK with its own OpenAI provider, on our scripted endpoint. */
export const openaiAgentsSubject: ContractSubject = {
  name: 'openai-agents',
  waitsForTools: true,
  capabilities,
  // The SDK's loop reads the model's stream, whoever reads the run's.
  readsItself: true,
  refusesSameIds: true,
  async run(run) {
    const { client } = contractClient(run)
    const runner = runnerOn(client, run.dispatcher)
    const agent = agentOf(run)
    const { signal } = run
    try {
      const input =
        run.state === undefined ? run.prompt : await RunState.fromString(agent, run.state as string)
      const options = { maxTurns: 15, ...(signal && { signal }) }
      if (run.stream === undefined) return outcomeOf(await runner.run(agent, input, options))
      const streamed = await runner.run(agent, input, { ...options, stream: true })
      try {
        for await (const _event of streamed);
      } finally {
        await streamed.completed
      }
      return outcomeOf(streamed)
    } catch (error) {
      if ((error as { code?: string }).code === 'STATE_CLAIMED') throw error
      return { status: signal?.aborted ? 'interrupted' : 'error' }
    }
  },
}

function runnerOn(client: OpenAI, dispatcher: HookDispatcher): Runner {
  const modelProvider = new OpenAIProvider({ openAIClient: client as never, useResponses: false })
  return observeAgents(new Runner({ modelProvider, traceIncludeSensitiveData: true }), { dispatcher })
}

function agentOf(run: ContractRun): Agent {
  const { agentName, tools, subAgent, stream } = run
  const sub =
    subAgent && new Agent({ name: subAgent.name, model: subAgent.name, tools: expertTools(run).map(toolOf) })
  const asTool = sub?.asTool({
    toolName: sub.name,
    runOptions: { maxTurns: 15 },
    ...(stream && { onStream: () => {} }),
    toolDescription: saysOf(sub.name),
    parameters: z.object({ instruction: z.string() }),
    inputBuilder: ({ params }) => (params as { instruction: string }).instruction,
  })
  return new Agent({
    name: agentName,
    model: 'contract',
    tools: [...tools.map(toolOf), ...(asTool ? [asTool] : [])],
  })
}

function toolOf({ name, description, parameters, execute }: ContractTool) {
  return tool({
    name,
    description,
    parameters: parameters as never,
    strict: true,
    execute: (args, _context, details) =>
      execute(args as { q: string }, details?.signal ? { signal: details.signal } : {}),
    errorFunction: (_context, error) => String(error),
  })
}

interface Ended {
  readonly interruptions: readonly unknown[]
  readonly finalOutput?: unknown
  readonly state: { toString(): string }
}

function outcomeOf({ interruptions, finalOutput, state }: Ended): ContractOutcome {
  if (interruptions.length > 0) return { status: 'waiting', state: state.toString() }
  return { status: 'done', content: String(finalOutput) }
}
