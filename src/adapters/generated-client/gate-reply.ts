import type { LlmRequest, LlmResponse } from '../../hooks/index.ts'
import type { WireFormat } from '../../wire/format.ts'
import { sentEvents, serverSentEvents } from '../../wire/formats.ts'
import type { Loose } from '../../wire/reading.ts'
import { rewritten } from '../../wire/rewrite.ts'
import { isStream } from '../../wire/watch-stream.ts'
import { messageOf } from '../stand-in-message.ts'
import type { RequestOptions, ResponseProps } from './client.ts'

/** What a gate puts in the model's place, as the model's endpoint would have answered it. */
export class GateReply {
  readonly #format: WireFormat
  readonly #request: LlmRequest
  /** The body of a reply that is not streamed. */
  readonly body: Loose

  /** @param given what the model answered, where the gate changed that. */
  constructor(format: WireFormat, request: LlmRequest, message: LlmResponse, given?: unknown) {
    this.#format = format
    this.#request = request
    this.body = rewritten(format, given, message, request)
  }

  /** The HTTP response, so that the client parses it the way it parses any. */
  response(): Response {
    if (this.#request.stream !== true) return Response.json(this.body)
    return streamed(serverSentEvents(this.#format, this.body, this.#request))
  }

  /** What a stream gives in the place of its own chunks. */
  chunks(): Iterable<unknown> {
    return this.#format.events(this.body, this.#request)
  }

  /** Where the client was about to make a request. */
  props(options: RequestOptions): ResponseProps {
    return propsOf(this.response(), options)
  }
}

/** What a durable run has kept of a reply that the client had read, or that a gate gave, as if it came once more. */
export async function keptProps(
  format: WireFormat,
  request: LlmRequest,
  reply: unknown,
  options: RequestOptions,
): Promise<ResponseProps> {
  if (!isStream(reply)) {
    if (request.stream === true) return new GateReply(format, request, messageOf(reply)).props(options)
    return propsOf(Response.json(reply), options)
  }
  const events: Loose[] = []
  for await (const event of reply) events.push(event as Loose)
  return propsOf(streamed(sentEvents(format, events)), options)
}

function streamed(events: readonly string[]): Response {
  return new Response(events.join(''), { headers: { 'content-type': 'text/event-stream; charset=utf-8' } })
}

function propsOf(response: Response, options: RequestOptions): ResponseProps {
  return {
    response,
    options,
    controller: new AbortController(),
    requestLogID: 'stand-in',
    retryOfRequestLogID: undefined,
    startTime: Date.now(),
  }
}
