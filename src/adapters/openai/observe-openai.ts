import { currentCalls, type HookDispatcher, type Operation } from '../../dispatcher/index.ts'
import { currentModelCall } from '../../dispatcher/run/live-calls.ts'
import type { LlmRequest } from '../../hooks/index.ts'
import { isThenable } from '../../internal/async.ts'
import { HookspanError } from '../../internal/errors.ts'
import { defined } from '../../internal/objects.ts'
import { chat } from '../../wire/chat-completions.ts'
import { modelServer } from '../../wire/model-server.ts'
import { responses } from '../../wire/responses.ts'
import { replace, watchPromise } from './api-promise.ts'
import { type ClientInternals, canObserve, type RequestOptions, warnOfFailure } from './client.ts'
import { type ObservedApi, ObservedCall, type ObservedMaker } from './observed-call.ts'

export interface ObserveOptions {
  dispatcher: HookDispatcher
  /**
   * Where calls belong that are made outside of any running operation. Without it, each of them becomes an
   * operation, and so a trace, of its own.
   */
  operation?: Operation
  /** Names the operations that are made for single calls. */
  agentName?: string
  /** An OpenTelemetry GenAI provider name. @default told by the client's base URL, else `openai` */
  provider?: string
}

const CALL = Symbol('hookspan.call')
const DONE = 'observe-openai:done'
const FAILED = 'observe-openai:failed'

/** Which requests are model calls, and what they are where they are no chat. */
const MODEL_CALLS: Readonly<Record<string, ObservedApi>> = {
  '/chat/completions': { format: chat },
  '/responses': { format: responses },
  '/responses?beta=true': { format: responses },
  '/responses/compact': { format: responses, compacts: true },
  '/completions': { format: chat, operationName: 'text_completion' },
  '/embeddings': { format: chat, operationName: 'embeddings' },
}

const observed = new WeakMap<object, { readonly dispatcher: HookDispatcher; readonly undo: () => void }>()

/**
 * Makes each model call of an `openai` client (chat completions, responses, legacy completions and embeddings, streamed
 * or not, through whichever helper) a model call of the operation that is running: of the step, the tool or the
 * sub-agent around it. `responses.compact()` is a compaction, with a model call in it. A call outside of any operation
 * belongs to `options.operation`, else to an operation of its own. Calls that `step.llmCall()` makes itself are not
 * counted twice. Everything else the client does is left alone and not seen: images, video, speech, transcriptions and
 * translations, moderations, batches, fine-tuning, the realtime API, assistants.
 *
 * @returns the same client, with its whole surface: `parse`, `stream`, `withResponse`, `asResponse`, `tee`, ...
 * Clients that its `withOptions()` makes are observed, too.
 * @throws HookspanError `INVALID_OPTION` when the client is none, or is observed by another dispatcher.
 * @example
 * const client = observeOpenAI(new OpenAI(), { dispatcher })
 * const op = dispatcher.startOperation({ agentName: 'support' })
 * await op.run(() => yourLoop(client))
 */
export function observeOpenAI<C extends object>(client: C, options: ObserveOptions): C {
  if (typeof options?.dispatcher?.startOperation !== 'function') {
    throw new HookspanError('INVALID_OPTION', 'observeOpenAI needs a `dispatcher`: new HookDispatcher().')
  }
  if (!canObserve(client)) return client
  const before = observed.get(client)
  if (before !== undefined && before.dispatcher !== options.dispatcher) {
    throw new HookspanError(
      'INVALID_OPTION',
      'This client is observed by another dispatcher. Call unobserveOpenAI(client) first, or observe ' +
        '`client.withOptions({})` made before.',
    )
  }
  before?.undo()
  observed.set(client, { dispatcher: options.dispatcher, undo: patch(client, options) })
  return client
}

/** Leaves the client as it was before `observeOpenAI`. Calls in flight are watched to their end. */
export function unobserveOpenAI<C extends object>(client: C): C {
  observed.get(client)?.undo()
  observed.delete(client)
  return client
}

function patch(client: ClientInternals, options: ObserveOptions): () => void {
  const { post, makeRequest, withOptions } = client
  const known = modelServer(client.baseURL)
  const server = { ...known, provider: options.provider ?? known.provider }

  const undoPost = replace(client, 'post', (path, request) => {
    const api = MODEL_CALLS[path]
    // Whoever makes a model call by hand has announced it already.
    if (api === undefined || currentModelCall() !== undefined) return post.call(client, path, request)
    const call = new ObservedCall(api, server, makerFrom(options, api))
    return watchPromise(post.call(client, path, tagged(request, call)), call)
  })

  const undoMakeRequest = replace(client, 'makeRequest', async (request, retriesRemaining, retryOf) => {
    const resolved = await request
    const call = resolved[CALL] as ObservedCall | undefined
    const send = (effective: RequestOptions) => makeRequest.call(client, effective, retriesRemaining, retryOf)
    return call === undefined || retryOf !== undefined ? send(resolved) : call.send(resolved, send)
  })

  const undoWithOptions = replace(client, 'withOptions', (changes) =>
    observeOpenAI(withOptions.call(client, changes), options),
  )

  return () => {
    for (const undo of [undoPost, undoMakeRequest, undoWithOptions]) undo()
  }
}

/** Where the call belongs is told by the code that makes it, not by whatever runs when the request is sent. */
function makerFrom(options: ObserveOptions, { compacts = false }: ObservedApi): ObservedMaker {
  const calls = currentCalls()
  if (calls !== undefined) return () => calls
  const { operation } = options
  if (operation !== undefined && !operation.ended) return () => operation
  return (request) => operationOfItsOwn(options, request, compacts)
}

/** An operation around a single call, that ends with it. */
function operationOfItsOwn(
  { dispatcher, agentName }: ObserveOptions,
  request: LlmRequest,
  compacts: boolean,
): Operation {
  const input = request.messages ?? request.input ?? request.prompt
  const end = (finish: () => Promise<unknown>) => {
    finish().catch((error: unknown) => warnOfFailure('an observed call could not be ended', error))
  }
  const fail = ({ error }: { readonly error?: unknown }) =>
    end(() => Promise.resolve().then(() => operation.fail(error)))
  const operation: Operation = dispatcher.startOperation({
    ...(agentName !== undefined && { agentName }),
    ...(input !== undefined && { input }),
    hooks: compacts
      ? [
          { id: DONE, type: 'afterCompact', handler: () => end(() => operation.complete()) },
          { id: FAILED, type: 'onCompactError', handler: fail },
        ]
      : [
          {
            id: DONE,
            type: 'afterLlmCall',
            handler: ({ response }) => end(() => operation.complete(defined({ content: response.content }))),
          },
          { id: FAILED, type: 'onLlmCallError', handler: fail },
        ],
  })
  return operation
}

function tagged(request: unknown, call: ObservedCall): unknown {
  if (isThenable(request)) return request.then((options) => ({ ...(options as object), [CALL]: call }))
  return { ...(request as object | undefined), [CALL]: call }
}
