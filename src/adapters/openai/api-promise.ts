import { type ApiPromise, type ResponseProps, warnOnce } from './client.ts'
import type { ObservedCall } from './observed-call.ts'

type ParseResponse = ApiPromise['parseResponse']
type PromiseClass = new (client: object, response: Promise<ResponseProps>, parse: ParseResponse) => ApiPromise
type WatchedClass = new (
  client: object,
  inner: ApiPromise,
  parse: ParseResponse,
  call: ObservedCall,
) => ApiPromise

/** By the client's own class of promises, of which there is one per copy of the package. */
const classes = new WeakMap<object, WatchedClass>()

/**
 * Lets a call see what its caller does with the client's promise. What comes back can do all that the client's own
 * can, and whatever the client's helpers derive from it is watched, too.
 */
export function watchPromise(client: object, promise: ApiPromise, call: ObservedCall): ApiPromise {
  const { parseResponse } = promise
  if (typeof parseResponse !== 'function') {
    warnOnce(
      'hookspan: this openai client reads its replies in a way that hookspan does not know. Update hookspan.',
    )
    return promise
  }
  const parse: ParseResponse = async (by, props) => call.settle(await parseResponse(by, props))
  return watched(client, promise, parse, call)
}

function watched(client: object, promise: ApiPromise, parse: ParseResponse, call: ObservedCall): ApiPromise {
  const base = promise.constructor
  let Watched = classes.get(base)
  if (Watched === undefined) {
    Watched = watchedClass(base as PromiseClass)
    classes.set(base, Watched)
  }
  return new Watched(client, promise, parse, call)
}

/** A class, because properties put on each single promise would cost as much as a span. */
function watchedClass(Base: PromiseClass): WatchedClass {
  const Watched = class extends Base {
    readonly #client: object
    readonly #call: ObservedCall

    constructor(client: object, inner: ApiPromise, parse: ParseResponse, call: ObservedCall) {
      super(client, inner.responsePromise, parse)
      this.#client = client
      this.#call = call
    }

    override parse(): Promise<unknown> {
      const call = this.#call
      call.parsing()
      const parsed = super.parse()
      parsed.catch((error: unknown) => call.fail(error))
      return parsed
    }

    override async asResponse(): Promise<Response> {
      const response = await super.asResponse()
      return this.#call.raw(response)
    }

    override _thenUnwrap(transform: (value: unknown, props: ResponseProps) => unknown): ApiPromise {
      const derived = super._thenUnwrap(transform)
      return watched(this.#client, derived, derived.parseResponse, this.#call)
    }
  }
  Object.defineProperty(Watched, 'name', { value: Base.name })
  return Watched
}

/**
 * Puts an own property in the way, which does not show up when the object is listed, spread or logged.
 *
 * @returns takes it away again, unless somebody put another in its place.
 */
export function replace<T extends object, K extends keyof T>(object: T, key: K, value: T[K]): () => void {
  const before = Object.getOwnPropertyDescriptor(object, key)
  Object.defineProperty(object, key, { value, configurable: true, writable: true, enumerable: false })
  return () => {
    if (object[key] !== value) return
    if (before === undefined) delete object[key]
    else Object.defineProperty(object, key, before)
  }
}
