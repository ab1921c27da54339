import type { HookEvent, HumanAction } from '../../hooks/index.ts'
import { HookspanError } from '../../internal/errors.ts'
import { defined } from '../../internal/objects.ts'
import { assertWhole, loggedEvents, loggedTree } from '../event-log.ts'
import { isEvents, type ReadableTrajectory } from './read-trajectory.ts'
import { parse } from './span-calls.ts'
import { readSpans } from './spans.ts'

/** One question to a human. */
export interface HumanQuestion {
  /** The tools that it was about. */
  readonly tools: readonly string[]
  /** Where these live, one per tool; spans do not tell. */
  readonly identifiers?: readonly string[]
  /** The arguments that were shown, one per tool. */
  readonly args: readonly unknown[]
  /** Absent while nobody answered. */
  readonly action?: HumanAction
  readonly approver?: string
  readonly reason?: string
}

/**
 * What humans were asked, from events, spans, or an `AgentRun` whose events are recorded.
 *
 * @throws HookspanError `TRAJECTORY_UNREADABLE`.
 */
export function readQuestions(source: ReadableTrajectory): HumanQuestion[] {
  const events = eventsOf(source)
  if (events !== undefined) return questionsOfEvents(events)
  const spans = readSpans(source)
  if (spans !== undefined) {
    return spans
      .filter(
        ({ attributes, name }) =>
          name === 'human_intervention' || attributes['hookspan.human.action'] !== undefined,
      )
      .map(({ attributes }) => {
        const tools = attributes['hookspan.human.tools']
        return defined({
          tools: (Array.isArray(tools) ? tools : ([parse(tools)] as unknown[]).flat()).map(String),
          args: [],
          action: attributes['hookspan.human.action'] as HumanAction | undefined,
          approver: attributes['hookspan.human.approver'] as string | undefined,
          reason: attributes['hookspan.human.rejection_reason'] as string | undefined,
        })
      })
  }
  throw new HookspanError(
    'TRAJECTORY_UNREADABLE',
    'Only events and spans tell whether a human was asked. Give recordEvents(dispatcher), the `trace` fixture, or ' +
      'spans; an AgentRun will do while one of the first two records its events.',
  )
}

export function eventsOf(source: unknown): readonly HookEvent[] | undefined {
  if (isEvents(source)) return source
  if (typeof source !== 'object' || source === null) return undefined
  const { events, operationId } = source as { events?: unknown; operationId?: unknown }
  if (Array.isArray(events) && (events.length === 0 || isEvents(events))) {
    assertWhole(source)
    return events
  }
  return typeof operationId === 'string' ? loggedEvents(operationId) : undefined
}

/** The same, with those of sub-agents. */
export function eventsOfTree(source: object): readonly HookEvent[] | undefined {
  const { operationId } = source as { operationId?: unknown }
  if (Array.isArray(source) || 'events' in source || typeof operationId !== 'string') return eventsOf(source)
  return loggedTree(operationId)
}

function questionsOfEvents(events: readonly HookEvent[]): HumanQuestion[] {
  const open: { key: string; at: number }[] = []
  const questions: HumanQuestion[] = []
  for (const event of events) {
    if (event.hookType === 'beforeHumanIntervention') {
      const ids = event.pendingTools.map(({ toolCallId }) => toolCallId)
      open.push({ key: keyOf(event, ids), at: questions.length })
      questions.push({
        tools: event.pendingTools.map(({ apiName }) => apiName),
        identifiers: event.pendingTools.map(({ identifier }) => identifier),
        args: event.pendingTools.map(({ args }) => args),
      })
    } else if (event.hookType === 'afterHumanIntervention') {
      const key = keyOf(event, event.toolCallIds)
      const index = open.findIndex((one) => one.key === key)
      const found = index < 0 ? undefined : open.splice(index, 1)[0]
      const question = found === undefined ? undefined : questions[found.at]
      if (found === undefined || question === undefined) continue
      const { action, approver, rejectionReason } = event
      questions[found.at] = defined({ ...question, action, approver, reason: rejectionReason })
    }
  }
  return questions
}

type Told = HookEvent<'beforeHumanIntervention'> | HookEvent<'afterHumanIntervention'>

/** Real models repeat the ids of calls: they tell questions apart only where nothing else does. */
function keyOf({ operationId, requestId, callKey }: Told, toolCallIds: readonly string[]): string {
  return `${operationId}\n${requestId ?? callKey ?? toolCallIds.join()}`
}
