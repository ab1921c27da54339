import { isLocked, replace } from '../replace.ts'
import { Patches } from '../sdk-run/patches.ts'
import { share } from '../sdk-run/shared-use.ts'
import type { AdkAgent, AdkCodeExecutor, AdkTool, AdkToolset } from './adk.ts'

/**
 * Puts ours into each tool that an agent and those around it have, before any of their code runs: their callbacks have
 * the tools themselves, and may call them before a model is asked.
 */
export function observeTools(
  agent: AdkAgent,
  patches: Patches,
  put: (tool: AdkTool) => () => void,
  putExecutor: (executor: AdkCodeExecutor) => () => void,
): void {
  const seen = new Set<AdkAgent>()
  const visit = (one: AdkAgent) => {
    if (seen.has(one)) return
    seen.add(one)
    for (const tool of one.tools ?? []) {
      if (isToolset(tool)) observeToolset(tool, patches, put)
      // An agent or a workflow becomes a tool only where the model is asked.
      else if (isTool(tool)) observeTool(tool, patches, put)
    }
    const executor = one.codeExecutor
    if (executor !== undefined && !isLocked(executor, 'executeCode')) {
      share(patches, executor, () => putExecutor(executor))
    }
    for (const below of one.subAgents ?? []) visit(below)
  }
  visit(agent.rootAgent ?? agent)
}

function observeTool(tool: AdkTool, patches: Patches, put: (tool: AdkTool) => () => void): void {
  if (!isLocked(tool, 'runAsync')) share(patches, tool, () => put(tool))
}

/** It may make its tools anew for each who asks. */
function observeToolset(toolset: AdkToolset, patches: Patches, put: (tool: AdkTool) => () => void): void {
  if (isLocked(toolset, 'getTools')) return
  share(patches, toolset, () => {
    const given = new Patches()
    const own = toolset.getTools
    const undo = replace(toolset, 'getTools', async (...asked) => {
      const tools = await own.apply(toolset, asked)
      for (const tool of tools) observeTool(tool, given, put)
      return tools
    })
    return () => {
      undo()
      given.undoAll()
    }
  })
}

function isToolset(tool: object): tool is AdkToolset {
  return typeof (tool as Partial<AdkToolset>).getTools === 'function'
}

function isTool(tool: object): tool is AdkTool {
  const { runAsync, processLlmRequest } = tool as Partial<AdkTool>
  return typeof runAsync === 'function' && typeof processLlmRequest === 'function'
}
