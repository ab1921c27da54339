import type { ToolCallInit } from '../../dispatcher/index.ts'
import { asName, asText, parseArguments } from '../../wire/reading.ts'
import { askedAbout, idOf, isHosted } from './own-approvals.ts'
import type { Refusals } from './place.ts'
import { argumentsOf, registrationsOf } from './registrations.ts'
import {
  type Agent,
  type AnyTool,
  type FunctionTool,
  type Interruption,
  type Item,
  isFunctionTool,
  type RunContext,
} from './sdk.ts'
import { homeOf, initOf } from './tools.ts'

/** What a human has told the SDK, which keeps it under a key of its own: a tool in a namespace is named otherwise. */
export function answerTo(
  context: RunContext,
  item: Interruption,
  callId: string,
  apiName: string,
): boolean | undefined {
  const { functionToolStateKey, name, rawItem } = item
  if (isHosted(item)) return context._getHostedMcpApprovalStatus?.(item)
  const functionTool = rawItem.type === 'function_call'
  const toolName = functionToolStateKey ?? name ?? apiName
  return context.isToolApproved({ toolName, callId, functionTool })
}

/** Why a human has said no, in the words that the model is told: none where nobody gave any. */
export function reasonOf(
  context: RunContext,
  item: Interruption,
  callId: string,
  apiName: string,
): string | undefined {
  const { functionToolStateKey, name, rawItem } = item
  if (isHosted(item)) return asName(context._getHostedMcpRejectionMessage?.(item))
  const functionTool = rawItem.type === 'function_call'
  return asName(
    context.getRejectionMessage?.(functionToolStateKey ?? name ?? apiName, callId, { functionTool }),
  )
}

/** A call of the agent's, as it is told: of a function with what is known of it. */
export function callOf(
  agent: Agent,
  functions: readonly FunctionTool[],
  item: Interruption,
  apiName: string,
): ToolCallInit<unknown> {
  if (item.rawItem.type !== 'function_call') return { ...askedAbout(item), apiName }
  const toolCallId = idOf(item) ?? ''
  const said = item.rawItem.arguments
  const known = functions.find(({ name }) => name === apiName)
  if (known === undefined) return { toolCallId, apiName, args: parseArguments(said) }
  const args = argumentsOf(known, asText(said) ?? '', registrationsOf(agent))
  return initOf(known, homeOf(agent, known), args, toolCallId)
}

/**
 * The calls that the SDK refuses before it asks anybody, because of `alwaysReject` or of an `onApproval`. Nothing of ours is
 * asked about them either.
 */
export function refusals(agent: Agent, context: unknown, tools: readonly AnyTool[]): Refusals {
  const { isToolApproved } = (context ?? {}) as Partial<RunContext>
  return (rawItem, made) => {
    const item = { rawItem, name: nameOf(rawItem, tools) }
    const toolCallId = idOf(item)
    if (toolCallId === undefined || made.has(toolCallId)) return
    if (typeof isToolApproved !== 'function' || item.name === undefined) return
    if (answerTo(context as RunContext, item, toolCallId, item.name) !== false) return
    const call = callOf(agent, tools.filter(isFunctionTool), item, item.name)
    const reason = reasonOf(context as RunContext, item, toolCallId, item.name) ?? REFUSED.reason
    return { ...call, ...(isHosted(item) && { source: 'provider' }), refused: { ...REFUSED, reason } }
  }
}

/** The name of the tool that it calls, where that is one that the SDK may ask about. */
function nameOf(
  { type, name, namespace, providerData }: Item,
  tools: readonly AnyTool[],
): string | undefined {
  if (type === 'hosted_tool_call') return asName((providerData as Item | undefined)?.name)
  const kind = asText(type)?.replace(/_call$/, '')
  const called = tools.find((tool) => tool.type === kind && (kind !== 'function' || tool.name === name))
  return namespace === undefined ? (called?.name ?? called?.type) : undefined
}

const REFUSED = { kind: 'reject', reason: 'the Agents SDK was told to reject the call' } as const
