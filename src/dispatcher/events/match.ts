import type { RunnableHook } from '../../hooks/agent-hook.ts'
import type { HookEvent } from '../../hooks/index.ts'
import { matchesGlob } from '../../internal/glob.ts'

/** A hook's `match` as a predicate. Patterns are tested against `apiName` and `identifier/apiName`. */
export function compileMatch(match: RunnableHook['match']): ((event: HookEvent) => boolean) | undefined {
  if (match === undefined) return undefined
  if (typeof match === 'function') return match
  const test =
    typeof match === 'string'
      ? (name: string) => matchesGlob(match, name)
      : (name: string) => {
          match.lastIndex = 0
          return match.test(name)
        }
  return (event) => {
    const { apiName, identifier } = event as { apiName?: string; identifier?: string }
    return apiName !== undefined && (test(apiName) || test(`${identifier}/${apiName}`))
  }
}
