import { isRecord } from '../../internal/objects.ts'
import { isLocked } from '../replace.ts'
import { currentCalls } from '../safe/calls.ts'
import { unseenTool, warnOfUnseen } from '../unseen.ts'
import { MastraRun } from './mastra-run.ts'
import { patches } from './patches.ts'
import type { MastraWorkflow, MastraWorkflowTool } from './sdk.ts'

/**
 * Makes the tools that are steps of a workflow calls of the run in which the workflow runs. They are reached in the tools
 * themselves: a workflow keeps no other place. One that is called by its agent is a call already.
 */
export function observeWorkflows(workflows: Readonly<Record<string, MastraWorkflow>>): void {
  for (const workflow of Object.values(workflows ?? {})) observeSteps(workflow?.stepFlow)
}

function observeSteps(entries: unknown, seen = new Set<unknown>()): void {
  if (seen.has(entries)) return
  seen.add(entries)
  for (const entry of Array.isArray(entries) ? entries : [entries]) {
    if (!isRecord(entry)) continue
    const { tool, step, steps, workflow, stepFlow } = entry
    if (isRecord(tool)) observeTool(tool as unknown as MastraWorkflowTool)
    for (const inner of [step, steps, workflow, stepFlow]) {
      if (inner !== undefined && typeof inner === 'object') observeSteps(inner, seen)
    }
  }
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
    { apiName: id, args, outlastsAbort: true, ...(typeof description === 'string' && { description }) },
    body,
  )
  if ('result' in outcome) return outcome.result
  // A step that may not be made ends its workflow, and says why.
  throw outcome.state === 'errored' ? outcome.error : new Error(outcome.toToolMessage().content)
}
