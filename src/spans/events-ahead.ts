import { type GateRecord, HOOK_GROUPS, type HookEvent } from '../hooks/index.ts'
import { type CallEvent, isCall, toolAskedAbout } from './event-reading.ts'

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
    const isOwn = ({ hookType }: HookEvent) => HOOK_GROUPS[hookType].group !== 'subAgent'
    return isOwn(event) ? event : (this.#after(event).find(isOwn) ?? event)
  }

  tellsEndOfStep(operationId: string, stepIndex: number): boolean {
    return this.#endedSteps.has(stepKey(operationId, stepIndex))
  }

  /** The call that a human is asked about: it has begun, but hooks hear of it only once that is decided. */
  callOf(event: HookEvent, callKey: string): CallEvent | undefined {
    const isIts = (later: CallEvent) => (later as { callKey?: string }).callKey === callKey
    return this.#after(event).filter(isCall).find(isIts) ?? waitingCall(event, callKey)
  }

  /** What gates decided about a run when it began: it is told with its end, which may come when its span is over. */
  gatesAtStart(event: HookEvent): readonly GateRecord[] {
    const end = this.#after(event).find((later) => later.hookType === 'onComplete')
    return end?.gates?.filter(({ point }) => point === 'onStart') ?? []
  }

  /** What comes later of the same operation. */
  #after(event: HookEvent): readonly HookEvent[] {
    const later = this.#events.slice(this.#events.indexOf(event) + 1)
    return later.filter(({ operationId }) => operationId === event.operationId)
  }
}

/** One that waits still: of it there is the question alone. */
function waitingCall(event: HookEvent, callKey: string): CallEvent | undefined {
  if (event.hookType !== 'beforeHumanIntervention') return undefined
  const tool = toolAskedAbout(event)
  if (tool === undefined) return undefined
  const call = { hookType: 'beforeToolCall' as const, callKey, callIndex: 0, source: 'local' as const }
  const { withinCallKey: _within, ...place } = event
  return { ...place, ...tool, ...call } as unknown as HookEvent<'beforeToolCall'>
}

function stepKey(operationId: string, stepIndex: number): string {
  return `${operationId} ${stepIndex}`
}
