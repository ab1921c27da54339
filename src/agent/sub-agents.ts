import { AgentCall } from '../dispatcher/calls/call-agent.ts'
import { coreOf } from '../dispatcher/calls/call-maker.ts'
import { answerIn } from '../dispatcher/calls/called-agent.ts'
import { CallRefused, RunSuspended } from '../dispatcher/calls/suspended.ts'
import type { Operation, ParentOperation, WaitingCall } from '../dispatcher/index.ts'
import { currentCalls } from '../dispatcher/index.ts'
import { type ChainResult, isRefusal } from '../gates/chain.ts'
import { errorMessage, HookspanError } from '../internal/errors.ts'
import type { SavedRun } from './run-state.ts'
import type { Agent, AgentRun, AgentTool, ToolContext } from './types.ts'

/** How deep agents may call agents, so that one that calls itself comes to an end. */
const MAX_DEPTH = 16

const PARAMETERS = {
  type: 'object',
  properties: { instruction: { type: 'string', description: 'What the agent is asked to do, whole.' } },
  required: ['instruction'],
  additionalProperties: false,
}

export type RunChild = (
  agent: Agent,
  instruction: string,
  parent: ParentOperation,
  call: Pick<ToolContext, 'toolCallId' | 'idempotencyKey'>,
) => Promise<AgentRun>

/** A sub-agent, as a tool: gates, approvals and mocks of tools hold for it, too. */
export function subAgentTool(agent: Agent, runChild: RunChild): AgentTool {
  const { name, description } = agent
  return {
    name,
    description: description ?? `Hands a task to the agent "${name}".`,
    parameters: PARAMETERS,
    source: 'agent',
    // Its own calls are each kept from being made twice.
    idempotent: true,
    execute: async ({ instruction }, context) => {
      if (typeof instruction !== 'string') {
        throw new Error(`Agent "${name}" needs an \`instruction\`: a text that says what it is to do.`)
      }
      // The place in the operation is this tool's call, so that the child's run becomes its child in the trace.
      const calls = currentCalls()
      if (calls === undefined) throw new Error(`The run ended before agent "${name}" was called.`)
      let run: AgentRun | undefined
      const answer = await calls
        .callAgent({ agentName: name, instruction }, async (parent, called) => {
          if (parent.agentPath.length >= MAX_DEPTH) {
            throw new Error(`Agents call agents ${MAX_DEPTH} deep: ${parent.agentPath.join(' > ')}.`)
          }
          run = await runChild(agent, called.instruction, parent, context)
          return run
        })
        .catch((error: unknown) => {
          throw run === undefined ? asRefusal(error) : error
        })
      if (run === undefined) return answerIn(answer)
      if (run.status === 'waiting_for_human') throw new RunSuspended(`Agent "${name}" waits for a human.`)
      if (run.reason === 'done') return run.content
      throw new Error(unfinished(name, run))
    },
  }
}

/**
 * Runs of sub-agents that were at work, or waited, when their process was gone, and that the run ends without: `run` ends each, in its
 * call, which ends with this run.
 */
export async function endLeft(
  op: Operation,
  calls: readonly WaitingCall[],
  left: Iterable<readonly [child: SavedRun, key: string]>,
  run: (child: SavedRun, key: string, parent: ParentOperation) => Promise<void>,
): Promise<void> {
  const core = coreOf(op)
  const open = calls.filter(({ kind }) => kind === 'agent').map(({ apiName }) => apiName)
  for (const [child, key] of left) {
    const index = open.indexOf(child.agentName)
    // An abort had ended its call before.
    if (index === -1) {
      await run(child, key, op.asParent())
      continue
    }
    open.splice(index, 1)
    // Also where nothing else is to begin in it.
    const site = { traced: core.traced, stepIndex: undefined, nextCallIndex: () => 0 }
    const call = new AgentCall(core, site, { agentName: child.agentName, instruction: '' })
    const decided = await call.decided.catch(() => undefined)
    if (decided?.state === 'run') await run(child, key, decided.parent)
  }
}

/** A gate, or a human, that refused the call of the agent has refused this tool's call. */
function asRefusal(error: unknown): unknown {
  if (!(error instanceof HookspanError) || error.code !== 'CALL_DENIED') return error
  const refusal = error.cause as ChainResult | undefined
  return isRefusal(refusal) ? new CallRefused(refusal) : error
}

function unfinished(name: string, { reason, error, content, denial }: AgentRun): string {
  const cause = error === undefined ? denial?.reason : errorMessage(error)
  const why = cause === undefined ? '' : `: ${cause}`
  const last = content === '' ? '' : ` It said last: ${content}`
  return `Agent "${name}" did not finish (${reason})${why}.${last}`
}
