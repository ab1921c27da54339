import { AsyncLocalStorage } from 'node:async_hooks'
import { subscribe } from 'node:diagnostics_channel'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Operation } from '../dispatcher/index.ts'

/** A request that is being handled. */
export interface Handled {
  readonly name: string
  op?: Operation
  over: boolean
}

const handled = new AsyncLocalStorage<Handled>()

export function currentRequest(): Handled | undefined {
  return handled.getStore()
}

/** Hears of the requests that this process handles, from its start: a handler may be what loads the first SDK. */
export function watchRequests(): void {
  if (process.versions.bun !== undefined) return watchServers()
  subscribe('http.server.request.start', (message) => {
    const { request, response } = message as { request: IncomingMessage; response: ServerResponse }
    handled.enterWith(handling(request, response))
  })
}

/** Bun tells of no requests, so they are met where its servers hand them over. */
function watchServers(): void {
  const { prototype } = process.getBuiltinModule('node:http').Server
  const { emit } = prototype
  prototype.emit = function (this: typeof prototype, event: string | symbol, ...args: unknown[]): boolean {
    const told = (): boolean => Reflect.apply(emit, this, [event, ...args])
    const [request, response] = args as [IncomingMessage, ServerResponse]
    return event === 'request' ? handled.run(handling(request, response), told) : told()
  } as typeof emit
}

function handling(request: IncomingMessage, response: ServerResponse): Handled {
  const one: Handled = { name: `${request.method} ${(request.url ?? '/').split('?')[0]}`, over: false }
  response.once('close', () => {
    one.over = true
    void one.op?.complete()
  })
  return one
}
