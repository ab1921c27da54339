import { wrapTools } from '../../adapter/wrap-tools.ts'
import { defined } from '../../internal/objects.ts'
import type { ObserveOptions } from '../generated-client/options.ts'
import { allOrNone, replace } from '../replace.ts'

type Handler = (args: unknown, ...more: unknown[]) => unknown

interface Given {
  readonly toolHandlers?: Readonly<Record<string, unknown>> | null
}

/** Of `beta.agents`. */
interface Sessions {
  create(body: Given, ...more: unknown[]): unknown
  stream(sessionId: string, params: Given, ...more: unknown[]): unknown
}

/** Makes the functions that sessions of hosted agents have run here tool calls. @returns leaves the client as it was. */
export function watchSessions(client: object, options: ObserveOptions): () => void {
  const { sessions } = (client as { beta?: { agents?: { sessions?: Sessions } } }).beta?.agents ?? {}
  if (typeof sessions?.create !== 'function' || typeof sessions.stream !== 'function') return () => {}
  const { create, stream } = sessions
  return allOrNone(
    () =>
      replace(sessions, 'create', (body, ...more) =>
        create.call(sessions, decidedOn(body, options), ...more),
      ),
    () =>
      replace(sessions, 'stream', (id, params, ...more) =>
        stream.call(sessions, id, decidedOn(params, options), ...more),
      ),
  )
}

function decidedOn(given: Given, { dispatcher, agentName, operation }: ObserveOptions): Given {
  const { toolHandlers: handlers } = given ?? {}
  if (typeof handlers !== 'object' || handlers === null) return given
  const inPlace = (handler: Handler): Handler =>
    operation === undefined || operation.ended ? handler : (...args) => operation.run(() => handler(...args))
  const value = Object.fromEntries(
    Object.entries(handlers).map(([name, handler]) => {
      // The session itself says what is wrong with it.
      if (typeof handler !== 'function') return [name, handler]
      const tools = wrapTools(
        { [name]: handler },
        { dispatcher, onRefused: 'tell', ...defined({ agentName }) },
      )
      return [name, inPlace(tools[name] as Handler)]
    }),
  )
  // What else it has stays as it is, accessors and what is hidden, too.
  return Object.create(Object.getPrototypeOf(given), {
    ...Object.getOwnPropertyDescriptors(given),
    toolHandlers: { value, enumerable: true, configurable: true, writable: true },
  }) as Given
}
