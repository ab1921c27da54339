import type { Gate } from '../../gates/index.ts'
import type { AgentHook } from '../../hooks/index.ts'
import { didYouMean } from '../../internal/expect.ts'
import { nearestName } from '../../internal/nearest-name.ts'
import type { PluginSet } from '../plugins/plugin-set.ts'
import type { Disabled } from './disabled.ts'
import type { OperationCore } from './operation-core.ts'
import type { OperationInit } from './operation-init.ts'
import { SeenTools } from './seen-tools.ts'

type Pattern = string | RegExp

/** A gate or a hook that is meant for tools of these names. */
interface Guard {
  readonly what: 'Gate' | 'Hook'
  readonly id: string
  readonly patterns: readonly Pattern[]
  /** In all runs of the dispatcher. */
  readonly inUse: boolean
}

/** Those of a run. What sub-agents inherit is about the tools of the whole tree, and is looked at with its root. */
function naming(
  { gates = [], hooks = [], parent }: OperationInit,
  plugins: PluginSet,
  off: Disabled,
): Guard[] {
  const own = [...gates.map((gate) => ofGate(gate, false)), ...hooks.map((hook) => ofHook(hook, false))]
  const inUse = [
    ...plugins.gates.filter((gate) => !off.gate(gate)).map((gate) => ofGate(gate, true)),
    ...plugins.hooks.filter(({ hook }) => !off.hook(hook)).map(({ hook }) => ofHook(hook, true)),
  ]
  return [...own, ...(parent === undefined ? inUse : [])].filter(({ patterns }) => patterns.length > 0)
}

function ofGate({ id, match = [], names = [] }: Gate, inUse: boolean): Guard {
  return { what: 'Gate', id, patterns: [...[match].flat(), ...names], inUse }
}

function ofHook({ id, match }: AgentHook, inUse: boolean): Guard {
  const patterns = typeof match === 'string' || match instanceof RegExp ? [match] : []
  return { what: 'Hook', id, patterns, inUse }
}

/** What a run's tools are looked for in; undefined where no guard, here or above, names any. */
export function toolsSeenIn(
  init: OperationInit,
  plugins: PluginSet,
  off: Disabled,
  above: SeenTools | undefined,
): SeenTools | undefined {
  if (above === undefined && naming(init, plugins, off).length === 0) return undefined
  return new SeenTools(init.tools, above)
}

/** Lists of names, the last ones, of which it is remembered. */
const MAX_LISTS = 20

/** Which globs are precautions, by the names of a run: most runs have the tools of one before, and to compare them takes long. */
const judged = new Map<string, Map<string, boolean>>()

function judgedFor(names: readonly string[]): Map<string, boolean> {
  const key = names.join('\n')
  const found = judged.get(key) ?? new Map<string, boolean>()
  judged.delete(key)
  judged.set(key, found)
  for (const oldest of judged.keys()) {
    if (judged.size <= MAX_LISTS) break
    judged.delete(oldest)
  }
  return found
}

/** A glob for all runs may be meant for tools that other agents have, unless the name of one that is here nearly fits it. */
function isPrecaution(glob: Pattern, names: readonly string[]): boolean {
  if (typeof glob !== 'string' || !glob.includes('*')) return false
  const letters = glob.replaceAll('*', '')
  // Of fewer, too many names are a letter away.
  if (letters.length < 5) return true
  const known = judgedFor(names)
  const before = known.get(letters)
  if (before !== undefined) return before
  const lengths = [letters.length - 1, letters.length, letters.length + 1]
  const parts = names.flatMap((name) =>
    lengths.flatMap((length) => [name.slice(0, length), name.slice(-length)]),
  )
  const isFar = nearestName(letters, new Set(parts)) === undefined
  known.set(letters, isFar)
  return isFar
}

/**
 * Reports the patterns of gates and hooks that match none of the tools of a run that is over, or of an agent that it
 * called: most likely they are misspelt.
 */
export function reportUnmatched({ host, init, info, disabled, seen }: OperationCore): void {
  if (seen === undefined) return
  const { agentName } = info
  for (const { what, id, patterns, inUse } of naming(init, host.plugins, disabled)) {
    const whose = inUse ? undefined : (agentName ?? '')
    const { names } = seen
    const unfit = patterns.filter((pattern) => !host.fitted.has(whose, pattern, seen))
    if (!seen.isWhole) continue
    const stray = unfit.filter((pattern) => !(inUse && isPrecaution(pattern, names))).map(String)
    if (stray.length === 0) continue
    const run = agentName === undefined ? 'the run' : `agent "${agentName}"`
    const hint = stray.length === 1 ? didYouMean(stray[0] as string, names) : ''
    const more = seen.hasUncalled ? ' An agent that was not called here may have it.' : ''
    const message = `${what} "${id}" names no tool of ${run} by ${stray.join(', ')}.${hint} Its tools: ${names.join(', ')}.${more}`
    host.reporter.unmatched(id, stray, message)
  }
}
