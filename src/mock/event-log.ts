import type { HookDispatcher } from '../dispatcher/index.ts'
import { assertDispatcher } from '../dispatcher/is-dispatcher.ts'
import { type AnyHookType, EXTENDED_HOOK_TYPES, HOOK_TYPES, type HookEvent } from '../hooks/index.ts'
import { HookspanError } from '../internal/errors.ts'
import { a, assertFields } from '../internal/expect.ts'

/** How many events a log keeps; past it the oldest go. */
const DEFAULT_MAX_EVENTS = 10_000

/** Everything that happens in a dispatcher's operations, kept for assertions. */
export interface EventLog extends Disposable {
  readonly events: readonly HookEvent[]
  /** Events that were dropped because the log was full. */
  readonly dropped: number
  /** The events of one operation. */
  of(operationId: string): readonly HookEvent[]
  clear(): void
}

const logs = new Set<EventLog>()
let nextId = 0

/**
 * Keeps every event of a dispatcher, until it is disposed.
 *
 * @example
 * using log = recordEvents(dispatcher)
 * await execAgent({ agent, prompt, dispatcher })
 * expect(log).toHaveAskedHuman('refund')
 */
export function recordEvents(dispatcher: HookDispatcher, options: { maxEvents?: number } = {}): EventLog {
  assertDispatcher(dispatcher, 'recordEvents')
  assertFields(options, { maxEvents: a.number(1) }, 'recordEvents')
  const { maxEvents = DEFAULT_MAX_EVENTS } = options
  const events: HookEvent[] = []
  let dropped = 0
  const id = nextId++
  const handler = (event: HookEvent) => {
    events.push(event)
    if (events.length <= maxEvents) return
    events.shift()
    dropped++
  }
  const types: readonly AnyHookType[] = [...HOOK_TYPES, ...EXTENDED_HOOK_TYPES]
  const undo = dispatcher.use({
    name: `event log ${id}`,
    hooks: types.map((type) => ({ id: `hookspan.log.${id}.${type}`, type, handler })),
  })
  const log: EventLog = {
    events,
    get dropped() {
      return dropped
    },
    of: (operationId) => events.filter((event) => event.operationId === operationId),
    clear: () => void events.splice(0),
    [Symbol.dispose]: () => {
      logs.delete(log)
      undo[Symbol.dispose]()
    },
  }
  logs.add(log)
  return log
}

/** The events of a run, where any log has them: an `AgentRun` itself does not tell who was asked. */
export function loggedEvents(operationId: string): readonly HookEvent[] | undefined {
  return logOf(operationId)?.of(operationId)
}

/** The same, with the events of its sub-agents. */
export function loggedTree(operationId: string): readonly HookEvent[] | undefined {
  const tree = new Set([operationId])
  return logOf(operationId)?.events.filter(({ operationId: id, parentOperationId }) => {
    if (tree.has(parentOperationId ?? '')) tree.add(id)
    return tree.has(id)
  })
}

/** The events of a run from its beginning: undefined where a log has missed a part of it. */
export function wholeRun(operationId: string): readonly HookEvent[] | undefined {
  return eventsIn(operationId).find(isBeginning)
}

/** The one that has seen the run begin; else one that came later, or has what went on here, but has lost nothing. */
function logOf(operationId: string): EventLog | undefined {
  const all = [...logs]
  const found = eventsIn(operationId)
  const whole = found.findIndex(isBeginning)
  return all[
    whole >= 0 ? whole : found.findIndex((events, at) => events.length > 0 && all[at]?.dropped === 0)
  ]
}

const eventsIn = (operationId: string) => [...logs].map((log) => log.of(operationId))
const isBeginning = ([first]: readonly HookEvent[]) => first?.sequence === 0

/** @throws HookspanError `TRAJECTORY_UNREADABLE` for a log that was full: what it has lost would be what did not happen. */
export function assertWhole(log: object): void {
  const { dropped } = log as { dropped?: unknown }
  if (typeof dropped !== 'number' || dropped === 0) return
  throw new HookspanError(
    'TRAJECTORY_UNREADABLE',
    `The log was full, and has dropped the first ${dropped} events. Keep more: recordEvents(dispatcher, { maxEvents }).`,
  )
}
