import { HookspanError } from '../internal/errors.ts'
import { nearestName } from '../internal/nearest-name.ts'
import type { MockToolsCall } from './mock-tools-types.ts'
import { isForTool } from './rules/address.ts'
import { describeCall } from './rules/explain.ts'
import type { ActiveRule } from './rules/rule-set.ts'
import type { ToolCatalog } from './tool-catalog.ts'
import { saysResult, type UnaskedCall } from './unasked-calls.ts'

interface WrongRule {
  readonly rule: ActiveRule
  readonly failure: HookspanError
}

/** Rules that say what a tool gave that its agent does not have: outside of the test the call would have failed, as some say it did. */
export function rulesForMadeUp(
  rules: readonly ActiveRule[],
  calls: readonly (MockToolsCall | UnaskedCall)[],
  catalog: ToolCatalog,
): WrongRule[] {
  const madeUp = calls.filter((call) => catalog.isMadeUp(call))
  return rules.flatMap((rule) => {
    if (!saysResult(rule)) return []
    const call = madeUp.find((one) => one.rule === String(rule))
    return call === undefined
      ? []
      : [{ rule, failure: answeredMadeUp(rule, call, catalog.namesIn(call.operationId)) }]
  })
}

/** `offered`: the tools that are known by a declaration, or by a model's request. */
export function unusedRules(
  rules: readonly ActiveRule[],
  calls: readonly MockToolsCall[],
  unasked: readonly UnaskedCall[],
  offered: ReadonlySet<string>,
): WrongRule[] {
  // Tools that were called are no list of those there are: only a declaration or a model's request is one.
  const listed = offered.size > 0
  const known = new Set([...offered, ...calls.map(({ apiName }) => apiName)])
  return rules.flatMap((rule) => {
    const unknown = rule.used === 0 && listed && !isKnown(rule, known)
    if (unknown) return [{ rule, failure: unknownTool(rule, known) }]
    return rule.missing > 0 ? [{ rule, failure: unusedRule(rule, calls, unasked) }] : []
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
function unusedRule(
  rule: ActiveRule,
  calls: readonly MockToolsCall[],
  unasked: readonly UnaskedCall[],
): HookspanError {
  const wanted = Number.isFinite(rule.limit) ? rule.limit : 'at least 1'
  const isFor = (call: UnaskedCall | MockToolsCall) => isForTool(rule.definition.address, call)
  const close = nearestName(rule.definition.address.tool, new Set(calls.map(({ apiName }) => apiName)))
  const never = `\n  The tool was never called, or a gate or a human refused its calls.${close === undefined ? '' : ` Did you mean "${close}"?`}`
  const seen = [
    ...calls
      .filter(isFor)
      .map((call) => `${describeCall(call)}, answered by ${call.rule ?? call.answeredBy}`),
    ...unasked
      .filter(isFor)
      .map((call) => `${describeCall(call)}, failed before a mock was asked: ${call.why}`),
  ].map((line) => `\n  called   ${line}`)
  return new HookspanError(
    'MOCK_UNUSED',
    `A mock was not used: ${rule} answered ${rule.used} calls, expected ${wanted}.${
      seen.length === 0 ? never : seen.slice(0, 5).join('')
    }\nRemove it, or mark it with .optional().`,
  )
}

/** A rule that could never answer. */
function unknownTool(rule: ActiveRule, known: ReadonlySet<string>): HookspanError {
  const { tool } = rule.definition.address
  return new HookspanError(
    'MOCK_UNKNOWN_TOOL',
    `A mock is for a tool that no agent has: ${rule}.\n${toolsBut(tool, known)}`,
  )
}

function answeredMadeUp(
  rule: ActiveRule,
  call: MockToolsCall | UnaskedCall,
  known: ReadonlySet<string>,
): HookspanError {
  return new HookspanError(
    'MOCK_UNKNOWN_TOOL',
    `A mock ${'why' in call ? 'is for' : 'answered'} a call of tool "${call.apiName}", which its agent does not have: ${rule}.\n  called   ${describeCall(call)}\n` +
      toolsBut(call.apiName, known),
  )
}

/** The tools that there are, and which of them may be meant. */
export function toolsBut(tool: string, known: ReadonlySet<string>): string {
  if (known.size === 0) return '  There are no tools.'
  const close = nearestName(tool, known)
  const meant = close === undefined ? '' : `\nDid you mean "${close}"?`
  return `  Tools: ${[...known].sort().join(', ')}.${meant}`
}
