import { channel as diagnosticsChannel } from 'node:diagnostics_channel'
import { EventEmitter } from 'node:events'
import { HookDispatcher } from 'hookspan'
import type { Listener, MakeChannel } from './dispatch-channel.ts'
import type { EventForm } from './dispatch-events.ts'

const OPERATION = 'op-1'

function hooksOf(listeners: Listener[], type: EventForm['type']) {
  return listeners.map((handler, index) => ({ id: `hook-${index}`, type, handler }))
}

function hookspan(
  register: (dispatcher: HookDispatcher, listeners: Listener[], form: EventForm) => void,
): MakeChannel {
  return (listeners, form) => {
    const dispatcher = new HookDispatcher()
    register(dispatcher, listeners, form)
    const { type } = form
    return {
      fire: (event) => dispatcher.dispatch(OPERATION, type, event),
      settled: () => dispatcher.drain(OPERATION),
    }
  }
}

/** A deep copy of plain data, as one writes it once. */
function copyOf(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(copyOf)
  const copy: Record<string, unknown> = {}
  for (const key in value) copy[key] = copyOf((value as Record<string, unknown>)[key])
  return copy
}

const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve))

export const channels: Record<string, MakeChannel> = {
  hookspan: hookspan((dispatcher, listeners, { type }) => {
    if (listeners.length > 0) dispatcher.register(OPERATION, hooksOf(listeners, type))
  }),

  'hookspan-other': hookspan((dispatcher) => {
    dispatcher.register(OPERATION, [{ id: 'other', type: 'onComplete', handler: () => {} }])
  }),

  floor: (listeners, { type }) => {
    const emitter = new EventEmitter()
    for (const listener of listeners) emitter.on(type, listener)
    let sequence = 0
    return {
      fire: (event) =>
        emitter.emit(type, {
          ...event,
          hookType: type,
          operationId: OPERATION,
          sequence: sequence++,
          timestamp: Date.now(),
        }),
      settled: nextTurn,
    }
  },

  // Copies of what the runtime hands over, whatever the field is called.
  'floor-copies': (listeners, { type }) => {
    let sequence = 0
    return {
      fire: (event) => {
        const number = sequence++
        const timestamp = Date.now()
        for (const listener of listeners) {
          const own: Record<string, unknown> = {
            ...event,
            hookType: type,
            operationId: OPERATION,
            sequence: number,
            timestamp,
          }
          for (const key in own) own[key] = copyOf(own[key])
          listener(own as never)
        }
      },
      settled: nextTurn,
    }
  },

  emitter: (listeners, { type }) => {
    const emitter = new EventEmitter()
    for (const listener of listeners) emitter.on(type, listener)
    return { fire: (event) => emitter.emit(type, event), settled: nextTurn }
  },

  channel: (listeners, { type }) => {
    const channel = diagnosticsChannel(`bench:${type}`)
    for (const listener of listeners) channel.subscribe(listener as (event: unknown) => void)
    return {
      fire: (event) => {
        if (channel.hasSubscribers) channel.publish(event)
      },
      settled: nextTurn,
    }
  },
}
