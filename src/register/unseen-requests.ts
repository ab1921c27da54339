import { subscribe } from 'node:diagnostics_channel'
import { currentModelCall } from '../dispatcher/run/live-calls.ts'
import { tell } from './tell.ts'

/** By what models are asked, whoever serves them. */
const ASKS = /\/(?:chat\/completions|v1\/(?:messages|responses))$|:(?:generate|streamGenerate)Content$/

interface Request {
  readonly method?: string
  readonly path?: string
}

/**
 * A program that has its SDKs bundled inside has no entry that could be heard of, and may run for months: the first request to a
 * model that nothing attached tells of says so.
 */
export function tellUnseenRequests(): void {
  const look = (message: unknown) => {
    const { method, path = '' } = (message as { readonly request: Request }).request
    if (method !== 'POST' || currentModelCall() !== undefined || !ASKS.test(path.replace(/\?.*/, ''))) return
    tell(
      'a model is asked by what is not attached, such as an SDK that is bundled into the program: no gate and no mock of hookspan.config.* ' +
        'holds there, unless the program sees to it. Leave the SDK out of the bundle (external).',
    )
  }
  // Of fetch(), and of clients on node:http.
  subscribe('undici:request:create', look)
  subscribe('http.client.request.start', look)
}
