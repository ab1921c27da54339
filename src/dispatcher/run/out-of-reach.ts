import { concerns, decidesAt } from '../../gates/gate.ts'
import type { Gate } from '../../gates/index.ts'
import { HookspanError } from '../../internal/errors.ts'
import { a, assertFields, type Fields, required } from '../../internal/expect.ts'
import { globByHome, matchesGlob } from '../../internal/glob.ts'
import type { OperationCore } from './operation-core.ts'
import { fits, type RunTool } from './run-tool.ts'

/** A tool that runs where nothing of ours comes between. */
export interface ToolOutOfReach extends RunTool {
  /** `*` for all that there may be at home in `identifier`, where nobody knows their names. */
  readonly name: string
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
    const { mockingHooks } = core.record
    const named = mockingHooks.flatMap(({ match = [] }) => (typeof match === 'function' ? [] : match))
    const mocks = [...core.host.plugins.mockedTools(), ...named]
    const mock = mocks.find((pattern) => isFor(pattern, tool))
    // Which tools those are that a hook mocks without naming them, nobody knows.
    const mocksAny = mockingHooks.some(({ match }) => match === undefined || typeof match === 'function')
    const mocked = tool.ranBy === 'sdk' && (mocksAny || core.standIns().length > 0)
    if (gate === undefined && mock === undefined && !mocked) continue
    const what =
      gate !== undefined
        ? `Gate "${gate.id}" decides on ${gate.point}`
        : mock === undefined
          ? 'Tools are mocked'
          : `"${mock}" is mocked`
    const where = tool.ranBy === 'provider' ? "the model's provider runs" : 'the SDK runs by itself'
    throw new HookspanError(
      'NOT_CAPABLE',
      `${what}, and the agent has the tool "${tool.name === '*' ? `${tool.identifier}/*` : tool.name}", which ${where}: nobody would be asked. Take the tool from the agent, or the guard from the tool.`,
    )
  }
}

/** Tells of a guard for a tool that nobody knew of before the provider had run it: the run could not be refused. */
export function reportRanUnasked(core: OperationCore, name: string, identifier: string): void {
  const gate = core.allGates().find((one) => isMeantFor(one, { name, identifier, ranBy: 'provider' }))
  if (gate === undefined) return
  const tool = `${identifier}/${name}`
  core.host.reporter.unmatched(
    gate.id,
    [tool],
    `Gate "${gate.id}" decides on ${gate.point} of ${tool}, and the model's provider ran it by itself: nobody was asked. Name "${identifier}/*", and a run with such tools is refused.`,
  )
}

function isMeantFor(gate: Gate, tool: ToolOutOfReach): boolean {
  const { match = [], names = [], shadow } = gate
  if (shadow || !(decidesAt(gate, 'beforeToolCall') || decidesAt(gate, 'afterToolCall'))) return false
  if ([...[match].flat(), ...names].some((pattern) => isFor(pattern, tool))) return true
  const { name, identifier = 'local' } = tool
  return tool.ranBy === 'sdk' && concerns(gate, { apiName: name, identifier })
}

/** Of tools whose names nobody knows, what names their home is meant for them, and of those of the SDK what names none. */
function isFor(pattern: string | RegExp, tool: ToolOutOfReach): boolean {
  if (fits(pattern, tool)) return true
  if (tool.name !== '*') return false
  const [home, name] = typeof pattern === 'string' ? globByHome(pattern).split('/') : []
  return name === undefined ? tool.ranBy === 'sdk' : matchesGlob(home as string, tool.identifier ?? 'local')
}
