import { isRecord } from '../../internal/objects.ts'
import { observeBrought } from './brought-tools.ts'
import type { MastraRun } from './mastra-run.ts'
import { observedModel, resolved } from './models.ts'
import type { MastraAgent } from './sdk.ts'

/** What prepares a step may choose another model for it, and other tools. */
type PrepareStep = (step: Step) => unknown

interface Step {
  readonly model?: unknown
  readonly tools?: unknown
  readonly messageList?: unknown
  readonly requestContext?: unknown
}

/**
 * The user's `prepareStep`, or none, after which the step's model and tools are the run's: the SDK asks it last, behind the
 * input processors.
 */
export function observedSteps(agent: MastraAgent, run: MastraRun, own?: PrepareStep): PrepareStep {
  return async (step) => {
    const prepared = await own?.(step)
    const said: Partial<Step> = isRecord(prepared) ? prepared : {}
    const model = await modelOf(agent, run, said.model || step.model, step.requestContext)
    const tools = observeBrought(run, said.tools ?? step.tools)
    if (model === undefined && tools === undefined) return prepared
    const changed = { ...(model !== undefined && { model }), ...(tools && { tools }) }
    if (Array.isArray(prepared)) return { messages: prepared, ...changed }
    if (prepared === step.messageList) return { messageList: prepared, ...changed }
    return { ...said, ...changed }
  }
}

/** Undefined where it is the run's already. */
async function modelOf(agent: MastraAgent, run: MastraRun, chosen: unknown, requestContext: unknown) {
  if (!chosen || (isRecord(chosen) && run.models.has(chosen))) return undefined
  return observedModel(agent, run, await resolved(chosen, { requestContext }), { requestContext })
}
