import { isRecord } from '../../internal/objects.ts'
import { isLocked } from '../replace.ts'
import { currentCalls } from '../safe/calls.ts'
import { unseenTool, warnOfUnseen } from '../unseen.ts'
import { warnOnce } from '../warn-once.ts'
import { MastraRun } from './mastra-run.ts'
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
  const { execute } = tool
  if (typeof execute !== 'function' || patches.has(tool)) return
  if (isLocked(tool, 'execute')) {
    currentCalls()?.assertInReach([unseenTool(tool.id, 'local')])
    warnOfUnseen(`the tool "${tool.id}" of a workflow`)
    return
  }
  patches.replace(tool, 'execute', (input, context, ...more: unknown[]) => {
    const body = (args: unknown) => execute.call(tool, args, context, ...(more as []))
    const calls =
      context?.workflow === undefined || MastraRun.current === undefined ? undefined : currentCalls()
    if (calls === undefined) return body(input)
    return made(tool, calls, input, body)
  })
}

async function made(
  { id, description }: MastraWorkflowTool,
  calls: NonNullable<ReturnType<typeof currentCalls>>,
  args: unknown,
  body: (args: unknown) => unknown,
): Promise<unknown> {
  const outcome = await calls.toolCall<unknown, unknown>(
    {
      apiName: id,
      args,
      outlastsAbort: true,
      // Its workflow would be over before anybody has answered.
      parkable: false,
      ...(typeof description === 'string' && { description }),
    },
    body,
  )
  if ('result' in outcome) return outcome.result
  // A step that may not be made ends its workflow, and says why.
  throw outcome.state === 'errored' ? outcome.error : new Error(outcome.toToolMessage().content)
}
