import type { HookEvent, PendingTool } from '../../hooks/index.ts'
import { defined } from '../../internal/objects.ts'
import { toolAskedAbout } from '../../spans/event-reading.ts'
import { callNumber } from '../call-number.ts'
import type { TrajectoryCall } from './types.ts'

type Ended = HookEvent<'afterToolCall'> | HookEvent<'onToolCallError'>
type Asked = HookEvent<'beforeHumanIntervention'>

interface Call {
  /** A gate asks a human about it, before its first event. */
  asked?: Asked
  start?: HookEvent<'beforeToolCall'>
  end?: Ended
}

/** The tool calls among events: those of an operation in the order in which they were made. */
export function callsOfEvents(events: readonly HookEvent[]): TrajectoryCall[] {
  const calls: Call[] = []
  const open = new Map<string, Call[]>()
  const begin = (key: string, call: Call) => {
    calls.push(call)
    open.set(key, [...(open.get(key) ?? []), call])
  }
  for (const event of events) {
    if (event.hookType === 'beforeHumanIntervention' && toolAskedAbout(event)) {
      const key = keyOf({ ...event, callKey: event.withinCallKey })
      if (open.get(key) === undefined) begin(key, { asked: event })
    } else if (event.hookType === 'beforeToolCall') {
      const asked = open.get(keyOf(event))?.find(({ asked, start }) => asked && !start)
      if (asked !== undefined) asked.start = event
      else begin(keyOf(event), { start: event })
    } else if (event.hookType === 'afterToolCall' || event.hookType === 'onToolCallError') {
      // Real models repeat ids: without a key of its own, the first open call of an id is the one that ended.
      const call = open.get(keyOf(event))?.shift()
      if (call !== undefined) call.end = event
      else calls.push({ end: event })
    }
  }
  return inOrderMade(calls).map(toCall)
}

function keyOf({
  operationId,
  callKey,
  toolCallId,
}: Pick<HookEvent, 'operationId'> & { callKey?: string | undefined; toolCallId?: string }): string {
  return `${operationId}\n${callKey ?? toolCallId}`
}

/** One that gates think about longer than about the next has its first event later, and one that they refuse only a last. */
function inOrderMade(calls: readonly Call[]): Call[] {
  const ordered = [...calls]
  const places = Map.groupBy(calls.keys(), (index) => firstOf(calls[index] as Call).operationId)
  for (const indices of places.values()) {
    const own = indices.map((index) => calls[index] as Call)
    if (own.some((call) => Number.isNaN(keyNumber(call)))) continue
    own.sort((a, b) => keyNumber(a) - keyNumber(b))
    for (const [at, index] of indices.entries()) ordered[index] = own[at] as Call
  }
  return ordered
}

function keyNumber(call: Call): number {
  const first = firstOf(call)
  const key = first.hookType === 'beforeHumanIntervention' ? first.withinCallKey : first.callKey
  return callNumber(key) ?? Number.NaN
}

function firstOf({ asked, start, end }: Call): Asked | HookEvent<'beforeToolCall'> | Ended {
  return (asked ?? start ?? end) as Asked | HookEvent<'beforeToolCall'> | Ended
}

function toCall({ asked, start, end }: Call): TrajectoryCall {
  const event = end ?? start
  if (event === undefined) {
    const { pendingTools, agentName } = asked as Asked
    const { apiName, args, identifier, toolCallId } = pendingTools[0] as PendingTool
    return {
      name: apiName,
      args,
      identifier,
      toolCallId,
      ...defined({ agent: agentName }),
      outcome: 'waiting',
    }
  }
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
