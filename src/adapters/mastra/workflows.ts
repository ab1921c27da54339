import { isRecord } from '../../internal/objects.ts'
import { isLocked } from '../replace.ts'
import { currentCalls } from '../safe/calls.ts'
import { unseenTool, warnOfUnseen } from '../unseen.ts'
import { warnOnce } from '../warn-once.ts'
import { observeExecute } from './inner-calls.ts'
import { patches } from './patches.ts'
import type { MastraWorkflow, MastraWorkflowTool } from './sdk.ts'
import { type Around, type Step, stepsOf } from './steps.ts'

/**
 * Makes the tools that are steps of a workflow calls of the run in which the workflow runs. They are reached in the tools
 * themselves: a workflow keeps no other place. One that is called by its agent is a call already.
 *
 * @throws HookspanError `NOT_CAPABLE` where a guard is meant for a tool that nothing leads to.
 */
export function observeWorkflows(workflows: Readonly<Record<string, MastraWorkflow>>): void {
  for (const workflow of Object.values(workflows ?? {})) {
    for (const [step, around] of stepsOf(workflow)) observeStep(step, around)
  }
}

function observeStep(entry: Step, { isApart, mastra }: Around): void {
  const { toolId, component, agentId } = entry
  const tool = entry.tool ?? entry.__toolRef ?? toolNamed(toolId, mastra)
  if (isRecord(tool) && !isApart) observeTool(tool as unknown as MastraWorkflowTool)
  else if (isRecord(tool)) leaveUnseen(String(tool.id))
  else if (typeof toolId === 'string') leaveUnseen(toolId)
  // A copy of a step does not say which tool is its own, and an agent elsewhere has tools that nobody knows.
  else if (component === 'TOOL' || (isApart && (component === 'AGENT' || agentId !== undefined)))
    leaveUnseen('*')
}

/** As Mastra finds it when it runs the step. */
function toolNamed(id: unknown, mastra: Around['mastra']): unknown {
  try {
    return typeof id === 'string' ? mastra?.getTool?.(id) : undefined
  } catch {
    return undefined
  }
}

function leaveUnseen(name: string): void {
  currentCalls()?.assertInReach([unseenTool(name, 'local')])
  const what = name === '*' ? 'tools' : `the tool "${name}"`
  warnOnce(`hookspan: a workflow runs ${what} out of reach: the calls make no hooks and no spans.`)
}

function observeTool(tool: MastraWorkflowTool): void {
  if (typeof tool.execute !== 'function' || patches.has(tool)) return
  if (!isLocked(tool, 'execute')) return observeExecute(tool)
  currentCalls()?.assertInReach([unseenTool(tool.id, 'local')])
  warnOfUnseen(`the tool "${tool.id}" of a workflow`)
}
