import { defined } from '../../internal/objects.ts'
import { asName, asObject, parseArguments } from '../../wire/reading.ts'
import { operationOf } from './own-tools.ts'
import type { AskedHuman, Place } from './place.ts'
import type { Interruption, RunState } from './sdk.ts'

/**
 * Tells whom the SDK waits for because of its own tools (a shell, a patch, a computer) and of the provider's (hosted MCP): the
 * run has stopped for them by then, as no function of ours comes between.
 */
export async function tellAsked(place: Place, state: RunState): Promise<void> {
  for (const item of state.getInterruptions()) {
    place.made.add(idOf(item))
    // What waits in an agent that is a tool is told in its own run.
    if (item.rawItem.type === 'function_call' || item.agent !== state._currentAgent) continue
    const about = askedAbout(item)
    const step = await place.step()
    // What the provider is to run comes with a reply, as a call of its own.
    if (!isHosted(item)) await step.openToolCall<unknown, unknown>({ ...about, asksFirst: true }).decided
    place.askHuman(step, about)
  }
}

/** What it is about: a call that is none of a function. */
export function askedAbout(item: Interruption): Omit<AskedHuman, 'askedAt'> {
  const toolCallId = idOf(item) ?? ''
  const { name, rawItem } = item
  if (!isHosted(item)) return { toolCallId, apiName: name ?? '', args: operationOf(rawItem) }
  const { name: called = name, arguments: args, server_label: server } = asObject(rawItem.providerData) ?? {}
  return {
    ...{ toolCallId, apiName: asName(called) ?? '', args: parseArguments(args) },
    ...defined({ identifier: asName(server) }),
  }
}

export function isHosted({ rawItem }: Interruption): boolean {
  return rawItem.type === 'hosted_tool_call'
}

/** A state that was read from its text has a hosted call's id beside alone. */
export function idOf({ rawItem }: Interruption): string | undefined {
  return asName(rawItem.callId) ?? asName(asObject(rawItem.providerData)?.id) ?? asName(rawItem.id)
}
