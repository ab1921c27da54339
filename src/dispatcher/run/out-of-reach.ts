import { concerns, decidesAt } from '../../gates/gate.ts'
import type { Gate } from '../../gates/index.ts'
import { HookspanError } from '../../internal/errors.ts'
import { a, assertFields, type Fields, required } from '../../internal/expect.ts'
import type { OperationCore } from './operation-core.ts'
import { fits, type RunTool } from './unmatched.ts'

/** A tool that runs where nothing of ours comes between. */
export interface ToolOutOfReach extends RunTool {
  /** `provider`: the model's. Only what names such a tool is meant for it. `sdk`: any other, which all is meant for. */
  readonly ranBy: 'provider' | 'sdk'
}

const TOOL: Fields<ToolOutOfReach> = {
  name: required(a.name),
  identifier: a.name,
  ranBy: required(a.oneOf('provider', 'sdk')),
}

/**
 * Refuses guards and mocks for tools that run without being asked for.
 *
 * @throws HookspanError `NOT_CAPABLE`, `INVALID_CALL` for a tool that is malformed.
 */
export function assertInReach(core: OperationCore, tools: readonly ToolOutOfReach[]): void {
  for (const tool of tools) {
    assertFields<ToolOutOfReach>(tool, TOOL, 'a tool out of reach', 'INVALID_CALL')
    const gate = core.allGates().find((one) => isMeantFor(one, tool))
    const mocked = tool.ranBy === 'sdk' && core.host.plugins.standIns.length > 0
    if (gate === undefined && !mocked) continue
    const what = gate === undefined ? 'Tools are mocked' : `Gate "${gate.id}" decides on ${gate.point}`
    const where = tool.ranBy === 'provider' ? "the model's provider runs" : 'the SDK runs by itself'
    throw new HookspanError(
      'NOT_CAPABLE',
      `${what}, and the agent has the tool "${tool.name}", which ${where}: nobody would be asked. Take the tool from the agent, or the guard from the tool.`,
    )
  }
}

function isMeantFor(gate: Gate, tool: ToolOutOfReach): boolean {
  const { match = [], names = [], shadow } = gate
  if (shadow || !(decidesAt(gate, 'beforeToolCall') || decidesAt(gate, 'afterToolCall'))) return false
  if ([...[match].flat(), ...names].some((glob) => fits(glob, tool))) return true
  const { name, identifier = 'local' } = tool
  return tool.ranBy === 'sdk' && concerns(gate, { apiName: name, identifier })
}
