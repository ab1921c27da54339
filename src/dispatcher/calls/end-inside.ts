import type { OperationCore } from '../run/operation-core.ts'
import type { ParentOperation } from '../run/operation-init.ts'
import { parentOf } from '../run/parent.ts'
import type { ParkedOperation } from '../run/parked.ts'
import { AgentCall } from './call-agent.ts'

/** Ends a run that a tool had begun when its process died, with the call that it is the run of. `end`: given what the run is below of. */
export function endInside(
  core: OperationCore,
  { operationId, parentOperationId, parentCallKey }: ParkedOperation,
  end: (parent: { parent?: ParentOperation }) => void,
): void {
  if (parentOperationId !== core.info.operationId) return end({})
  const waited = core.carried.takeAgent(parentCallKey)
  if (waited === undefined) return end({ parent: parentOf(core, core.traced, () => {}) })
  const { agent = { agentId: waited.apiName, instruction: '' } } = waited
  const site = { traced: core.traced, stepIndex: undefined, nextCallIndex: () => 0 }
  const call = new AgentCall(core, site, agent, waited)
  end({ parent: parentOf(core, call.traced, () => {}, waited.callKey) })
  call.fail(new DOMException(`The process ended while agent run "${operationId}" was at work.`, 'AbortError'))
}
