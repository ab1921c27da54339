/** A request body into spans or logs ready to store. One bad span costs that span, not its request. */
import { errorSentence } from '../../internal/errors.ts'
import { finish, type InTurns } from '../model/in-turns.ts'
import { type IncomingLog, type IncomingSpans, nothingReceived, type Received } from './incoming.ts'
import { TooMany } from './limits.ts'
import { receivingJsonLogs, receivingJsonTraces } from './receive-json.ts'
import { receivingProtobufLogs, receivingProtobufTraces } from './receive-protobuf.ts'

export type BodyFormat = 'protobuf' | 'json'

/** Throws only when the request as a whole cannot be read. */
export function* receivingTraces(body: Buffer, format: BodyFormat): InTurns<Received<IncomingSpans>> {
  const received = nothingReceived<IncomingSpans>()
  if (format === 'protobuf') yield* receivingProtobufTraces(body, received)
  else yield* asJson(receivingJsonTraces(body.toString(), received))
  return received
}

export function* receivingLogs(body: Buffer, format: BodyFormat): InTurns<Received<IncomingLog>> {
  const received = nothingReceived<IncomingLog>()
  if (format === 'protobuf') yield* receivingProtobufLogs(body, received)
  else yield* asJson(receivingJsonLogs(body.toString(), received))
  return received
}

export function receiveTraces(body: Buffer, format: BodyFormat): Received<IncomingSpans> {
  return finish(receivingTraces(body, format))
}

function* asJson(work: InTurns<void>): InTurns<void> {
  try {
    yield* work
  } catch (error) {
    throw error instanceof TooMany ? error : new SyntaxError(`Expected OTLP/JSON: ${errorSentence(error)}`)
  }
}
