import { setTimeout as sleep } from 'node:timers/promises'
import { SCRIPTED_HEADER } from '../../dispatcher/run/live-calls.ts'
import type { LlmResponse } from '../../hooks/index.ts'
import { chat } from '../../wire/chat-completions.ts'
import type { WireFormat } from '../../wire/format.ts'
import { FORMATS, serverSentEvents } from '../../wire/formats.ts'
import { type LlmReading, present } from '../../wire/reading.ts'
import { ScriptError } from './script-error.ts'
import type { ScriptedError, ScriptedReply, ScriptedRequest, ScriptedStep } from './types.ts'

const SCRIPTED = { [SCRIPTED_HEADER]: 'true' }

/**
 * The HTTP answer that a step stands for.
 *
 * @throws ScriptError when the step wants to be cut after more events than it has.
 */
export function reply(step: ScriptedStep, request: ScriptedRequest, signal: AbortSignal): Response {
  const headers = {
    ...SCRIPTED,
    'x-request-id': `req_scripted_${request.index}`,
    'openai-processing-ms': '1',
  }
  const format = FORMATS.find(({ name }) => name === request.api) ?? chat
  if (step.error) return errorReply(step.error, headers, format)
  if (step.raw) return rawReply(step.raw, { step, headers, signal, request })
  const body = format.write(readingOf(step, request, format), request.body)
  if (!request.stream) return jsonReply(JSON.stringify(body), headers, step.cutAfterChunks !== undefined)
  const events = serverSentEvents(format, body, request.body, step.toolCallOrder === 'interleaved')
  return streamReply(events, { step, headers, signal, request })
}

/** A step with everything filled in that the wire formats need. */
function readingOf(step: ScriptedStep, request: ScriptedRequest, format: WireFormat): LlmReading {
  const { content, reasoning, finishReason, usage } = step
  const asked = request.body.model ?? /models\/([^:]+):/.exec(request.path)?.[1] ?? 'scripted'
  const response = present<LlmResponse>({
    id: step.id ?? `${format.idPrefix}_scripted_${request.index}`,
    model: step.model ?? String(asked),
    content: content ?? undefined,
    reasoning,
    finishReasons: finishReason === undefined ? undefined : [finishReason],
    toolCalls: step.toolCalls?.map((call, index) => ({
      toolCallId: call.id ?? `call_${request.index}_${index}`,
      apiName: call.name,
      args: call.arguments,
    })),
  })
  // OpenAI says zeros.
  const zeros = format.name === 'responses' && { cacheCreationInputTokens: 0 }
  return { response, ...(usage && { usage: { ...zeros, ...usage } }) }
}

interface Sending {
  step: ScriptedStep
  request: ScriptedRequest
  headers: Record<string, string>
  signal: AbortSignal
}

function rawReply(
  { body, status = 200, contentType = 'application/json' }: ScriptedReply,
  sending: Sending,
): Response {
  if (contentType.startsWith('text/event-stream'))
    return streamReply(body.match(/[\s\S]*?(?:\r?\n){2}|[\s\S]+$/g) ?? [], sending, status)
  return new Response(body, { status, headers: { ...sending.headers, 'content-type': contentType } })
}

function streamReply(events: string[], { step, headers, signal, request }: Sending, status = 200): Response {
  const cutAt = step.cutAfterChunks
  if (cutAt !== undefined && cutAt >= events.length) {
    throw new ScriptError(
      'INVALID_OPTION',
      `\`cutAfterChunks\` is ${cutAt}, but the answer to request ${request.index} has only ${events.length} events, ` +
        'so nothing would be cut. Choose a smaller number.',
    )
  }
  return new Response(eventStream(events.slice(0, cutAt), { cut: cutAt !== undefined, step, signal }), {
    status,
    headers: { ...headers, 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' },
  })
}

function jsonReply(text: string, headers: Record<string, string>, cut: boolean): Response {
  const bytes = new TextEncoder().encode(text)
  const half = bytes.subarray(0, Math.ceil(bytes.length / 2))
  return new Response(cut ? brokenAfter(half) : bytes, {
    headers: { ...headers, 'content-type': 'application/json', 'content-length': String(bytes.length) },
  })
}

/** What the client's `fetch` would say of a socket that was closed under it. */
const cutError = () => new TypeError('terminated', { cause: new Error('other side closed') })

function brokenAfter(bytes: Uint8Array<ArrayBuffer>): ReadableStream<Uint8Array<ArrayBuffer>> {
  let sent = false
  return new ReadableStream(
    {
      pull(controller) {
        if (sent) return controller.error(cutError())
        sent = true
        controller.enqueue(bytes)
      },
    },
    // Nothing is made ahead of its being read: an error would throw away what is still queued.
    { highWaterMark: 0 },
  )
}

function eventStream(
  events: string[],
  { cut, step, signal }: { cut: boolean; step: ScriptedStep; signal: AbortSignal },
): ReadableStream<Uint8Array<ArrayBuffer>> {
  const encoder = new TextEncoder()
  let next = 0
  let onAbort: () => void
  const settle = () => signal.removeEventListener('abort', onAbort)
  return new ReadableStream(
    {
      start(controller) {
        onAbort = () => controller.error(signal.reason)
        if (signal.aborted) return onAbort()
        signal.addEventListener('abort', onAbort, { once: true })
      },
      async pull(controller) {
        if (step.chunkDelayMs && next > 0) {
          const slept = await sleep(step.chunkDelayMs, true, { signal }).catch(() => false)
          if (!slept) return
        }
        const event = events[next++]
        if (event !== undefined) return controller.enqueue(encoder.encode(event))
        settle()
        if (cut) controller.error(cutError())
        else controller.close()
      },
      cancel: settle,
    },
    { highWaterMark: 0 },
  )
}

const ERROR_TYPES: Record<number, string | undefined> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  429: 'rate_limit_error',
}

function errorReply(error: ScriptedError, headers: Record<string, string>, format: WireFormat): Response {
  const { status, message, code = null, type = ERROR_TYPES[status] ?? 'server_error', retryAfterMs } = error
  const retry: Record<string, string> =
    retryAfterMs === undefined
      ? {}
      : { 'retry-after': String(Math.ceil(retryAfterMs / 1000)), 'retry-after-ms': String(retryAfterMs) }
  const body = format.writeError?.({ status, message, type }) ?? {
    error: { message, type, param: null, code },
  }
  return Response.json(body, { status, headers: { ...headers, ...retry } })
}

/** The answer to a request that the script does not know: an error that the client must not retry. */
export function refusal(message: string): Response {
  const error = { message, type: 'scripted_server_error', param: null, code: 'unexpected_request' }
  return Response.json({ error }, { status: 500, headers: { ...SCRIPTED, 'x-should-retry': 'false' } })
}
