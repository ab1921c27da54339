import type { CallSite, OperationCore } from '../run/operation-core.ts'
import type { WaitingCall } from '../run/parked.ts'
import { AgentCall } from './call-agent.ts'
import { StepRun } from './step.ts'
import { ToolCallBracket } from './tool-call-bracket.ts'

/**
 * The run ends while calls of it wait for a human, in this process or since it was parked, or were at work when their process died:
 * nobody will take them up. They are opened again, to end with what is open.
 */
export function openWaiting(core: OperationCore, site: CallSite): void {
  const within = inSuspended(core, site)
  for (const call of core.carried.takeResumable()) open(core, within, call)
  const waiting = core.carried.takeWaiting()
  if (waiting.length > 0) core.parks = (core.parks ?? 0) + 1
  for (const call of waiting) open(core, within, call)
}

/** A step whose process died has a span that nobody has ended: it is opened again, too. */
function inSuspended(core: OperationCore, site: CallSite): CallSite {
  const suspended = core.phase.suspendedStep
  if (suspended === undefined) return site
  if (suspended.startedAt !== undefined) return new StepRun(core, site, {}, core.phase.takeSuspended()).state
  return { traced: site.traced, stepIndex: suspended.stepIndex, nextCallIndex: () => site.nextCallIndex() }
}

function open(core: OperationCore, site: CallSite, waited: WaitingCall): void {
  const { apiName, kind, request } = waited
  if (kind === 'agent') {
    const { agent = { agentId: apiName, agentName: apiName, instruction: '' } } = waited
    new AgentCall(core, site, agent, waited)
    return
  }
  const { toolCallId, source = 'local', identifier = request?.identifier ?? 'local' } = waited
  new ToolCallBracket(core, site, { toolCallId, apiName, identifier, source, args: request?.args }, waited)
}
