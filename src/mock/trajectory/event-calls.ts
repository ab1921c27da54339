import type { HookEvent } from '../../hooks/index.ts'
import { defined } from '../../internal/objects.ts'
import type { TrajectoryCall } from './types.ts'

type Ended = HookEvent<'afterToolCall'> | HookEvent<'onToolCallError'>

interface Pair {
  start?: HookEvent<'beforeToolCall'>
  end?: Ended
}

/** The tool calls among events, in the order in which they were made. */
export function callsOfEvents(events: readonly HookEvent[]): TrajectoryCall[] {
  const pairs: Pair[] = []
  const open = new Map<string, Pair[]>()
  for (const event of events) {
    if (event.hookType === 'beforeToolCall') {
      const pair: Pair = { start: event }
      pairs.push(pair)
      const key = keyOf(event)
      open.set(key, [...(open.get(key) ?? []), pair])
    } else if (event.hookType === 'afterToolCall' || event.hookType === 'onToolCallError') {
      // Real models repeat ids: without a key of its own, the first open call of an id is the one that ended.
      const pair = open.get(keyOf(event))?.shift()
      if (pair !== undefined) pair.end = event
      else pairs.push({ end: event })
    }
  }
  return pairs.map(({ start, end }) => toCall(start, end))
}

function keyOf({ operationId, callKey, toolCallId }: HookEvent<'beforeToolCall'> | Ended): string {
  return `${operationId}\n${callKey ?? toolCallId}`
}

function toCall(start: HookEvent<'beforeToolCall'> | undefined, end: Ended | undefined): TrajectoryCall {
  const event = (end ?? start) as Ended | HookEvent<'beforeToolCall'>
  const { apiName, args, identifier, toolCallId, agentName } = event
  const call = { name: apiName, args, identifier, toolCallId, ...defined({ agent: agentName }) }
  if (end === undefined) return { ...call, outcome: 'unknown' }
  const mockSource = end.mocked ? { mockSource: end.mockSource ?? 'mock' } : {}
  if (end.hookType === 'onToolCallError')
    return { ...call, ...mockSource, outcome: 'errored', reason: end.errorMessage }
  return {
    ...call,
    ...mockSource,
    outcome: end.outcome ?? (end.mocked ? 'mocked' : 'completed'),
    ...defined({ result: end.result, code: end.code, reason: end.reason }),
  }
}
