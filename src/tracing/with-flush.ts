import { isThenable } from '../internal/async.ts'
import { a, assertFields, expected, type Fields, required } from '../internal/expect.ts'
import type { Tracing } from './setup.ts'

export interface WithFlushOptions {
  tracing: Pick<Tracing, 'forceFlush' | 'stats'>
  /**
   * Milliseconds that an answer is held up at most, from when the handler has it. What is not sent by then waits for the next
   * invocation, and is lost where there is none; with `spoolDir` it is on disk. Minimum 1. @default 1_000
   */
  timeoutMs?: number
}

const FIELDS: Fields<WithFlushOptions> = {
  tracing: required(a.with('forceFlush', 'stats')),
  timeoutMs: a.milliseconds,
}

/**
 * What the handler gives, once its spans are sent: an async generator stays one, anything else is a promise. A handler that gives
 * nothing and answers later by a callback, its last argument, gives nothing still, and its spans are sent before that is called.
 */
export type Flushed<R> = R extends AsyncGenerator ? R : Promise<Awaited<R>>

const DEFAULT_MS = 1_000

/**
 * For functions that are frozen as soon as they have answered (AWS Lambda and the like): sends what waits before the answer is
 * given, however the handler ends. Spans that end later, as those of a body that is streamed after the answer, wait for the
 * next invocation: there hand `tracing.forceFlush()` to the platform's `waitUntil`.
 *
 * @throws HookspanError `INVALID_OPTION`.
 * @example
 * export const handler = withFlush(async (event) => answer(event), { tracing, timeoutMs: 100 })
 */
export function withFlush<A extends unknown[], R>(
  handler: (...args: A) => R,
  options: WithFlushOptions,
): (...args: A) => Flushed<R> {
  if (typeof handler !== 'function') throw expected('the handler of withFlush() to be a function', handler)
  assertFields<WithFlushOptions>(options, FIELDS, 'withFlush()')
  const { tracing, timeoutMs = DEFAULT_MS } = options
  const flush = () => flushWithin(tracing, timeoutMs)
  const wrapped = function (this: unknown, ...args: A): Flushed<R> {
    let isCalledBack = false
    const last = args.at(-1)
    const given =
      typeof last === 'function'
        ? args.with(-1, (...answer: unknown[]) => {
            if (!isCalledBack) return last(...answer)
            void flush().finally(() => last(...answer))
          })
        : args
    let answer: R
    try {
      answer = Reflect.apply(handler, this, given)
    } catch (error) {
      return rejected(error, flush) as unknown as Flushed<R>
    }
    // It answers by calling back: a platform would take a promise for the answer.
    isCalledBack = answer === undefined && given !== args
    if (isCalledBack) return undefined as unknown as Flushed<R>
    return (isAsyncGenerator(answer) ? read(answer, flush) : settled(answer, flush)) as unknown as Flushed<R>
  }
  // Platforms read there whether it is to be given a callback, and Lambda whether it streams.
  Object.assign(wrapped, handler)
  return Object.defineProperty(wrapped, 'length', { value: handler.length })
}

/**
 * Once more where something is left: what was on its way when the function was frozen may have to be found lost first, which
 * ends the first flush.
 */
async function flushWithin(tracing: WithFlushOptions['tracing'], timeoutMs: number): Promise<void> {
  const until = performance.now() + timeoutMs
  await tracing.forceFlush({ timeoutMs })
  const leftMs = until - performance.now()
  if (leftMs > 0 && tracing.stats().queued > 0) await tracing.forceFlush({ timeoutMs: leftMs })
}

async function settled(answer: unknown, flush: () => Promise<void>): Promise<unknown> {
  try {
    return isThenable(answer) ? await answer : answer
  } finally {
    await flush()
  }
}

async function rejected(error: unknown, flush: () => Promise<void>): Promise<never> {
  await flush()
  throw error
}

async function* read(
  answer: AsyncGenerator<unknown, unknown>,
  flush: () => Promise<void>,
): AsyncGenerator<unknown, unknown> {
  try {
    return yield* answer
  } finally {
    await flush()
  }
}

function isAsyncGenerator(value: unknown): value is AsyncGenerator<unknown, unknown> {
  return Object.prototype.toString.call(value) === '[object AsyncGenerator]'
}
