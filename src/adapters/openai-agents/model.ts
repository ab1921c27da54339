import type { LlmRequest, LlmResponse } from '../../hooks/index.ts'
import { defined } from '../../internal/objects.ts'
import { abortedBy } from '../../wire/hold-stream.ts'
import { modelServer } from '../../wire/model-server.ts'
import { asName, asText, type Loose } from '../../wire/reading.ts'
import { isLocked } from '../replace.ts'
import type { SafeModelCall } from '../safe/model-call.ts'
import { requestFromWire } from './changed-request.ts'
import { withDecided } from './handoffs.ts'
import { changedReply, readResponse, requestToWire, responseOf, responseToWire, saidOnWay } from './items.ts'
import { patches } from './patches.ts'
import { callsHere, currentFrame } from './place.ts'
import {
  type Item,
  isModel,
  type Model,
  type ModelProvider,
  type ModelRequest,
  type ModelResponse,
} from './sdk.ts'

/** What names a model that says nothing of itself. */
const names = new WeakMap<Model, string>()

/** @returns false for one that is locked: the models that it gives are not seen. */
export function observeProvider(provider: ModelProvider | undefined): boolean {
  if (typeof provider?.getModel !== 'function' || patches.has(provider)) return true
  if (isLocked(provider, 'getModel')) return false
  const { getModel } = provider
  patches.replace(provider, 'getModel', async (...args) => {
    const model = await getModel.apply(provider, args)
    if (typeof args[0] === 'string' && isModel(model)) names.set(model, args[0])
    const frame = currentFrame()
    if (frame !== undefined && !observeModel(model)) frame.place.unseenModel(nameOf(model))
    return model
  })
  return true
}

/**
 * Makes the model's calls those of the run that asks; outside of an observed run it is as it was.
 *
 * @returns false for one that is locked.
 */
export function observeModel(model: unknown): boolean {
  if (!isModel(model) || patches.has(model)) return true
  if (isLocked(model, 'getResponse') || isLocked(model, 'getStreamedResponse')) return false
  const { getResponse, getStreamedResponse } = model
  patches.replace(model, 'getResponse', (request, ...more: unknown[]) => {
    const ask = (sent: ModelRequest) => getResponse.apply(model, [sent, ...more] as [ModelRequest])
    return currentFrame() === undefined ? ask(request) : respond(model, request, ask)
  })
  if (typeof getStreamedResponse !== 'function') return true
  patches.replace(model, 'getStreamedResponse', (request, ...more: unknown[]) => {
    const ask = (sent: ModelRequest) => getStreamedResponse.apply(model, [sent, ...more] as [ModelRequest])
    return currentFrame() === undefined ? ask(request) : stream(model, request, ask)
  })
  return true
}

interface Asked<R> {
  readonly call: SafeModelCall<R>
  readonly request: ModelRequest
  readonly wire: LlmRequest
  /** Told what the model has answered. */
  readonly answered: (output: readonly Item[]) => void
}

async function open<R>(
  model: Model,
  given: ModelRequest,
  streamed: boolean,
  shapes: (wire: LlmRequest) => {
    read?: (reply: R) => ReturnType<typeof readResponse>
    standIn(message: LlmResponse, given?: unknown): R
  },
): Promise<Asked<R>> {
  const frame = currentFrame() as NonNullable<ReturnType<typeof currentFrame>>
  const { place, tool } = frame
  const { input } = given
  const request = typeof input === 'string' ? given : { ...given, input: withDecided(input, place) }
  // A model that a tool's body asks by itself is none of the agent's turns.
  const calls = tool === undefined ? await place.turn(request) : callsHere(frame)
  const name = nameOf(model)
  const wire = requestToWire(request, name, streamed)
  const { _client: client } = model as { _client?: { baseURL?: unknown } }
  const server = modelServer(client?.baseURL)
  const call = calls.openLlmCall<R>({ model: name, ...server, request: wire, ...shapes(wire) })
  const answered = (output: readonly Item[]) => {
    if (tool === undefined) place.answered(output)
  }
  return { call, request, wire, answered }
}

export function nameOf(model: Model): string {
  const { _model, model: own, modelId } = model as unknown as Loose
  return (
    asName(_model) ?? asName(own) ?? asName(modelId) ?? names.get(model) ?? model.constructor?.name ?? 'model'
  )
}

/** The SDK takes a run for aborted where its model says so by this name, whatever the reason is that the signal has. */
function asAbort(error: unknown): never {
  const signal = currentFrame()?.place.op.signal
  if (!signal?.aborted || error !== signal.reason) throw error
  throw new DOMException('The model request was aborted.', { name: 'AbortError', cause: error })
}

async function respond(
  model: Model,
  given: ModelRequest,
  ask: (request: ModelRequest) => Promise<ModelResponse>,
): Promise<ModelResponse> {
  const { call, request, wire, answered } = await open<ModelResponse>(model, given, false, (asked) => ({
    read: readResponse,
    standIn: (message, reply) =>
      reply === undefined ? responseOf(message, asked) : changedReply(reply as ModelResponse, message, asked),
  }))
  const decided = call.decision ?? (await call.decided.catch(asAbort))
  if (decided.state === 'answered') {
    answered(decided.reply.output)
    return decided.reply
  }
  try {
    const sent = requestFromWire(request, wire, decided.request)
    const settled = call.settle(await call.run(() => ask(sent)))
    const reply = settled instanceof Promise ? await settled : settled
    answered(reply.output)
    return reply
  } catch (error) {
    call.fail(error)
    throw error
  }
}

/** An event of the SDK's stream, beside what it is in the words of the Responses API. */
interface Told extends Loose {
  readonly event: Item
}

async function* stream(
  model: Model,
  given: ModelRequest,
  ask: (request: ModelRequest) => AsyncIterable<Item>,
): AsyncGenerator<Item> {
  let came: ModelResponse | undefined
  const { call, request, wire, answered } = await open<AsyncIterable<Told>>(model, given, true, (asked) => {
    const events = (message: LlmResponse, reply?: unknown) => {
      const made =
        reply === undefined || came === undefined
          ? responseOf(message, asked)
          : changedReply(came, message, asked)
      return toldEvents(eventsOf(made))
    }
    return { standIn: events, standInChunks: events }
  })
  async function* noted(events: AsyncIterable<Item>): AsyncGenerator<Item> {
    for await (const event of events) {
      if (event.type === 'response_done') came = doneOf(event)
      yield event
    }
  }
  const decided = call.decision ?? (await call.decided.catch(asAbort))
  if (decided.state === 'answered') {
    yield* read(decided.reply, answered)
    return
  }
  let told: AsyncIterable<Told>
  try {
    const sent = requestFromWire(request, wire, decided.request)
    told = await call.settle(abortedBy(toldEvents(noted(within(call, () => ask(sent)))), given.signal))
  } catch (error) {
    call.fail(error)
    throw error
  }
  yield* read(told, answered)
}

async function* read(told: AsyncIterable<Told>, answered: Asked<never>['answered']): AsyncGenerator<Item> {
  for await (const { event } of told) {
    if (event.type === 'response_done') answered((event.response as ModelResponse).output)
    yield event
  }
}

/** Each piece of the stream is fetched in the place of the call. */
async function* within(
  call: SafeModelCall<never> | SafeModelCall<AsyncIterable<Told>>,
  ask: () => AsyncIterable<Item>,
): AsyncGenerator<Item> {
  const events = call.run(() => ask()[Symbol.asyncIterator]())
  let over = false
  try {
    for (;;) {
      const next = await call.run(() => events.next())
      over = next.done === true
      if (next.done) return
      yield next.value
    }
  } catch (error) {
    over = true
    throw error
  } finally {
    if (!over) await events.return?.()
  }
}

async function* toldEvents(events: AsyncIterable<Item> | Iterable<Item>): AsyncGenerator<Told> {
  let said: Loose | undefined
  for await (const event of events) {
    said = saidOnWay(event, said)
    yield { ...wireEvent(event, said), event }
  }
}

function doneOf({ response }: Item): ModelResponse {
  const { id, ...rest } = response as Loose
  return { ...(rest as unknown as ModelResponse), responseId: asText(id) ?? '' }
}

function wireEvent(event: Item, said: Loose | undefined): Loose {
  const { type, delta } = event
  if (type === 'output_text_delta') {
    return { type: 'response.output_text.delta', output_index: 0, content_index: 0, delta }
  }
  if (type !== 'response_done') return { type: 'response.in_progress' }
  const reply = doneOf(event)
  const providerData = said && { ...said, ...reply.providerData }
  return { type: 'response.completed', response: responseToWire({ ...reply, ...defined({ providerData }) }) }
}

function eventsOf({ responseId = '', ...rest }: ModelResponse): Item[] {
  const { output } = rest
  const texts = output.flatMap(({ content }) => (Array.isArray(content) ? (content as Loose[]) : []))
  return [
    { type: 'response_started' },
    ...texts.flatMap(({ type, text }) =>
      type === 'output_text' ? [{ type: 'output_text_delta', delta: text }] : [],
    ),
    { type: 'response_done', response: { id: responseId, ...rest } },
  ]
}
