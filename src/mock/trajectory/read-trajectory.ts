import type { HookEvent } from '../../hooks/index.ts'
import { isThenable } from '../../internal/async.ts'
import { HookspanError } from '../../internal/errors.ts'
import { expected } from '../../internal/expect.ts'
import { assertWhole, wholeRun } from '../event-log.ts'
import { callsOfEvents } from './event-calls.ts'
import { callsOfMessages } from './message-calls.ts'
import { callsOfSpans } from './span-calls.ts'
import { readSpans } from './spans.ts'
import type { TrajectoryCall } from './types.ts'

/**
 * What tool calls can be read from: an `AgentRun`, hook events, spans (of the OpenTelemetry SDK, OTLP JSON, Jaeger's
 * JSON), chat messages, calls, or an object with `events`.
 */
export type ReadableTrajectory = object

/** @throws HookspanError `TRAJECTORY_UNREADABLE`. */
export function readTrajectory(source: ReadableTrajectory): TrajectoryCall[] {
  const read = tryRead(source)
  if (read !== undefined) return read
  throw unreadable('an AgentRun, hook events, spans, OTLP or Jaeger JSON, chat messages or calls', source)
}

export function unreadable(kinds: string, source: unknown): HookspanError {
  if (!isThenable(source)) return expected(kinds, source, 'TRAJECTORY_UNREADABLE')
  return new HookspanError('TRAJECTORY_UNREADABLE', `Expected ${kinds}, got a promise. Await it first.`)
}

function tryRead(source: unknown): TrajectoryCall[] | undefined {
  if (typeof source !== 'object' || source === null) return undefined
  if (Array.isArray(source)) return readList(source)
  const { messages, events, operationId } = source as Record<string, unknown>
  if (Array.isArray(events)) {
    assertWhole(source)
    return tryRead(events)
  }
  // Messages hold what was said before the run, too, and not which arguments a gate or a human has changed.
  const recorded = typeof operationId === 'string' ? wholeRun(operationId) : undefined
  if (recorded !== undefined) return callsOfEvents(recorded)
  if (Array.isArray(messages)) return callsOfMessages(messages)
  const spans = readSpans(source)
  return spans && callsOfSpans(spans)
}

function readList(list: readonly unknown[]): TrajectoryCall[] | undefined {
  if (list.length === 0) return []
  const every = (test: (item: Record<string, unknown>) => boolean) =>
    list.every((item) => typeof item === 'object' && item !== null && test(item as Record<string, unknown>))
  if (isEvents(list)) return callsOfEvents(list)
  const spans = readSpans(list)
  if (spans !== undefined) return callsOfSpans(spans)
  if (every((item) => typeof item.apiName === 'string')) {
    return (list as readonly { apiName: string; args: unknown }[]).map(({ apiName, args, ...more }) => ({
      ...more,
      name: apiName,
      args,
      outcome: 'unknown',
    }))
  }
  if (every((item) => typeof item.name === 'string' && !('role' in item) && !('type' in item))) {
    return (list as readonly TrajectoryCall[]).map((call) => ({
      ...call,
      args: call.args,
      outcome: call.outcome ?? 'unknown',
    }))
  }
  return every((item) => 'role' in item || 'type' in item) ? callsOfMessages(list) : undefined
}

export function isEvents(source: unknown): source is readonly HookEvent[] {
  return (
    Array.isArray(source) && source.length > 0 && source.every((item) => typeof item?.hookType === 'string')
  )
}
