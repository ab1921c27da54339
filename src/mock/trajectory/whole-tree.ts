import type { HookEvent } from '../../hooks/index.ts'
import { HookspanError } from '../../internal/errors.ts'
import { defined } from '../../internal/objects.ts'
import { runsInTree } from '../../internal/sub-agent-runs.ts'
import { wholeRun } from '../event-log.ts'
import { callsOfEvents } from './event-calls.ts'
import { eventsOfTree, type HumanQuestion, readQuestions } from './humans.ts'
import { type ReadableTrajectory, readTrajectory } from './read-trajectory.ts'
import type { TrajectoryCall } from './types.ts'

/**
 * The calls among which one must not be. A run has those of its own agent, and whoever says what must not happen in it
 * means its sub-agents, too.
 *
 * @throws HookspanError `TRAJECTORY_UNREADABLE`, also for a run whose sub-agents nobody knows.
 */
export function callsInTree(source: ReadableTrajectory): TrajectoryCall[] {
  const events = treeOf(source)
  if (events !== undefined) return callsOfEvents(events)
  const runs = isRun(source) ? runsInTree(source) : undefined
  if (runs === undefined || runs.length === 1) return readTrajectory(source)
  return runs.flatMap(({ run = {}, agentName: agent }) =>
    readTrajectory(run).map((call) => ({ ...defined({ agent }), ...call })),
  )
}

/** The same of what humans were asked. */
export function questionsInTree(source: ReadableTrajectory): HumanQuestion[] {
  const events = eventsInTree(source)
  return readQuestions(events === undefined ? source : { events })
}

/** The events, of a run that is recorded in part as many as there are; undefined for a source that has none. */
export function eventsInTree(source: ReadableTrajectory): readonly HookEvent[] | undefined {
  return treeOf(source) ?? eventsOfTree(source)
}

function treeOf(source: ReadableTrajectory): readonly HookEvent[] | undefined {
  if (!isRun(source)) return undefined
  const { operationId } = source
  if (typeof operationId === 'string' && wholeRun(operationId) !== undefined) return eventsOfTree(source)
  if (runsInTree(source) !== undefined) return undefined
  throw new HookspanError(
    'TRAJECTORY_UNREADABLE',
    'The run has had agents below it, and what must not happen in it may be what they did: an AgentRun does not tell, and ' +
      'nobody has recorded it from its beginning. Have recordEvents(dispatcher) before the run, or the `trace` fixture. ' +
      'Where only its own agent is meant: readTrajectory(run).',
  )
}

function isRun(source: unknown): source is { readonly operationId?: unknown } {
  return typeof source === 'object' && source !== null && !Array.isArray(source) && !('events' in source)
}

/** ` by clerk`, where the calls are those of several agents. */
export function callerIn(calls: readonly TrajectoryCall[]): (call: TrajectoryCall) => string {
  const areSeveral = new Set(calls.map(({ agent }) => agent)).size > 1
  return ({ agent }) => (areSeveral && agent !== undefined ? ` by ${agent}` : '')
}
