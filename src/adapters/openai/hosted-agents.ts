import { saidOf } from '../../dispatcher/calls/tool-outcome.ts'
import { marksOf } from '../../internal/marks-of.ts'
import { defined } from '../../internal/objects.ts'
import { HOSTED } from '../capabilities.ts'
import type { ObserveOptions } from '../generated-client/options.ts'
import { allOrNone, replace } from '../replace.ts'
import { SdkLoop } from '../sdk-loop/sdk-loop.ts'

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
      replace(
        sessions,
        'create',
        (body, ...more) => create.call(sessions, decidedOn(body, options), ...more),
        true,
      ),
    () =>
      replace(
        sessions,
        'stream',
        (id, params, ...more) => stream.call(sessions, id, decidedOn(params, options), ...more),
        true,
      ),
  )
}

function decidedOn(given: Given, options: ObserveOptions): Given {
  const { toolHandlers: handlers } = given ?? {}
  if (typeof handlers !== 'object' || handlers === null) return given
  const value = Object.fromEntries(
    Object.entries(handlers).map(([name, handler]) => [
      name,
      // Of one that is none the session itself says what is wrong with it.
      typeof handler === 'function' ? toolOf(name, handler as Handler, options) : handler,
    ]),
  )
  // What else it has stays as it is, accessors and what is hidden, too.
  return Object.create(Object.getPrototypeOf(given), {
    ...Object.getOwnPropertyDescriptors(given),
    toolHandlers: { value, enumerable: true, configurable: true, writable: true },
  }) as Given
}

function toolOf(
  name: string,
  handler: Handler,
  { dispatcher, operation, agentName }: ObserveOptions,
): Handler {
  const tool: Handler = async (input, ...more) => {
    const adapter = { name: 'openai, sessions', capabilities: HOSTED }
    const told = { dispatcher, operation, adapter, instruction: '', input, ...defined({ agentName }) }
    const loop = await SdkLoop.begin(told)
    const outcome = await loop.tool({ apiName: name, args: loop.input }, (args) => handler(args, ...more))
    if (outcome.state === 'errored') {
      await loop.fail(outcome.error)
      throw outcome.error
    }
    await loop.complete({ reason: 'done' })
    // Of a function that throws the SDK does not tell why.
    return saidOf(outcome)
  }
  // The SDK has marks of its own on what it made of a schema: it hands those more arguments.
  return Object.defineProperties(tool, marksOf(handler))
}
