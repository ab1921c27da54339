import type { LlmResponse } from '../../hooks/index.ts'
import { toAnswer } from '../../mock/scripted-server/answer.ts'
import { chatCompletion } from '../../mock/scripted-server/chat-completions.ts'
import { reply } from '../../mock/scripted-server/reply.ts'
import { responseObject } from '../../mock/scripted-server/responses.ts'
import type { ScriptedRequest, ScriptedStep } from '../../mock/scripted-server/types.ts'
import type { RequestOptions, ResponseProps } from './client.ts'

export type ModelApiName = 'chat' | 'responses'

/** What a gate puts in the model's place, as the model's endpoint would have answered it. */
export class StandIn {
  readonly #step: ScriptedStep
  readonly #request: ScriptedRequest

  constructor(api: ModelApiName, body: Readonly<Record<string, unknown>>, message: LlmResponse) {
    this.#step = {
      ...(message.id !== undefined && { id: message.id }),
      ...(message.model !== undefined && { model: message.model }),
      content: message.content ?? null,
      ...(message.reasoning !== undefined && { reasoning: message.reasoning }),
      ...(message.finishReasons?.[0] !== undefined && { finishReason: message.finishReasons[0] }),
      toolCalls: (message.toolCalls ?? []).map(({ toolCallId, apiName, args }) => ({
        id: toolCallId,
        name: apiName,
        arguments: args,
      })),
    }
    this.#request = {
      index: 0,
      api,
      method: 'POST',
      path: '',
      headers: {},
      body,
      bodyText: '',
      stream: body.stream === true,
      messages: [],
    }
  }

  /** The body of a reply that is not streamed. */
  get body(): object {
    const answer = toAnswer(this.#step, this.#request)
    return this.#request.api === 'chat' ? chatCompletion(answer) : responseObject(answer, this.#request.body)
  }

  /** The HTTP response, so that the client parses it the way it parses any. */
  response(): Response {
    return reply(this.#step, this.#request, new AbortController().signal)
  }

  /** Makes the client's own stream, with its `controller` and `tee()`, give this instead of what it gave. */
  async replaceStream<T extends AsyncIterable<unknown>>(stream: T): Promise<T> {
    const text = await this.response().text()
    const chunks = text
      .split('\n')
      .filter((line) => line.startsWith('data: {'))
      .map((line) => JSON.parse(line.slice('data: '.length)) as unknown)
    Object.defineProperty(stream, 'iterator', {
      configurable: true,
      writable: true,
      value: async function* () {
        yield* chunks
      },
    })
    return stream
  }

  /** Where the client was about to make a request. */
  props(options: RequestOptions): ResponseProps {
    return {
      response: this.response(),
      options,
      controller: new AbortController(),
      requestLogID: 'stand-in',
      retryOfRequestLogID: undefined,
      startTime: Date.now(),
    }
  }
}
