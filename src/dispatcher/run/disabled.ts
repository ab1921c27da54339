import type { Gate } from '../../gates/index.ts'
import type { AgentHook } from '../../hooks/index.ts'
import { HookspanError } from '../../internal/errors.ts'
import { didYouMean, expected } from '../../internal/expect.ts'
import type { PluginSet } from '../plugins/plugin-set.ts'

/** Which of the dispatcher's guards and hooks take no part in a run. Told by id, so that it holds after a reload, too. */
export interface Disabled {
  readonly ids: readonly string[]
  /** Whose they are: another dispatcher's of the same ids are others. */
  readonly of: PluginSet
  gate(gate: Gate): boolean
  hook(hook: AgentHook): boolean
}

/**
 * A sub-agent has what its caller's run has.
 *
 * @throws HookspanError `INVALID_OPTION` for an id that nothing in use has, and for a sub-agent that asks for it itself: what
 * holds its caller holds it, too.
 */
export function disabledIn(
  disable: readonly string[],
  inherited: Disabled | undefined,
  plugins: PluginSet,
): Disabled {
  const callers = inherited?.of === plugins ? inherited : undefined
  if (disable.length === 0) return callers ?? disabledBy([], plugins)
  if (callers !== undefined) {
    throw new HookspanError(
      'INVALID_OPTION',
      `A run that another one calls cannot disable ${disable.join(', ')}: give \`disable\` to the run that calls it.`,
    )
  }
  for (const id of disable) assertInUse(id, plugins)
  return disabledBy(disable, plugins)
}

function disabledBy(disable: readonly string[], of: PluginSet): Disabled {
  const ids = new Set(disable)
  return {
    ids: [...ids],
    of,
    gate: ({ id }) => ids.has(id),
    hook: (hook) => ids.has(hook.id) || ids.has(entryOf(hook)),
  }
}

/** Hooks that are one for each type of event are known by the name that they share. */
function entryOf({ id, type }: AgentHook): string {
  const end = `:${type}`
  return id.endsWith(end) ? id.slice(0, -end.length) : id
}

function assertInUse(id: unknown, { gates, hooks }: PluginSet): void {
  if (typeof id !== 'string') throw expected('`disable` to be a list of ids', id)
  const known = new Set([...gates.map((gate) => gate.id), ...hooks.map(({ hook }) => entryOf(hook))])
  if (known.has(id) || hooks.some(({ hook }) => hook.id === id)) return
  const has = known.size === 0 ? 'It has none.' : `It has: ${[...known].join(', ')}.`
  throw new HookspanError(
    'INVALID_OPTION',
    `\`disable\` names "${id}", and the dispatcher has no gate or hook of that id in use.${didYouMean(id, known, '"')} ${has}`,
  )
}
