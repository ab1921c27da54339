import type { HookEvent } from '../../hooks/index.ts'
import { HookspanError } from '../../internal/errors.ts'
import { hadSubAgents } from '../../internal/sub-agent-runs.ts'
import { wholeRun } from '../event-log.ts'
import { callsOfEvents } from './event-calls.ts'
import { eventsOfTree, type HumanQuestion, readQuestions } from './humans.ts'
import { type ReadableTrajectory, readTrajectory } from './read-trajectory.ts'
import type { TrajectoryCall } from './types.ts'

/**
 * The calls among which one must not be. A run has those of its own agent, and whoever says what must not happen in it
 * means its sub-agents, too.
 *
 * @throws HookspanError `TRAJECTORY_UNREADABLE`, also for a run with sub-agents that nobody has recorded.
 */
export function callsInTree(source: ReadableTrajectory): TrajectoryCall[] {
  const events = treeOf(source)
  return events === undefined ? readTrajectory(source) : callsOfEvents(events)
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
  if (typeof source !== 'object' || source === null) return undefined
  if (Array.isArray(source) || 'events' in source) return undefined
  const { operationId } = source as { operationId?: unknown }
  if (typeof operationId === 'string' && wholeRun(operationId) !== undefined) return eventsOfTree(source)
  if (!hadSubAgents(source)) return undefined
  throw new HookspanError(
    'TRAJECTORY_UNREADABLE',
    'The run has had sub-agents, and what must not happen in it may be what they did: an AgentRun does not tell, and ' +
      'nobody has recorded it from its beginning. Have recordEvents(dispatcher) before the run, or the `trace` fixture. ' +
      'Where only its own agent is meant: readTrajectory(run).',
  )
}

/** ` by clerk`, where the calls are those of several agents. */
export function callerIn(calls: readonly TrajectoryCall[]): (call: TrajectoryCall) => string {
  const areSeveral = new Set(calls.map(({ agent }) => agent)).size > 1
  return ({ agent }) => (areSeveral && agent !== undefined ? ` by ${agent}` : '')
}
