/** What Jaeger answers into spans ready to store. */
import { errorSentence } from '../../internal/errors.ts'
import type { InTurns } from '../model/in-turns.ts'
import { JsonCursor } from '../model/json-text.ts'
import { type IncomingSpans, nothingReceived, type Received } from '../otlp/incoming.ts'
import { receivingJsonTraces } from '../otlp/receive-json.ts'
import { JaegerError } from './client.ts'

/**
 * By the same way as what is sent to the viewer, so that nothing of it is less checked. However many spans: who reads from
 * Jaeger has said how much it may be.
 *
 * @throws JaegerError when the answer is cut, or none of Jaeger's.
 */
export function* readingAnswer(body: Buffer, name: string): InTurns<Received<IncomingSpans>> {
  const received = nothingReceived<IncomingSpans>()
  received.left = Number.POSITIVE_INFINITY
  const text = body.toString()
  // What is one document, as nearly all are, need not be gone through twice: who reads it finds out where it is not.
  const only = onlyResult(text)
  if (only !== undefined && (yield* isTaken(only, received))) return received
  try {
    const results = yield* resultsOf(text)
    if (results.length === 0 && !NOTHING.test(text)) throw new TypeError('it has no `result`')
    for (const result of results) yield* receivingJsonTraces(result, received)
  } catch (error) {
    throw new JaegerError(
      `The answer of ${name} is cut, or is not what Jaeger answers: ${errorSentence(error)} Try again.`,
    )
  }
  return received
}

const OPENING = /^\s*\{\s*"result"\s*:/
const NOTHING = /^\s*(\{\s*\})?\s*$/

function onlyResult(text: string): string | undefined {
  const opening = OPENING.exec(text)?.[0].length
  const end = text.lastIndexOf('}')
  return opening === undefined || text.slice(end + 1).trim() !== '' ? undefined : text.slice(opening, end)
}

/** Nothing is taken of what is no OTLP as a whole. */
function* isTaken(text: string, received: Received<IncomingSpans>): InTurns<boolean> {
  try {
    yield* receivingJsonTraces(text, received)
    return true
  } catch {
    return false
  }
}

/** One document after the other, each with its `result`. */
function* resultsOf(text: string): InTurns<string[]> {
  const documents = new JsonCursor(text)
  const results: string[] = []
  while (!isAtEnd(documents)) {
    const { start, end } = yield* documents.value()
    if (text[start] !== '{') throw new TypeError('it is no object')
    yield* fieldsOf(text.slice(start, end), (key, value) => key === 'result' && results.push(value))
  }
  return results
}

function* fieldsOf(text: string, tell: (key: string, value: string) => void): InTurns<void> {
  const cursor = new JsonCursor(text)
  yield* cursor.object(function* (key) {
    const { start, end } = yield* cursor.value()
    tell(key, text.slice(start, end))
  })
}

function isAtEnd(cursor: JsonCursor): boolean {
  try {
    cursor.end()
    return true
  } catch {
    return false
  }
}
