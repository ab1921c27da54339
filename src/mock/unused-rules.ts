import { HookspanError } from '../internal/errors.ts'
import { nearestName } from '../internal/nearest-name.ts'
import type { MockToolsCall } from './mock-tools-types.ts'
import { isForTool } from './rules/address.ts'
import { describeCall } from './rules/explain.ts'
import type { ActiveRule } from './rules/rule-set.ts'

/** `offered`: the tools that are known by a declaration, or by a model's request. */
export function unusedRules(
  rules: readonly ActiveRule[],
  calls: readonly MockToolsCall[],
  offered: ReadonlySet<string>,
): { rule: ActiveRule; failure: HookspanError }[] {
  // Tools that were called are no list of those there are: only a declaration or a model's request is one.
  const listed = offered.size > 0
  const known = new Set([...offered, ...calls.map(({ apiName }) => apiName)])
  return rules.flatMap((rule) => {
    const unknown = rule.used === 0 && listed && !isKnown(rule, known)
    if (unknown) return [{ rule, failure: unknownTool(rule, known) }]
    return rule.missing > 0 ? [{ rule, failure: unusedRule(rule, calls) }] : []
  })
}

function isKnown({ definition }: ActiveRule, known: ReadonlySet<string>): boolean {
  const { tool } = definition.address
  if (known.has(tool)) return true
  // A tool's home is not part of what a model is offered.
  const bare = {
    ...definition.address,
    tool: tool.includes('/') ? tool.slice(tool.lastIndexOf('/') + 1) : tool,
  }
  return [...known].some((apiName) => isForTool(bare, { identifier: '', apiName }))
}

/** A rule that answered fewer calls than it should. */
function unusedRule(rule: ActiveRule, calls: readonly MockToolsCall[]): HookspanError {
  const wanted = Number.isFinite(rule.limit) ? rule.limit : 'at least 1'
  const others = calls.filter(({ apiName, identifier }) =>
    isForTool(rule.definition.address, { apiName, identifier }),
  )
  const close = nearestName(rule.definition.address.tool, new Set(calls.map(({ apiName }) => apiName)))
  const never = `\n  The tool was never called.${close === undefined ? '' : ` Did you mean "${close}"?`}`
  const seen = others.map(
    (call) => `\n  called   ${describeCall(call)}, answered by ${call.rule ?? call.answeredBy}`,
  )
  return new HookspanError(
    'MOCK_UNUSED',
    `A mock was not used: ${rule} answered ${rule.used} calls, expected ${wanted}.${
      others.length === 0 ? never : seen.slice(0, 5).join('')
    }\nRemove it, or mark it with .optional().`,
  )
}

/** A rule that could never answer. */
function unknownTool(rule: ActiveRule, known: ReadonlySet<string>): HookspanError {
  const { tool } = rule.definition.address
  const close = nearestName(tool, known)
  return new HookspanError(
    'MOCK_UNKNOWN_TOOL',
    `A mock is for a tool that no agent has: ${rule}.\n  Tools: ${[...known].sort().join(', ')}.${
      close === undefined ? '' : `\nDid you mean "${close}"?`
    }`,
  )
}
