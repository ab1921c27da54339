import type { StandInCall } from '../../dispatcher/index.ts'
import { expected } from '../../internal/expect.ts'
import { assertGlob, matchesGlob, matchesTool } from '../../internal/glob.ts'

/** Which tool a rule is for: `search`, `github/create_*`, `researcher > search`, `support > researcher > search`. */
export interface Address {
  readonly text: string
  /** The innermost callers, outermost first; empty when any agent may call. Globs. */
  readonly agents: readonly string[]
  /** Name of the tool, or `identifier/name`. A glob. */
  readonly tool: string
  /** Whether `tool` is one name, so that it can be looked up. */
  readonly literal: boolean
}

/** @throws HookspanError `INVALID_OPTION` when a part is empty. */
export function parseAddress(text: unknown, whose = 'mock()'): Address {
  const parts = typeof text === 'string' ? text.split('>').map((part) => part.trim()) : []
  const tool = parts.at(-1)
  if (tool === undefined || parts.includes('')) {
    throw expected(`${whose} to get a tool's name, or a path like "researcher > search"`, text)
  }
  assertGlob(tool, `the tool of ${whose}`)
  return { text: parts.join(' > '), agents: parts.slice(0, -1), tool, literal: !/[*?]/.test(tool) }
}

type Call = Pick<StandInCall, 'identifier' | 'apiName' | 'agentPath'>

export function isForTool(
  { tool }: Address,
  { identifier, apiName }: Pick<Call, 'identifier' | 'apiName'>,
): boolean {
  return matchesTool(tool, { identifier, apiName })
}

/** The agents of the address are the innermost ones of the path. */
export function isForAgent({ agents }: Address, path: readonly string[]): boolean {
  if (agents.length > path.length) return false
  const from = path.length - agents.length
  return agents.every((pattern, index) => matchesGlob(pattern, path[from + index] ?? ''))
}
