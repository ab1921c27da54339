import { asObject, type Loose } from '../../wire/reading.ts'
import { replace } from '../replace.ts'
import { warnOnce } from '../warn-once.ts'

/** What is asked of the other side: `params` of a request. */
export type Params = Loose & { readonly _meta?: Loose }

/** A request that the other side makes, as handlers get it. */
export interface Request {
  readonly method: string
  readonly params?: Params
}

export type Handler = (request: Request, extra: unknown) => unknown

/** A client or a server. */
interface Protocol {
  readonly _requestHandlers?: unknown
  /** Who waits for an answer, by the id of the request. Each is told when the connection closes. */
  readonly _responseHandlers?: unknown
  /** What answers where there is no handler, as of a server that hands all on to another. */
  readonly fallbackRequestHandler?: Handler
}

/** What is done around a handler, by the method of the request. */
export type Around = Readonly<Record<string, (request: Request, extra: unknown, handler: Handler) => unknown>>

/**
 * Puts something around the handlers of requests, those that are there and those to come, and around what answers
 * requests that have none.
 *
 * @returns leaves them as they were.
 */
export function watchHandlers(watched: object, around: Around, observer: string): () => void {
  const protocol = watched as Protocol
  const { _requestHandlers: handlers } = protocol
  if (!(handlers instanceof Map)) {
    warnOnce(
      `hookspan: ${observer} does not know where this version of the MCP SDK keeps its handlers: what the other side ` +
        'asks makes no hooks and no spans. Use @modelcontextprotocol/sdk 1, client and server 2, or update hookspan.',
    )
    return () => {}
  }
  return replace(handlers as Map<string, Handler>, 'get', (method) => {
    const own = Map.prototype.get.call(handlers, method) as Handler | undefined
    const wrap = Object.hasOwn(around, method) ? around[method] : undefined
    const handler = wrap ? (own ?? protocol.fallbackRequestHandler) : own
    return handler && wrap ? async (request, extra) => wrap(request, extra, handler) : handler
  })
}

/**
 * Tells when the connection closes, with the error that the SDK ends its own calls with.
 *
 * @returns stops it.
 */
export function whenClosed(watched: object, tell: (error: unknown) => void): () => void {
  const { _responseHandlers: waiting } = watched as Protocol
  if (!(waiting instanceof Map)) return () => {}
  const key = Symbol('hookspan')
  waiting.set(key, tell)
  return () => void waiting.delete(key)
}

/**
 * Tells the other side where in the trace it is asked from. What the user says wins.
 *
 * @param above where the run goes on from: a proxy that hands a request on as it came has said nothing of its own by it.
 */
export function traced<P extends Params>(params: P, traceparent: string | undefined, above?: string): P {
  if (traceparent === undefined) return params
  const { _meta } = params
  const isHandedOn = above !== undefined && _meta?.traceparent === above
  return { ...params, _meta: { traceparent, ..._meta, ...(isHandedOn && { traceparent }) } }
}

/** From where in a trace the other side asks. */
export function traceparentOf({ params }: Request): { readonly traceparent?: string } {
  const traceparent = asObject(params?._meta)?.traceparent
  return typeof traceparent === 'string' && /^[\da-f]{2}-[\da-f]{32}-[\da-f]{16}-[\da-f]{2}/.test(traceparent)
    ? { traceparent }
    : {}
}
