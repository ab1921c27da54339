import type { LlmRequest, LlmResponse } from '../../hooks/index.ts'
import { HookspanError } from '../../internal/errors.ts'
import { generateContent } from '../../wire/generate-content.ts'
import { asObject, asObjects, asText, type Loose } from '../../wire/reading.ts'
import { rewritten } from '../../wire/rewrite.ts'
import { isStream } from '../../wire/watch-stream.ts'
import { assertSentToGoogle } from '../gate-request.ts'
import { hostedTools } from '../generated-client/hosted-tools.ts'
import { relay } from '../sdk-loop/relay.ts'
import type { AdkContent, AdkModel, AdkRequest, AdkResponse } from './adk.ts'
import type { AgentRun } from './agent-run.ts'
import { withSpans } from './sdk-spans.ts'

type Ask = (request: AdkRequest) => AsyncGenerator<AdkResponse, void>

/** A model call begins a step. */
export async function* callModel(
  agent: AgentRun,
  model: AdkModel,
  request: AdkRequest,
  ask: Ask,
): AsyncGenerator<AdkResponse, void> {
  const { run } = agent
  if (run.isStopped) return yield standIn({ content: 'The run was ended.' })
  try {
    run.assertInReach(hostedTools(generateContent, request as unknown as Loose))
    await agent.beginTurn()
    yield* observedCall(agent, model, request, ask)
    run.failure = undefined
  } catch (error) {
    // The SDK tells it by an event, and its run ends as if all were well.
    run.failure = { error }
    if (!(error instanceof ToldFailure)) throw error
    yield error.response
  }
}

async function* observedCall(
  agent: AgentRun,
  model: AdkModel,
  request: AdkRequest,
  ask: Ask,
): AsyncGenerator<AdkResponse, void> {
  const { run } = agent
  const told = toldOf(request)
  const calls = await run.calls()
  const wholes: AdkResponse[] = []
  let changed: AdkResponse | undefined
  const call = calls.openLlmCall<unknown>({
    model: request.model ?? model.model ?? 'unknown',
    provider: providerOf(model),
    request: told,
    standIn: (message: LlmResponse): unknown => message,
    standInChunks: (message: LlmResponse, given?: unknown) => {
      if (given === undefined) return [generateContent.write({ response: message }, {})]
      changed = changedResponse(wholes, message)
      return [{ candidates: [{ content: changed.content, finishReason: 'STOP' }] }]
    },
  })
  const decided = await call.decided
  if (decided.state === 'answered') {
    const { reply, response } = decided
    return yield isStream(reply) ? { content: await contentOf(reply) } : standIn(response)
  }
  let effective: AdkRequest
  try {
    assertSentToGoogle(told, decided.request, OURS)
    effective = decided.request === told ? request : effectiveOf(request, decided.request)
  } catch (error) {
    call.fail(error)
    throw error
  }
  const responses = new WeakMap<object, AdkResponse>()
  const answers = relay(ask(effective), (step) => call.run(() => withSpans(step)))
  const stream = (await call.settle(chunksOf(answers, responses, wholes))) as AsyncIterable<object>
  // The SDK runs the tools of a whole response before it reads on, and then the call is over.
  let whole: AdkResponse | undefined
  agent.asked = []
  try {
    for await (const chunk of stream) {
      if (whole !== undefined) yield whole
      const response = responses.get(chunk)
      whole = response?.partial ? undefined : response
      if (response?.partial) yield response
      else agent.asked = [...agent.asked, ...callsIn(response)]
    }
  } catch (error) {
    // What came before the model failed is the SDK's, but for what our own word ends.
    if (whole !== undefined && !(error instanceof HookspanError)) yield whole
    throw error
  }
  if (whole !== undefined) yield whole
  if (call.replaced !== undefined) yield changed ?? standIn(call.replaced)
}

function callsIn(response: AdkResponse | undefined): readonly Loose[] {
  return asObjects((response?.content?.parts ?? []).map((part) => part.functionCall))
}

/** A model that failed and says so in a response, as that of Google's interactions does, in place of throwing. */
class ToldFailure extends Error {
  readonly response: AdkResponse
  readonly code: string | undefined

  constructor(response: AdkResponse) {
    const code = asText(response.errorCode)
    super(asText(response.errorMessage) ?? code ?? 'The model failed.')
    this.name = 'ModelError'
    this.response = response
    this.code = code
  }
}

/** Of a request that was refused for what it says: an answer, as a reply that a filter ended is. */
const REFUSED = new Set(
  'BLOCKED_REASON_UNSPECIFIED SAFETY OTHER BLOCKLIST PROHIBITED_CONTENT IMAGE_SAFETY MODEL_ARMOR JAILBREAK'.split(
    ' ',
  ),
)

/** A response that says but what it took has `UNKNOWN_ERROR`, too. */
function isFailure({ content, finishReason, errorCode, usageMetadata }: AdkResponse): boolean {
  const isEmpty = content === undefined && finishReason === undefined && usageMetadata === undefined
  return isEmpty && errorCode !== undefined && !REFUSED.has(String(errorCode))
}

/** The SDK's responses as what Google's API sends; of a stream, the last one says all of it again. */
async function* chunksOf(
  responses: AsyncIterable<AdkResponse>,
  known: WeakMap<object, AdkResponse>,
  wholes: AdkResponse[],
): AsyncGenerator<Loose> {
  const said = new Map<boolean, string>()
  let failed: { readonly chunk: Loose; readonly response: AdkResponse } | undefined
  for await (const response of responses) {
    // Something comes after it, so it was not the end.
    if (failed !== undefined) yield failed.chunk
    failed = undefined
    const { content, partial, finishReason, errorCode, usageMetadata } = response
    const given = content?.parts ?? []
    const parts = partial ? given : unsaid(given, said)
    for (const of of [false, true]) {
      if (partial) said.set(of, (said.get(of) ?? '') + textIn(given, of))
      else said.delete(of)
    }
    const candidate = {
      content: { role: 'model', parts },
      ...(!partial && { finishReason: finishReason ?? errorCode ?? 'STOP' }),
    }
    const chunk = { candidates: [candidate], ...(usageMetadata !== undefined && { usageMetadata }) }
    known.set(chunk, response)
    if (!partial) wholes.push(response)
    if (isFailure(response)) failed = { chunk, response }
    else yield chunk
  }
  if (failed !== undefined) throw new ToldFailure(failed.response)
}

function textIn(parts: readonly Loose[], thought: boolean): string {
  return parts.map((part) => ((part.thought === true) === thought ? (asText(part.text) ?? '') : '')).join('')
}

/** Without the text that came in pieces before it. */
function unsaid(parts: readonly Loose[], said: ReadonlyMap<boolean, string>): readonly Loose[] {
  return [true, false].reduce((left, thought) => {
    const [before, whole] = [said.get(thought), textIn(parts, thought)]
    if (before === undefined) return left
    const others = left.filter((part) => part.text === undefined || (part.thought === true) !== thought)
    const text = before.includes(whole) ? '' : whole.startsWith(before) ? whole.slice(before.length) : whole
    return text === '' ? others : [{ text, ...(thought && { thought }) }, ...others]
  }, parts)
}

/** What a durable run has kept, with what only its model understands. */
async function contentOf(chunks: AsyncIterable<unknown>): Promise<AdkContent> {
  const parts: unknown[] = []
  for await (const chunk of chunks) {
    const [candidate] = asObjects(asObject(chunk)?.candidates)
    parts.push(...asObjects(asObject(candidate?.content)?.parts))
  }
  return { role: 'model', parts } as AdkContent
}

function standIn(message: LlmResponse): AdkResponse {
  const [candidate] = asObjects(generateContent.write({ response: message }, {}).candidates)
  return { content: candidate?.content as AdkContent }
}

/** The model's response with what a gate changed in it. */
function changedResponse(wholes: readonly AdkResponse[], message: LlmResponse): AdkResponse {
  const whole: AdkResponse = Object.assign({}, ...wholes)
  const { finishReason, errorCode, groundingMetadata, citationMetadata } = whole
  const parts = wholes.flatMap(({ content }) => content?.parts ?? [])
  const content = { ...whole.content, role: 'model', parts }
  const given = { candidates: [{ content, finishReason: finishReason ?? errorCode ?? 'STOP' }] }
  const [made] = asObjects(rewritten(generateContent, given, message, {}).candidates)
  const response = { ...whole, content: made?.content as AdkContent }
  if (generateContent.read(given).response.content === message.content) return response
  const { withoutText } = generateContent.pieces
  const [about] = asObjects(
    withoutText?.({ candidates: [{ groundingMetadata, citationMetadata }] }).candidates,
  )
  return { ...response, groundingMetadata: about?.groundingMetadata, citationMetadata: undefined }
}

/** Which say where and how to send, and nothing that is asked of the model. */
const OURS = new Set(['httpOptions', 'abortSignal', 'labels'])

function toldOf({ contents, config = {} }: AdkRequest): LlmRequest {
  const asked = Object.entries(config).filter(([key, value]) => !OURS.has(key) && value !== undefined)
  return { contents, config: Object.fromEntries(asked) } as LlmRequest
}

function effectiveOf(request: AdkRequest, { contents, config }: LlmRequest): AdkRequest {
  const kept = Object.entries(request.config ?? {}).filter(([key]) => OURS.has(key))
  return {
    ...request,
    contents: contents as readonly AdkContent[],
    config: { ...asObject(config), ...Object.fromEntries(kept) },
  }
}

/** By the class of the model, or the class that it extends. */
function providerOf(model: object): string {
  for (let at = Object.getPrototypeOf(model); at !== null; at = Object.getPrototypeOf(at)) {
    if (/gemini|google/i.test(String(at.constructor?.name))) return 'gcp.gemini'
  }
  return 'unknown'
}
