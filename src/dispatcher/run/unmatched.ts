import type { Gate } from '../../gates/index.ts'
import type { AgentHook } from '../../hooks/index.ts'
import { didYouMean } from '../../internal/expect.ts'
import { matchesGlob } from '../../internal/glob.ts'
import type { Reporter } from '../events/report.ts'

/** A tool that a run has. */
export interface RunTool {
  readonly name: string
  /** The tool's home. @default 'local' */
  readonly identifier?: string
}

/** Reports the patterns of gates and hooks that match none of a run's tools: most likely they are misspelt. */
export function reportUnmatched(
  reporter: Reporter,
  run: string,
  tools: readonly RunTool[],
  guards: { readonly gates: readonly Gate[]; readonly hooks: readonly AgentHook[] },
): void {
  if (tools.length === 0) return
  const told = (what: string, id: string, patterns: readonly (string | RegExp)[]) => {
    const stray = patterns.filter((pattern) => !tools.some((tool) => fits(pattern, tool))).map(String)
    if (stray.length === 0) return
    const names = tools.map(({ name }) => name)
    const hint = stray.length === 1 ? didYouMean(stray[0] as string, names) : ''
    const message = `${what} "${id}" names no tool of ${run} by ${stray.join(', ')}.${hint} Its tools: ${names.join(', ')}.`
    reporter.unmatched(id, stray, message)
  }
  for (const { id, match = [], names = [] } of guards.gates) told('Gate', id, [...[match].flat(), ...names])
  for (const { id, match } of guards.hooks) {
    if (typeof match === 'string' || match instanceof RegExp) told('Hook', id, [match])
  }
}

export function fits(pattern: string | RegExp, { name, identifier = 'local' }: RunTool): boolean {
  const whole = `${identifier}/${name}`
  if (typeof pattern === 'string') return matchesGlob(pattern, name) || matchesGlob(pattern, whole)
  return name.search(pattern) >= 0 || whole.search(pattern) >= 0
}
