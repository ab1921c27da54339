import type { HookEvent } from '../hooks/index.ts'
import type { MockCoverage } from '../mock/index.ts'
import { isSubAgent } from '../mock/sub-agent.ts'
import { toolsOf } from '../mock/tool-catalog.ts'

/** What became of the tools of a test, whether or not it has mocks. Undefined where it had no tools. */
export function coverageOf(
  events: readonly HookEvent[],
  others: readonly (MockCoverage | undefined)[],
): MockCoverage | undefined {
  const agents = new Set<string>()
  const offered: string[] = []
  const mocked: string[] = []
  const live: string[] = []
  for (const event of events) {
    if (event.hookType === 'beforeLlmCall') offered.push(...toolsOf(event.request).map(({ name }) => name))
    if (event.hookType !== 'afterToolCall' && event.hookType !== 'onToolCallError') continue
    const { apiName, mockSource, outcome = 'completed' } = { outcome: undefined, ...event }
    if (isSubAgent(event) && !event.mocked) agents.add(apiName)
    // Mocked by nobody: refused, which the mocks themselves tell.
    else if (event.mocked) mocked.push(...(mockSource === undefined ? [] : [apiName]))
    else if (outcome === 'completed') live.push(apiName)
  }
  const all = others.filter((one) => one !== undefined)
  const union = (key: keyof MockCoverage, more: readonly string[]) =>
    [...new Set([...all.flatMap((one) => one[key]), ...more])].sort()
  const discovered = union('discovered', [...offered, ...mocked, ...live]).filter((name) => !agents.has(name))
  if (discovered.length === 0) return undefined
  return {
    discovered,
    mocked: union('mocked', mocked),
    live: union('live', live),
    refused: union('refused', []),
  }
}
