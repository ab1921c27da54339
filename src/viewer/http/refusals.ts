/** What goes wrong on the way into the store, as HTTP answers it. */
import { errorMessage, errorSentence } from '../../internal/errors.ts'
import type { InTurns } from '../model/in-turns.ts'
import { TooMany } from '../otlp/limits.ts'
import { HttpError } from './body.ts'

/** 400: the request as a whole cannot be read. 413: it may be sent in parts. */
export function* reading<T>(work: InTurns<T>): InTurns<T> {
  try {
    return yield* work
  } catch (error) {
    throw new HttpError(error instanceof TooMany ? 413 : 400, errorMessage(error))
  }
}

/** 503, to be tried again: nothing can be stored. `onError` is told of the error, or of none. */
export function* storing<T>(work: InTurns<T>, onError?: (error: Error | undefined) => void): InTurns<T> {
  try {
    const done = yield* work
    onError?.(undefined)
    return done
  } catch (error) {
    onError?.(error as Error)
    throw new HttpError(503, `Cannot store: ${errorSentence(error)}`)
  }
}
