import type { StandInCall } from '../../dispatcher/index.ts'
import { safeStringify } from '../../internal/json.ts'
import { nearestName } from '../../internal/nearest-name.ts'
import { formatDifference } from '../match/difference.ts'
import { isForAgent } from './address.ts'
import { cut } from './describe-rule.ts'
import { type ActiveRule, type RuleSet, toMockedCall } from './rule-set.ts'

/** A call as a message shows it. */
export function describeCall(
  call: Pick<StandInCall, 'apiName' | 'args' | 'agentPath' | 'stepIndex' | 'toolCallId'>,
): string {
  const { apiName, args, agentPath, stepIndex, toolCallId } = call
  return `${apiName}(${cut(safeStringify(args), 300)})  in ${agentPath.join(' > ')}, step ${stepIndex}, call ${toolCallId}`
}

/** Why no rule took the call: the call, the rule that came nearest, and where they differ. */
export function explainUnmatched(call: StandInCall, rules: RuleSet): string {
  const lines = [`  called   ${describeCall(call)}`]
  const candidates = rules.forTool(call)
  const [nearest, ...others] = candidates
    .map((rule) => ({ rule, reasons: reasonsAgainst(rule, call) }))
    .sort((a, b) => a.reasons.length - b.reasons.length)
  if (nearest !== undefined) {
    lines.push(`  nearest  ${nearest.rule}`, ...nearest.reasons.map((reason) => `           ${reason}`))
    if (others.length > 0) lines.push(`  and ${others.length} more for this tool`)
    return lines.join('\n')
  }
  const names = [...new Set(rules.all.map((rule) => rule.definition.address.tool))]
  const elsewhere = rules.all.find(({ definition }) => definition.address.tool.endsWith(`/${call.apiName}`))
  const close = nearestName(call.apiName, names)
  if (close !== undefined) {
    const rule = rules.all.find(({ definition }) => definition.address.tool === close)
    lines.push(`  nearest  ${rule}`, `           is for "${close}", not for "${call.apiName}"`)
  } else if (elsewhere !== undefined) {
    const { tool } = elsewhere.definition.address
    lines.push(
      `  nearest  ${elsewhere}`,
      `           is for "${tool}", this one is "${call.identifier}/${call.apiName}"`,
    )
  } else if (names.length > 0) lines.push(`  mocked   ${cut(names.join(', '), 300)}`)
  else lines.push('  mocked   nothing')
  return lines.join('\n')
}

function reasonsAgainst(rule: ActiveRule, call: StandInCall): string[] {
  const { rootOperationId } = call.operation
  const used = rule.usesIn(rootOperationId)
  const reasons = rule.differences(toMockedCall(call, used)).map((difference) => formatDifference(difference))
  if (!isForAgent(rule.definition.address, call.agentPath)) {
    reasons.push(
      `is for calls by ${rule.definition.address.agents.join(' > ')}, this one is by ${call.agentPath.join(' > ')}`,
    )
  }
  if (rule.isUsedUp(rootOperationId)) {
    reasons.push(
      `would ${reasons.length === 0 ? '' : 'also '}have to be free, and is used up: ${used} of ${rule.limit}`,
    )
  }
  return reasons
}
