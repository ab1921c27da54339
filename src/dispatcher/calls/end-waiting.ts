import type { CallSite, OperationCore } from '../run/operation-core.ts'
import type { WaitingCall } from '../run/parked.ts'
import { AgentCall } from './call-agent.ts'
import { ToolCallBracket } from './tool-call-bracket.ts'

/**
 * The run ends while calls of it wait for a human, in this process or since it was parked: nobody will take them up.
 * They are opened again, to end with what is open.
 */
export function openWaiting(core: OperationCore, { traced, nextCallIndex }: CallSite): void {
  const stepIndex = core.phase.suspendedStep?.stepIndex
  for (const call of core.takeUnfinished()) open(core, { traced, stepIndex, nextCallIndex }, call)
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
