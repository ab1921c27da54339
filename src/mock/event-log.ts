import type { HookDispatcher } from '../dispatcher/index.ts'
import { assertDispatcher } from '../dispatcher/is-dispatcher.ts'
import { type AnyHookType, EXTENDED_HOOK_TYPES, HOOK_TYPES, type HookEvent } from '../hooks/index.ts'
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
  for (const log of logs) {
    const events = log.of(operationId)
    if (events.length > 0) return events
  }
  return undefined
}

/** The same, with the events of its sub-agents. */
export function loggedTree(operationId: string): readonly HookEvent[] | undefined {
  for (const log of logs) {
    const tree = new Set([operationId])
    const events = log.events.filter(({ operationId: id, parentOperationId }) => {
      if (tree.has(parentOperationId ?? '')) tree.add(id)
      return tree.has(id)
    })
    if (events.length > 0) return events
  }
  return undefined
}

/** The events of a run from its beginning: undefined where a log has missed a part of it. */
export function wholeRun(operationId: string): readonly HookEvent[] | undefined {
  for (const log of logs) {
    const events = log.of(operationId)
    if (events[0]?.sequence === 0) return events
  }
  return undefined
}
