import { assertAdapterOptions } from '../../adapter/adapter-options.ts'
import type { LlmRequest } from '../../hooks/index.ts'
import { isThenable } from '../../internal/async.ts'
import { HookspanError } from '../../internal/errors.ts'
import { defined } from '../../internal/objects.ts'
import { modelServer } from '../../wire/model-server.ts'
import { asObject, asText } from '../../wire/reading.ts'
import { BackgroundReply } from '../background-replies.ts'
import { allOrNone, replace } from '../replace.ts'
import { currentCalls } from '../safe/calls.ts'
import { SafeOperation, startOperation } from '../safe/operation.ts'
import { ObservedOnce } from '../sdk-loop/attached.ts'
import { isToldOf } from '../told-model-call.ts'
import { warnOfFailure } from '../warn-once.ts'
import { watchPromise } from './api-promise.ts'
import {
  type ApiPromise,
  apiOf,
  type ClientInternals,
  type ClientKind,
  canObserve,
  type ObservedApi,
  type ObservedMaker,
  type RequestOptions,
} from './client.ts'
import { endsUnread, inputKeyOf, ObservedCall } from './observed-call.ts'
import { ObservedLook } from './observed-look.ts'
import { FIELDS, type ObserveOptions } from './options.ts'

type Send = (asked: unknown) => ApiPromise

const CALL = Symbol('hookspan.call')
const DONE = 'observe-client:done'
const FAILED = 'observe-client:failed'
const INTERRUPTED = { reason: 'interrupted' } as const

const observed = new ObservedOnce()
/** Whose our `post` functions are: a client and a proxy of it show the same one, and are one client. */
const owners = new WeakMap<object, ClientInternals>()

/**
 * Makes each model call of a client a model call of the operation that is running.
 *
 * @returns the same client.
 * @throws HookspanError `INVALID_OPTION` when the client is none, or is observed by another dispatcher.
 */
export function observeClient<C extends object>(client: C, options: ObserveOptions, kind: ClientKind): C {
  assertAdapterOptions(options, { ...FIELDS, ...kind.fields }, kind.observer)
  const asked = clientBehind(client, kind)
  if (!canObserve(asked, kind)) return client
  const clash =
    `This client is observed by another dispatcher. Call un${kind.observer}(client) first, or observe ` +
    '`client.withOptions({})` made before.'
  const owner = owners.get(asked.post) ?? asked
  observed.observe(owner, options.dispatcher, clash, () => patch(owner, options, kind))
  owners.set(owner.post, owner)
  return client
}

/**
 * The client that its own resources ask. A proxy (Langfuse's) gives something else for each method that is read from it; what
 * it has as its own is behind it as it is.
 *
 * @throws HookspanError `INVALID_OPTION` for a copy, as LangSmith makes: only the resources of it are the client's.
 */
function clientBehind(given: unknown, { observer, has }: ClientKind): unknown {
  for (const name of has) {
    const resource: unknown = asObject(given) && Object.getOwnPropertyDescriptor(given, name)?.value
    const client = asObject(asObject(resource)?._client)
    if (client === undefined || client === given || typeof client.post !== 'function') continue
    if (typeof (given as Partial<ClientInternals>).post === 'function') return client
    throw new HookspanError(
      'INVALID_OPTION',
      `${observer}() was given a copy of a client, which somebody has made to wrap its calls. Observe the client, and have ` +
        `what that gives wrapped: wrap(${observer}(client, ...)).`,
    )
  }
  return given
}

/** Leaves the client as it was before. Calls in flight are watched to their end. */
export function unobserveClient<C extends object>(client: C, kind: ClientKind): C {
  const asked = clientBehind(client, kind) as Partial<ClientInternals> | undefined
  observed.detach(owners.get(asked?.post ?? client) ?? asked ?? client)
  return client
}

function patch(client: ClientInternals, options: ObserveOptions, kind: ClientKind): () => void {
  const { post, get, request, makeRequest, withOptions } = client
  const known = modelServer(client.baseURL)
  const provider = options.provider ?? (known.provider === 'openai' ? kind.provider : undefined)
  const server = { ...known, provider: provider ?? known.provider }

  // On the object that each is called on: a proxy is observed in its target, whose private fields it has not.
  const look = (on: ClientInternals, path: string, asked: unknown, send: Send) => {
    const id = kind.looks?.exec(path)?.[1]
    const reply = id === undefined ? undefined : BackgroundReply.of(id)
    const promise = send(asked)
    if (reply === undefined) return promise
    return watchPromise(promise, new ObservedLook(reply, makerFrom(options, {}), asked), on)
  }

  const ask = (on: ClientInternals, path: string, asked: unknown, send: Send) => {
    const api = apiOf(kind, path)
    if (api === undefined) return look(on, path, asked, send)
    // Whoever makes a model call by hand has announced it already.
    if (isToldOf(options.dispatcher)) return send(asked)
    const call = new ObservedCall(kind, api, server, kind.maker?.() ?? makerFrom(options, api))
    return watchPromise(send(tagged(asked, call)), call, on)
  }

  const observedPost: ClientInternals['post'] = function (this: ClientInternals, path, asked) {
    const at = apiOf(kind, path) === undefined ? (asText(asObject(asked)?.path) ?? path) : path
    return ask(this, at, asked, (given) => post.call(this, path, given))
  }

  // What the client's own methods make comes by here as a promise, and has been seen.
  const observedDirect: ClientInternals['request'] = function (this: ClientInternals, asked, ...more) {
    const send: Send = (given) => (request as NonNullable<typeof request>).call(this, given, ...more)
    const { method, path } = isThenable(asked) ? {} : (asObject(asked) ?? {})
    if (typeof method !== 'string' || typeof path !== 'string') return send(asked)
    return (method.toLowerCase() === 'post' ? ask : look)(this, path, asked, send)
  }

  const observedRequest: ClientInternals['makeRequest'] = async function (
    this: ClientInternals,
    asked,
    retriesRemaining,
    retryOf,
    ...more
  ) {
    const resolved = await asked
    const call = resolved[CALL] as ObservedCall | undefined
    const send = (effective: RequestOptions) =>
      makeRequest.call(this, effective, retriesRemaining, retryOf, ...more)
    return call === undefined || retryOf !== undefined ? send(resolved) : call.send(resolved, send)
  }

  return allOrNone(
    () => replace(client, 'post', observedPost),
    () =>
      get === undefined || kind.looks === undefined
        ? () => {}
        : replace(client, 'get', function (this: ClientInternals, path, asked) {
            return look(this, path, asked, (given) => get.call(this, path, given))
          }),
    () => (request === undefined ? () => {} : replace(client, 'request', observedDirect)),
    () => replace(client, 'makeRequest', observedRequest),
    () =>
      withOptions === undefined
        ? () => {}
        : replace(client, 'withOptions', function (this: ClientInternals, changes) {
            return observeClient(withOptions.call(this, changes), options, kind)
          }),
    ...(kind.also ?? []).map((watch) => () => watch(client, options)),
  )
}

/**
 * Where the call belongs is told by the code that makes it, not by whatever runs when the request is sent. A run that has
 * ended by then has no calls any more: the call is one outside of any, as it is when it is made a moment later.
 */
function makerFrom(options: ObserveOptions, api: Pick<ObservedApi, 'compacts'>): ObservedMaker {
  const calls = currentCalls(options.dispatcher)
  const outside = makerOutside(options, api)
  return calls === undefined ? outside : (request, signal) => (calls.over ? outside(request, signal) : calls)
}

function makerOutside(
  options: ObserveOptions,
  { compacts = false }: Pick<ObservedApi, 'compacts'>,
): ObservedMaker {
  const { operation, operationOf } = options
  if (operation !== undefined && !operation.ended) {
    const given = new SafeOperation(operation)
    return () => given
  }
  if (operationOf !== undefined) return (request) => new SafeOperation(operationOf(request))
  return (request, signal) => endsUnread(operationOfItsOwn(options, request, compacts, signal))
}

/** An operation around a single call, that ends with it: as interrupted where the caller's signal has ended the call. */
function operationOfItsOwn(
  { dispatcher, agentName }: ObserveOptions,
  request: LlmRequest,
  compacts: boolean,
  signal: RequestOptions['signal'],
): SafeOperation {
  const key = inputKeyOf(request)
  const input = key && request[key]
  const end = (finish: () => Promise<unknown>) => {
    finish().catch((error: unknown) => warnOfFailure('an observed call could not be ended', error))
  }
  // Not before what came of the call is told to its end: what the provider ran to come to its reply is told after it.
  const later = (finish: () => Promise<unknown>) => end(() => Promise.resolve().then(finish))
  const fail = ({ error }: { readonly error?: unknown }) =>
    later(() => (signal?.aborted ? operation.complete(INTERRUPTED) : operation.fail(error)))
  const operation: SafeOperation = startOperation(dispatcher, {
    ...defined({ agentName, input }),
    hooks: compacts
      ? [
          { id: DONE, type: 'afterCompact', handler: () => end(() => operation.complete()) },
          { id: FAILED, type: 'onCompactError', handler: fail },
        ]
      : [
          {
            id: DONE,
            type: 'afterLlmCall',
            handler: ({ response, streamEnd }) =>
              later(() => {
                const { content } = response
                const aborted = streamEnd === 'abandoned' && signal?.aborted === true
                return operation.complete({ ...defined({ content }), ...(aborted && INTERRUPTED) })
              }),
          },
          { id: FAILED, type: 'onLlmCallError', handler: fail },
        ],
  })
  return operation
}

function tagged(request: unknown, call: ObservedCall): unknown {
  const tag = (options: unknown) => {
    const given = options as { readonly [CALL]?: ObservedCall } | undefined
    if (given?.[CALL] === undefined) return { ...given, [CALL]: call }
    // Another copy of hookspan has met the client in this very request, and made it pass here once more.
    call.leave()
    return given
  }
  return isThenable(request) ? request.then(tag) : tag(request)
}
