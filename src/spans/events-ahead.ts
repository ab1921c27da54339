import { HOOK_GROUPS, type HookEvent } from '../hooks/index.ts'

type ToolEvent = HookEvent<'beforeToolCall' | 'afterToolCall' | 'onToolCallError'>

/** What recorded events tell of the future: what a live listener learns too late. */
export class EventsAhead {
  readonly #events: readonly HookEvent[]
  readonly #endedSteps = new Set<string>()

  constructor(events: readonly HookEvent[]) {
    this.#events = events
    for (const event of events) {
      if (event.hookType === 'afterStep') this.#endedSteps.add(stepKey(event.operationId, event.stepIndex))
    }
  }

  /** An event that says who the operation is: one about a sub-agent names that one instead. */
  identityIn(event: HookEvent): HookEvent {
    if (HOOK_GROUPS[event.hookType].group !== 'subAgent') return event
    const own = this.#after(event).find(
      ({ operationId, hookType }) =>
        operationId === event.operationId && HOOK_GROUPS[hookType].group !== 'subAgent',
    )
    return own ?? event
  }

  tellsEndOfStep(operationId: string, stepIndex: number): boolean {
    return this.#endedSteps.has(stepKey(operationId, stepIndex))
  }

  /** The tool call that a human is asked about: it has begun, but hooks hear of it only once that is decided. */
  toolAskedAbout(event: HookEvent<'beforeHumanIntervention'>): ToolEvent | undefined {
    const toolCallId = event.pendingTools?.[0]?.toolCallId
    return this.#after(event).find(
      (later): later is ToolEvent =>
        later.operationId === event.operationId &&
        HOOK_GROUPS[later.hookType].group === 'tool' &&
        (later as ToolEvent).toolCallId === toolCallId,
    )
  }

  #after(event: HookEvent): readonly HookEvent[] {
    return this.#events.slice(this.#events.indexOf(event) + 1)
  }
}

function stepKey(operationId: string, stepIndex: number): string {
  return `${operationId} ${stepIndex}`
}
