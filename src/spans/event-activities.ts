import type { Activity, ActivityScope, Instrument, OperationEnd, OperationInfo } from '../dispatcher/index.ts'
import type { GateRecord, HookEvent } from '../hooks/index.ts'
import {
  activityOf,
  type CallEvent,
  type CallKind,
  callEndOf,
  cutEnd,
  errorOf,
  failureOf,
  infoOf,
  isCall,
  isEnd,
  keyOf,
  kindOf,
  mockOf,
} from './event-reading.ts'
import { EventsAhead } from './events-ahead.ts'

type Scope = ActivityScope | undefined

interface BegunCall {
  readonly kind: CallKind
  readonly key: string
  /** The tool's or the agent's. */
  readonly name: string | undefined
  readonly scope: Scope
  /** Opened before its first event was told, for a human who was asked about it. */
  early: boolean
}

/** One operation, as far as its events have told of it. */
interface Run {
  readonly info: OperationInfo
  readonly root: Scope
  /** Whether the dispatcher says of each call where it belongs; else it is guessed. */
  readonly managed: boolean
  readonly steps: Map<number, Scope>
  readonly calls: BegunCall[]
  /** By their own keys; kept after their end, because code may go on in them. */
  readonly places: Map<string, Scope>
  failure: { error?: unknown }
  closed: boolean
}

/** Beyond this many operations the oldest is ended: a runtime that never says `onComplete` must not grow us. */
const MAX_OPEN = 10_000

/**
 * Makes activities out of hook events: a `before` opens, the `after` or `onError` of the same call closes. A lone
 * `after` gives an activity of the length that it names.
 *
 * Live, for runtimes that dispatch events themselves, with what an event alone can tell; for recorded events with
 * those that follow (`ahead`), and at the times when they were told.
 */
export class EventActivities {
  readonly #instrument: Instrument
  readonly #ahead: EventsAhead | undefined
  readonly #runs = new Map<string, Run>()

  constructor(instrument: Instrument, ahead?: EventsAhead) {
    this.#instrument = instrument
    this.#ahead = ahead
  }

  onEvent(event: HookEvent): void {
    const run = this.#runOf(event)
    switch (event.hookType) {
      case 'onError':
        run.failure = errorOf(event)
        return
      case 'onComplete': {
        // Those of its start have been told where they were known.
        const atStart = this.#ahead === undefined ? undefined : 'onStart'
        const gates = event.gates?.filter(({ point }) => point !== atStart)
        this.#gates(run, event, run.root, gates)
        const failure = { ...run.failure, ...failureOf(event) }
        return this.#close(run, { ...event, kind: 'operation', ...failure }, this.#timeOf(event))
      }
      case 'beforeStep':
        return this.#beginStep(run, event)
      case 'afterStep': {
        const step = run.steps.get(event.stepIndex)
        run.steps.delete(event.stepIndex)
        this.#gates(run, event, step, event.gates)
        return step?.end({ kind: 'step', ...failureOf(event) }, this.#timeOf(event))
      }
      default:
        if (isCall(event)) this.#call(run, event)
    }
  }

  /** The operation is over without having said so. */
  onRelease(operationId: string, abandoned: boolean): void {
    const run = this.#runs.get(operationId)
    const end: OperationEnd = { kind: 'operation', ...(abandoned && { reason: 'interrupted', abandoned }) }
    if (run !== undefined) this.#close(run, end)
  }

  /** Live events are told as they happen. */
  #timeOf({ timestamp }: HookEvent): number | undefined {
    return this.#ahead === undefined ? undefined : timestamp
  }

  #runOf(event: HookEvent): Run {
    const known = this.#runs.get(event.operationId)
    if (known !== undefined && !known.closed) return known
    const info = infoOf(this.#ahead?.identityIn(event) ?? event)
    const activity: Activity = { ...(event.hookType === 'onStart' && event), kind: 'operation' }
    const run: Run = {
      info,
      root: this.#instrument.start(activity, info, this.#callerOf(info), this.#timeOf(event)),
      managed: event.hookType === 'onStart',
      steps: new Map(),
      calls: [],
      places: new Map(),
      failure: {},
      closed: false,
    }
    this.#runs.set(event.operationId, run)
    this.#gates(run, event, run.root, this.#ahead?.gatesAtStart(event))
    if (this.#ahead === undefined && this.#runs.size > MAX_OPEN) {
      this.#close(this.#runs.values().next().value as Run, { kind: 'operation', abandoned: true })
    }
    return run
  }

  /** Where a child operation hangs. */
  #callerOf({ parentOperationId = '', parentCallKey, agentName }: OperationInfo): Scope {
    const parent = this.#runs.get(parentOperationId)
    if (parent === undefined) return undefined
    if (parentCallKey !== undefined) return parent.places.get(parentCallKey) ?? parent.root
    if (parent.managed) return parent.root
    const { calls } = parent
    const call =
      calls.findLast(({ kind, name }) => kind === 'agent' && name === agentName) ??
      calls.findLast(({ kind }) => kind === 'agent') ??
      calls.findLast(({ kind, name }) => kind === 'tool' && name === agentName)
    return call?.scope ?? lastStep(parent) ?? parent.root
  }

  #beginStep(run: Run, event: HookEvent<'beforeStep'>): void {
    const { stepIndex, stepType } = event
    // A runtime that never says when a step is over begins the next one.
    for (const [index, step] of run.steps) {
      if (this.#ahead?.tellsEndOfStep(run.info.operationId, index)) continue
      step?.end({ kind: 'step' }, this.#timeOf(event))
      run.steps.delete(index)
    }
    run.steps.set(stepIndex, this.#start(run, run.root, { kind: 'step', stepIndex, stepType }, event))
  }

  #call(run: Run, event: CallEvent): void {
    const key = keyOf(event)
    const known = run.calls.find((call) => call.key === key && (isEnd(event) || call.early))
    // The failure of a sub-agent that has finished is told after its end.
    if (known === undefined && event.hookType === 'onCallAgentError' && hasEnded(run, event)) return
    const call = known ?? this.#open(run, event, this.#placeOf(run, event))
    call.early = false
    if (!isEnd(event)) return
    run.calls.splice(run.calls.indexOf(call), 1)
    const mock = mockOf(event)
    if (mock !== undefined) call.scope?.annotate?.(mock)
    if ('gates' in event) this.#gates(run, event, call.scope, event.gates)
    call.scope?.end(callEndOf(event), this.#timeOf(event))
  }

  #open(run: Run, event: CallEvent, parent: Scope, at: HookEvent = event): BegunCall {
    const activity = activityOf(event)
    const scope = this.#start(run, parent, activity, at)
    const call = {
      kind: kindOf(event),
      key: keyOf(event),
      name: nameOf(activity),
      scope,
      early: at !== event,
    }
    run.calls.push(call)
    const { callKey } = event as { callKey?: string }
    if (callKey !== undefined) run.places.set(callKey, scope)
    return call
  }

  #start(run: Run, parent: Scope, activity: Activity, event: HookEvent): Scope {
    const { executionTimeMs, waitedMs = executionTimeMs } = event as {
      executionTimeMs?: number
      waitedMs?: number
    }
    // An end whose beginning was never told began as long ago as it says.
    const time = waitedMs === undefined ? this.#timeOf(event) : event.timestamp - waitedMs
    return this.#instrument.start(activity, run.info, parent, time)
  }

  #placeOf(run: Run, event: CallEvent): Scope {
    const { stepIndex, withinCallKey } = event
    const call = withinCallKey === undefined ? undefined : this.#callAt(run, event, withinCallKey)
    const step = stepIndex === undefined ? undefined : run.steps.get(stepIndex)
    return call ?? step ?? (run.managed ? undefined : lastStep(run)) ?? run.root
  }

  #callAt(run: Run, event: CallEvent, callKey: string): Scope {
    const known = run.places.get(callKey)
    const asked = known === undefined ? this.#ahead?.callOf(event, callKey) : undefined
    return asked === undefined ? known : this.#open(run, asked, this.#placeOf(run, asked), event).scope
  }

  /** What gates decided is told with the end of what they decided on. */
  #gates(run: Run, event: HookEvent, place: Scope, gates: readonly GateRecord[] = []): void {
    for (const gate of gates) {
      if (gate.runtime === undefined) {
        place?.annotate?.({ kind: 'gate', record: gate })
        continue
      }
      const activity = { kind: 'gate', gateId: gate.gateId, point: gate.point } as const
      const scope = this.#instrument.start(activity, run.info, place, event.timestamp - gate.durationMs)
      scope?.end({ kind: 'gate', gate }, event.timestamp)
    }
  }

  #close(run: Run, end: OperationEnd, time?: number): void {
    run.closed = true
    // Recorded events may still tell of what happened below it.
    if (this.#ahead === undefined) this.#runs.delete(run.info.operationId)
    for (const { kind, scope } of run.calls.reverse()) scope?.end(cutEnd(kind), time)
    for (const step of run.steps.values()) step?.end({ kind: 'step' }, time)
    run.root?.end(end, time)
  }
}

/** An instrument that is also told of operations that are driven by `dispatch` alone. */
export function withEvents(instrument: Instrument): Instrument {
  const activities = new EventActivities(instrument)
  return {
    start: (activity, info, parent, timestamp) => instrument.start(activity, info, parent, timestamp),
    onEvent: (event) => activities.onEvent(event),
    onRelease: (operationId, { abandoned }) => activities.onRelease(operationId, abandoned),
  }
}

/** Tells an instrument what recorded events tell. What they leave open stays open. */
export function tellEvents(events: readonly HookEvent[], instrument: Instrument): void {
  const activities = new EventActivities(instrument, new EventsAhead(events))
  for (const event of events) activities.onEvent(event)
}

function hasEnded(run: Run, { callKey }: { readonly callKey?: string }): boolean {
  return callKey !== undefined && run.places.has(callKey)
}

function lastStep(run: Run): Scope {
  return [...run.steps.values()].at(-1)
}

function nameOf(activity: Activity): string | undefined {
  if (activity.kind === 'tool') return activity.apiName
  return activity.kind === 'agent' ? (activity.agentName ?? activity.agentId) : undefined
}
