import { isLocked, replace } from '../replace.ts'
import { currentCalls } from '../safe/calls.ts'
import type { Patches } from '../sdk-run/patches.ts'
import { share } from '../sdk-run/shared-use.ts'
import type { StrandsTool } from './sdk.ts'
import { invokeInner, streamInner, toolAtWork } from './tool-call.ts'

/**
 * A tool whose code runs others of the agent by itself (`agent.tool.NAME`, `other.stream()`, an agent of its own that has
 * them) asks no middleware: these calls are seen at the tools. They are left as they are where no tool is at work.
 */
export function seeInnerCalls(patches: Patches, tools: readonly StrandsTool[]): void {
  for (const tool of tools) share(patches, tool, () => seeTool(tool))
}

function seeTool(tool: StrandsTool): () => void {
  const undo = [seeStream(tool), seeInvoke(tool)]
  return () => {
    for (const one of undo) one?.()
  }
}

function seeStream(tool: StrandsTool): (() => void) | undefined {
  const { stream } = tool
  if (stream === undefined || isLocked(tool, 'stream')) return undefined
  return replace(tool, 'stream', function (this: StrandsTool, asked) {
    const here = placeFor(tool)
    if (here === undefined) return stream.call(this, asked)
    const { toolUse } = asked
    return streamInner(here.outer, here.calls, { tool, toolUse }, async function* (effective) {
      return { result: yield* stream.call(tool, { ...asked, toolUse: effective.toolUse }) }
    })
  })
}

function seeInvoke(tool: StrandsTool): (() => void) | undefined {
  const { invoke } = tool
  if (invoke === undefined || isLocked(tool, 'invoke')) return undefined
  return replace(tool, 'invoke', function (this: StrandsTool, input, ...more) {
    const here = placeFor(tool)
    const perform = (effective: unknown) => invoke.call(this, effective, ...more)
    if (here === undefined) return perform(input)
    return invokeInner(here.outer, here.calls, { tool, toolUse: { name: tool.name, input } }, perform)
  })
}

/** Undefined where the tool is run by its own call, or outside of any. */
function placeFor(tool: StrandsTool) {
  const outer = toolAtWork()
  if (outer === undefined || outer.ctx.tool === tool) return undefined
  const calls = currentCalls()
  return calls && { outer, calls }
}
