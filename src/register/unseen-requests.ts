import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { Plugin } from '../dispatcher/index.ts'
import { currentModelCall } from '../dispatcher/run/live-calls.ts'
import { tell } from './tell.ts'

/** By what models are asked, whoever serves them; those of images run no tools. */
const ASKS =
  /\/(?:chat\/completions|v1\/(?:messages|responses))$|\/(?![^/]*image)[^/:]+:(?:generate|streamGenerate)Content$/
/** Others' messages go to such an address, too. */
const MESSAGES = /\/messages$/

/** Of undici, or of node:http. */
interface Request {
  readonly method?: string
  readonly path?: string
  readonly origin?: unknown
  readonly host?: string
  readonly headers?: unknown
  getHeaders?(): object
}

/**
 * A program that has its SDKs bundled inside has no entry that could be heard of, and may run for months: the first request to a
 * model that nothing attached tells of says so.
 */
export class UnseenRequests {
  /** A client's own fetch() may send requests from elsewhere, as from a queue or a proxy: while one is out, any may be its. */
  #open = 0

  readonly plugin: Plugin = {
    name: 'register:unseen-requests',
    hooks: [
      { id: 'register:asking', type: 'beforeLlmCall', handler: () => void this.#open++ },
      { id: 'register:answered', type: 'afterLlmCall', handler: () => void this.#open-- },
      { id: 'register:failed', type: 'onLlmCallError', handler: () => void this.#open-- },
    ],
  }

  // Of fetch(), and of clients on node:http.
  start(): void {
    subscribe('undici:request:create', this.#look)
    subscribe('http.client.request.start', this.#look)
  }

  stop(): void {
    unsubscribe('undici:request:create', this.#look)
    unsubscribe('http.client.request.start', this.#look)
  }

  readonly #look = (message: unknown): void => {
    const { request } = message as { readonly request: Request }
    const path = request.path?.replace(/\?.*/, '') ?? ''
    if (request.method !== 'POST' || !ASKS.test(path)) return
    if (this.#open > 0 || currentModelCall() !== undefined) return
    const headers = JSON.stringify(request.getHeaders?.() ?? request.headers)
    if (MESSAGES.test(path) && !headers.includes('anthropic-version')) return
    this.stop()
    tell(
      `a model is asked (${request.origin ?? request.host}${path}) by what is not attached, a request of the program itself or an SDK ` +
        'that is bundled into it: no gate and no mock of hookspan.config.* holds there, unless the program sees to it. An SDK is ' +
        'attached that is left out of the bundle (external).',
    )
  }
}
