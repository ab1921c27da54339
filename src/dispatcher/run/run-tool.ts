import { globByHome, matchesGlob } from '../../internal/glob.ts'

/** A tool that a run has. */
export interface RunTool {
  /** `*` where it has others, too, and nobody knows their names. */
  readonly name: string
  /** The tool's home. @default 'local' */
  readonly identifier?: string
}

export function fits(pattern: string | RegExp, { name, identifier = 'local' }: RunTool): boolean {
  const whole = `${identifier}/${name}`
  if (typeof pattern === 'string')
    return matchesGlob(pattern, name) || matchesGlob(globByHome(pattern), whole)
  return name.search(pattern) >= 0 || whole.search(pattern) >= 0
}

/** The same of a tool whose home is not known, as a model is offered it: any home may be meant. */
export function mayFit(pattern: string | RegExp, name: string): boolean {
  if (typeof pattern === 'string') {
    const glob = globByHome(pattern)
    return matchesGlob(glob.slice(glob.lastIndexOf('/') + 1), name) || matchesGlob(pattern, name)
  }
  return pattern.source.includes('/') || name.search(pattern) >= 0
}
