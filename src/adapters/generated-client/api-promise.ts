import { asObject } from '../../wire/reading.ts'
import { warnOnce } from '../warn-once.ts'
import type { ApiPromise, ResponseProps } from './client.ts'

/** What is told of one request whose promise is watched. */
export interface WatchedCall {
  /** The caller wants the reply read, not just the response. */
  parsing(): void
  /** The client has read the reply. Gives what the caller gets. */
  settle(value: unknown): unknown
  /** The client could not make the request, or not read the body. */
  fail(error: unknown): void
  /** The caller takes the response as it is. Gives what it gets. */
  raw(response: Response): Promise<Response>
}

/**
 * Lets a call see what its caller does with the client's promise: the same object, which can do all that it could.
 * What the client's helpers derive from it is watched, too.
 */
export function watchPromise(promise: ApiPromise, call: WatchedCall, client: object): ApiPromise {
  const { parseResponse } = promise
  if (typeof parseResponse !== 'function') {
    warnOnce('hookspan: this client reads its replies in a way that hookspan does not know. Update hookspan.')
    return promise
  }
  promise.parseResponse = async (by, props) => {
    call.parsing()
    try {
      return await call.settle(await parseResponse(by, props))
    } catch (error) {
      call.fail(error)
      throw error
    }
  }
  watchSurface(promise, call)
  if (typeof promise._responseProps === 'function') watchProps(promise, client)
  return promise
}

/**
 * A helper that makes one promise of another takes the response without reading it. Of a stream it gets one that is
 * watched, as the client reads it.
 */
function watchProps(promise: ApiPromise, client: object): void {
  const { _responseProps } = Object.getPrototypeOf(promise) as ApiPromise
  promise._responseProps = async () => {
    const props = (await _responseProps?.call(promise)) as ResponseProps
    if (props.options.stream !== true) return props
    const read = (await promise.parseResponse(client, props)) as AsyncIterable<unknown>
    const { status, headers } = props.response
    return { ...props, response: new Response(sentAgain(read), { status, headers }) }
  }
}

function sentAgain(events: AsyncIterable<unknown>): ReadableStream<Uint8Array> {
  const iterator = events[Symbol.asyncIterator]()
  const encoder = new TextEncoder()
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await iterator.next()
      if (done) return controller.close()
      const type = asObject(value)?.type
      controller.enqueue(encoder.encode(`event: ${type}\ndata: ${JSON.stringify(value)}\n\n`))
    },
    async cancel() {
      await iterator.return?.()
    },
  })
}

/** Assigned, as the client itself does: hiding the two would cost as much as a span. */
function watchSurface(promise: ApiPromise, call: WatchedCall): void {
  const { asResponse, withResponse, _thenUnwrap } = Object.getPrototypeOf(promise) as ApiPromise
  promise.asResponse = async () => {
    const response = await asResponse.call(promise)
    return call.raw(response)
  }
  // That of the class: the client puts one on the promise that reads past `parseResponse`.
  promise._thenUnwrap = (transform) => {
    const derived = _thenUnwrap.call(promise, transform)
    // That of newer clients reads first, by whichever object it is called: a reply may come of a second response.
    if (Object.hasOwn(promise, 'withResponse')) {
      derived.withResponse = async () => {
        await derived
        return withResponse.call(derived)
      }
    }
    watchSurface(derived, call)
    return derived
  }
}
