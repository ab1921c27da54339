import type { Loose } from '../../wire/reading.ts'
import { replace } from '../replace.ts'
import type { Request } from './protocol.ts'

/** Asks the server, once it may be asked. */
export type Send = (params: Loose, options: Loose) => Promise<unknown>
/** Makes a call of the server's tool. */
export type Call = (params: unknown, options: unknown, send: Send) => Promise<unknown>

/** What a task tells on its way; the last is a `result` or an `error`. */
interface Message {
  readonly type: string
  readonly result?: unknown
  readonly error?: unknown
}

type Stream<A> = (asked: A, schema: unknown, options: unknown) => AsyncGenerator<Message>

export interface TaskClient {
  readonly experimental?: {
    readonly tasks?: { callToolStream?: Stream<unknown>; requestStream?: Stream<Request> }
  }
  /** What `experimental` makes when it is first asked for. */
  _experimental?: unknown
}

/** Of version 1: tools that run as tasks are called in a way of their own. @returns leaves them as they were. */
export function watchTaskStreams(client: TaskClient, call: Call): () => void {
  const isMade = Object.hasOwn(client, '_experimental')
  const { tasks } = client.experimental ?? {}
  const { callToolStream: own, requestStream } = tasks ?? {}
  if (tasks === undefined || typeof own !== 'function') return () => {}
  const undo = [
    replace(tasks, 'callToolStream', (params, schema, options) =>
      relayed((tell) =>
        call(params, options, async (given, more) => tell(own.call(tasks, given, schema, more))),
      ),
    ),
  ]
  if (typeof requestStream === 'function') {
    undo.push(
      replace(tasks, 'requestStream', (asking, schema, options) =>
        asking?.method === 'tools/call'
          ? relayed((tell) =>
              call(asking.params, options, async (params, more) =>
                tell(requestStream.call(tasks, { ...asking, params }, schema, more)),
              ),
            )
          : requestStream.call(tasks, asking, schema, options),
      ),
    )
  }
  return () => {
    for (const one of undo) one()
    if (!isMade) delete client._experimental
  }
}

/**
 * Passes on what a stream tells on its way, and at its end what became of the call.
 *
 * @param make makes the call, and has what the stream tells passed on. It is told its result.
 */
async function* relayed(
  make: (tell: (stream: AsyncIterable<Message>) => Promise<unknown>) => Promise<unknown>,
): AsyncGenerator<Message> {
  let came = Promise.withResolvers<Message>()
  let pulled = Promise.withResolvers<void>()
  const call = make(async (stream) => {
    for await (const message of stream) {
      if (message.type === 'result') return message.result
      if (message.type === 'error') throw message.error
      came.resolve(message)
      await pulled.promise
    }
    return undefined
  })
  const over = call.then(
    () => undefined,
    () => undefined,
  )
  let left = true
  try {
    for (;;) {
      const message = await Promise.race([came.promise, over])
      if (message === undefined) break
      came = Promise.withResolvers()
      yield message
      const before = pulled
      pulled = Promise.withResolvers()
      before.resolve()
    }
    left = false
  } finally {
    if (left) pulled.reject(new DOMException('The stream was left before its end.', 'AbortError'))
  }
  // The SDK's own streams end with a result or an error, and never throw.
  yield await call.then(
    (result) => ({ type: 'result', result }),
    (error: unknown) => ({ type: 'error', error }),
  )
}
