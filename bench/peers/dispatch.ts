import Emittery from 'emittery'
import { createHooks } from 'hookable'
import { AsyncParallelHook, SyncHook } from 'tapable'
import type { MakeChannel } from '../suites/dispatch-channel.ts'

/** An asynchronous listener is an AsyncFunction; everything else is called as synchronous. */
const isAsync = (listener: object | undefined) => listener?.constructor.name === 'AsyncFunction'

/** Fires without waiting, as a runtime would; keeps the last promise for the end of a burst. */
function following(fire: (event: object) => unknown) {
  let last: unknown
  return {
    fire: (event: object) => {
      last = fire(event)
    },
    settled: async () => last,
  }
}

export const channels: Record<string, MakeChannel> = {
  tapable: (listeners) => {
    if (isAsync(listeners[0])) {
      const hook = new AsyncParallelHook<[object]>(['event'])
      for (const [index, listener] of listeners.entries())
        hook.tapPromise(`tap-${index}`, async (e) => listener(e))
      return following((event) => hook.promise(event))
    }
    const hook = new SyncHook<[object]>(['event'])
    for (const [index, listener] of listeners.entries())
      hook.tap(`tap-${index}`, (event) => void listener(event))
    return { fire: (event) => hook.call(event), settled: async () => {} }
  },

  hookable: (listeners, { type }) => {
    const hooks = createHooks()
    for (const listener of listeners) hooks.hook(type, listener)
    return following((event) => hooks.callHook(type, event))
  },

  emittery: (listeners, { type }) => {
    const emitter = new Emittery()
    for (const listener of listeners) emitter.on(type, ({ data }) => listener(data as object))
    return { ...following((event) => emitter.emit(type, event)), deferred: true }
  },
}
