import type { RunnableHook } from '../../hooks/agent-hook.ts'
import type { HookEvent } from '../../hooks/index.ts'
import { mayMeanTool } from '../../internal/glob.ts'

/** A hook's `match` as a predicate. Patterns are tested against `apiName` and `identifier/apiName`. */
export function compileMatch(match: RunnableHook['match']): ((event: HookEvent) => boolean) | undefined {
  if (match === undefined) return undefined
  if (typeof match === 'function') return match
  const test =
    typeof match === 'string'
      ? (tool: NamedTool) => mayMeanTool(match, tool)
      : ({ apiName, identifier }: NamedTool) =>
          found(match, apiName) || found(match, `${identifier}/${apiName}`)
  return (event) => {
    const { apiName, identifier, source } = event as Partial<NamedTool>
    return apiName !== undefined && test({ apiName, identifier, source })
  }
}

interface NamedTool {
  readonly apiName: string
  readonly identifier: string | undefined
  readonly source: string | undefined
}

function found(match: RegExp, name: string): boolean {
  match.lastIndex = 0
  return match.test(name)
}
