import { Agent, type AgentConfiguration, type RunConfig, Runner, tool } from '@openai/agents'
import { assistantMessage, functionCall, ScriptedModel } from '@openai/agents/testing'
import type { HookDispatcher } from 'hookspan'
import { observeAgents, unobserveAgents } from 'hookspan/openai-agents'
import { z } from 'zod'

/** A model of the SDK's own that says these in turn: a text, or calls of tools. */
export function scripted(...turns: (string | [name: string, args: object, id?: string][])[]) {
  let calls = 0
  return new ScriptedModel(
    turns.map((turn) =>
      typeof turn === 'string'
        ? [assistantMessage(turn)]
        : turn.map(([name, args, id]) =>
            functionCall(name, args as never, { callId: id ?? `call_${++calls}` }),
          ),
    ),
  )
}

/** A tool that notes what its body was run with. */
export function looking(bodies: string[], more: object = {}) {
  return tool({
    name: 'look',
    description: 'Looks something up.',
    parameters: z.object({ q: z.string() }),
    execute: async ({ q }) => {
      bodies.push(q)
      return `found ${q}`
    },
    ...more,
  })
}

export const agentOf = (config: Partial<AgentConfiguration> & Pick<AgentConfiguration, 'model'>) =>
  new Agent({ name: 'support', ...config })

export const bareRunner = (more: Partial<RunConfig> = {}) => new Runner({ tracingDisabled: true, ...more })

const attached: Runner[] = []

export function observed(runner: Runner, options: { dispatcher: HookDispatcher }): Runner {
  attached.push(runner)
  return observeAgents(runner, options)
}

/** After each test: what is put into the SDK's objects is there as long as anybody observes. */
export function letAllGo(): void {
  for (const runner of attached.splice(0)) unobserveAgents(runner)
}
