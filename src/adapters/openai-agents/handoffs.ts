import type { ToolOutcome } from '../../dispatcher/index.ts'
import { toContent } from '../../internal/json.ts'
import { defined } from '../../internal/objects.ts'
import { parseArguments } from '../../wire/reading.ts'
import { isLocked } from '../replace.ts'
import { patches } from './patches.ts'
import { currentFrame, type Place } from './place.ts'
import type { Agent, HandedOver, Handoff, HandoffFilter, Item, Session } from './sdk.ts'

/**
 * A handoff is a tool call of the agent that hands over: gates decide on it, mocks may answer it. One that is not made
 * leaves the run with the agent that asked, which is told why.
 *
 * @param taken hears of the agent that goes on.
 * @returns false for one that is locked.
 */
export function observeHandoff(handoff: Handoff, agent: Agent, taken: (next: Agent) => void): boolean {
  if (typeof handoff?.onInvokeHandoff !== 'function' || patches.has(handoff)) return true
  if (isLocked(handoff, 'onInvokeHandoff')) return false
  const { onInvokeHandoff } = handoff
  observeFilter(handoff, 'inputFilter')
  patches.replace(handoff, 'onInvokeHandoff', (context, args) => {
    const invoke = (text: string) => onInvokeHandoff.call(handoff, context, text)
    const place = currentFrame()?.place
    if (place === undefined) return invoke(args)
    return handedOver(place, handoff, agent, args, async (text) => {
      const next = await invoke(text)
      taken(next as Agent)
      return next
    })
  })
  return true
}

/** What the next agent is not to be told of the conversation is left to the agent that stays. */
export function observeFilter<K extends string>(
  owner: { readonly [key in K]?: HandoffFilter | undefined },
  key: K,
): void {
  const filter = owner[key]
  if (typeof filter !== 'function' || isLocked(owner, key)) return
  const filtered: HandoffFilter = (data) => {
    const { inputHistory, preHandoffItems, newItems } = data
    const place = currentFrame()?.place
    if (place === undefined) return filter.call(owner, data)
    keepDecided(newItems, place)
    const { callId } = newItems.at(-1)?.rawItem ?? {}
    const stays = place.handoffs.get(String(callId))?.stays
    return stays ? { inputHistory, preHandoffItems, newItems } : filter.call(owner, data)
  }
  patches.replace(owner, key, filtered as never)
}

/** The SDK tells a handoff by the agent that took over; the model is told what gates made of that, or why it was refused. */
export function withDecided(items: readonly Item[], { handoffs }: Place): readonly Item[] {
  if (handoffs.size === 0) return items
  return items.map((item) => {
    const output = decidedOn(item, handoffs)
    return output === undefined ? item : { ...item, output }
  })
}

/** The same in what goes on elsewhere, and in the history that the user has of the run. */
export function keepDecided(items: HandedOver['newItems'], { handoffs }: Place): void {
  for (const { rawItem } of items) {
    const output = rawItem && decidedOn(rawItem, handoffs)
    if (output !== undefined) Object.assign(rawItem as object, { output })
  }
}

function decidedOn({ type, callId }: Item, handoffs: Place['handoffs']): object | undefined {
  const text = type === 'function_call_result' ? handoffs.get(String(callId))?.told : undefined
  return text === undefined ? undefined : { type: 'text', text }
}

/** And in what is remembered of the conversation, before the run is over. */
export function observeSession(session: Session | undefined): void {
  if (session === undefined || patches.has(session)) return
  for (const key of ['addItems', 'addItemsWithCompactionOwnership'] as const) {
    const own = session[key]
    if (typeof own !== 'function' || isLocked(session, key)) continue
    patches.replace(session, key, function (this: Session, items, ...more) {
      const place = currentFrame()?.place
      return own.call(this, place === undefined ? items : withDecided(items, place), ...more)
    })
  }
}

async function handedOver(
  place: Place,
  handoff: Handoff,
  agent: Agent,
  text: string,
  invoke: (text: string) => Promise<unknown>,
): Promise<unknown> {
  const args = parseArguments(text)
  const toolCallId = place.callIdOf(handoff.toolName)
  place.made.add(toolCallId)
  const call = (await place.step()).openToolCall<unknown, unknown>({
    ...defined({ toolCallId }),
    identifier: 'agent',
    source: 'agent',
    apiName: handoff.toolName,
    args,
    // The SDK stops for a human where it asks tools, and asks no handoff.
    parkable: false,
  })
  const tell = (told: string, stays: boolean) => {
    if (toolCallId !== undefined) place.handoffs.set(toolCallId, { told, stays })
  }
  const stays = (outcome: ToolOutcome<unknown>) => {
    tell(outcome.toToolMessage().content, true)
    return agent
  }
  const decided = await call.decided
  if (decided.state !== 'run') return stays(decided)
  let next: { readonly agent: unknown; readonly told: object } | undefined
  let thrown: { readonly error: unknown } | undefined
  const same = JSON.stringify(decided.args) === JSON.stringify(args)
  const outcome = await call.run(async (given) => {
    try {
      const taking = await invoke(same ? text : JSON.stringify(given))
      next = { agent: taking, told: { assistant: (taking as Agent | undefined)?.name } }
      return next.told
    } catch (error) {
      thrown = { error }
      throw error
    }
  })
  if (thrown !== undefined) throw thrown.error
  if (outcome.state === 'denied' || outcome.state === 'rejected') return stays(outcome)
  if (next === undefined)
    throw outcome.state === 'errored' ? outcome.error : new Error('the handoff was not made')
  const { content } = outcome.toToolMessage()
  if (content !== toContent(next.told)) tell(content, false)
  return next.agent
}
