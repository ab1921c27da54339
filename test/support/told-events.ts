import { type AnyHookType, EXTENDED_HOOK_TYPES, HOOK_TYPES, HookDispatcher, type HookEvent } from 'hookspan'
import type { Gate } from 'hookspan/gates'

export const ALL_TYPES: readonly AnyHookType[] = [...HOOK_TYPES, ...EXTENDED_HOOK_TYPES]

/** The events of all hooks, in their order. */
export function eventsOf(dispatcher: HookDispatcher): HookEvent[] {
  const events: HookEvent[] = []
  dispatcher.use({
    name: 'events',
    hooks: ALL_TYPES.map((type) => ({
      id: `events-${type}`,
      type,
      handler: (event: HookEvent) => void events.push(event),
    })),
  })
  return events
}

export function dispatcherWith(...gates: Gate[]): { dispatcher: HookDispatcher; events: HookEvent[] } {
  const dispatcher = new HookDispatcher()
  dispatcher.use({ name: 'gates', gates })
  return { dispatcher, events: eventsOf(dispatcher) }
}

export const gate = (point: Gate['point'], decide: Gate['decide']): Gate => ({
  id: `at-${String(point)}`,
  point,
  decide,
})

/** A line for each event: its type, and what it is about. */
export function toldLines(): { dispatcher: HookDispatcher; told: string[] } {
  const dispatcher = new HookDispatcher()
  const told: string[] = []
  const handler = ({
    hookType,
    ...event
  }: HookEvent & { apiName?: string; agentName?: string; action?: string }) =>
    void told.push([hookType, event.action ?? event.apiName ?? event.agentName ?? ''].join(' ').trim())
  dispatcher.use({
    name: 'told',
    hooks: ALL_TYPES.map((type) => ({ id: type, type, handler: handler as never })),
  })
  return { dispatcher, told }
}

export const typesOf = (events: readonly HookEvent[]): AnyHookType[] => events.map(({ hookType }) => hookType)

export function findAll<T extends AnyHookType>(events: readonly HookEvent[], type: T): HookEvent<T>[] {
  return events.filter(({ hookType }) => hookType === type) as HookEvent<T>[]
}

/** The first of a type. */
export function find<T extends AnyHookType>(events: readonly HookEvent[], type: T): HookEvent<T> | undefined {
  return findAll(events, type)[0]
}
