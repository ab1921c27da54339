import type { LlmMessage, LlmRequest, LlmResponse, ProviderToolCall } from '../hooks/values.ts'
import { isRecord } from '../internal/objects.ts'
import type { WireFormat } from './format.ts'
import { argumentsText, asObject, type Loose, present } from './reading.ts'

type Field = 'content' | 'reasoning' | 'refusal' | 'toolCalls' | 'providerToolCalls' | 'parts'
const TEXTS = ['content', 'reasoning', 'refusal'] as const
const FIELDS: readonly Field[] = [...TEXTS, 'toolCalls', 'providerToolCalls', 'parts']

/** What stands beside a text and says it once more, or where in it something is. */
const SAYING_AGAIN: Readonly<Partial<Record<Field, readonly string[]>>> = {
  content: ['annotations', 'citations', 'logprobs'],
  reasoning: ['reasoning', 'reasoning_details', 'thinking_blocks', 'provider_specific_fields'],
}

/**
 * The reply that a gate changed, in its provider's words. What the gate left alone stays as it came: providers want back what
 * only they can read (signatures of thoughts, encrypted reasoning, ids, who called a tool), or refuse the next request.
 *
 * @param given the reply as it came; undefined where none did.
 */
export function rewritten(
  format: WireFormat,
  given: unknown,
  message: LlmResponse,
  request: LlmRequest,
): Loose {
  const reply = asObject(given)
  const kept = reply && format.isReply(reply) ? keeping(format, reply, message, request) : undefined
  // Where a provider says the same thing in a second place, the gate's word must not be undone by it.
  return kept !== undefined && saysTheSame(format.read(kept).response, message)
    ? kept
    : standInReply(format, message, request)
}

/** A reply that no model gave. Its items have ids of their own: OpenAI refuses a conversation in which one stands twice. */
function standInReply(format: WireFormat, message: LlmResponse, request: LlmRequest): Loose {
  const { id = `stand-in-${crypto.randomUUID()}` } = message
  return format.write({ response: { ...message, id } }, request)
}

function keeping(
  format: WireFormat,
  reply: Loose,
  message: LlmResponse,
  request: LlmRequest,
): Loose | undefined {
  const { of, put, withoutText } = format.pieces
  const before = format.read(reply).response
  const pieces = of(reply)
  const said = pieces.map((piece) => format.read(put({}, [piece])).response)
  const written = (response: LlmResponse) => of(format.write({ response }, request))
  const shares = format.pieces.single ? [message] : sharesOf(said, before, message)
  if (shares === undefined) return undefined
  const made: Loose[] = pieces.flatMap((piece, index) => {
    const [was, now] = [told(said[index]), told(shares[index])]
    if (sameJson(was, now)) return [piece]
    if (Object.keys(now).length === 0) return []
    const again = TEXTS.flatMap((field) => (was[field] === now[field] ? [] : (SAYING_AGAIN[field] ?? [])))
    return [changed(piece, written(was), written(now), again)]
  })
  if (!format.pieces.single) {
    const { toolCalls = [], ...others } = beside(shares, message)
    const firstCall = made.findIndex(
      (piece) => format.read(put({}, [piece])).response.toolCalls !== undefined,
    )
    made.splice(firstCall < 0 ? made.length : firstCall, 0, ...written(others))
    made.push(...written({ toolCalls }))
  }
  const about = before.content === message.content ? reply : (withoutText?.(reply) ?? reply)
  if (sameJson(headOf(before), headOf(message))) return put(about, made)
  const [was, now] = [before, message].map((response) => put(format.write({ response }, request), []))
  return put(patched(put(about, []), was, now) as Loose, made)
}

/** A piece of which the provider's own stays but for what is written otherwise now. */
function changed(
  piece: Loose,
  was: readonly Loose[],
  now: readonly Loose[],
  again: readonly string[],
): Loose {
  const isIt = (one: Loose) =>
    one.type === piece.type &&
    Object.keys(one).some((key) => key !== 'type' && key !== 'id' && piece[key] !== undefined)
  const [from, to = now.at(-1) as Loose] = [was.find(isIt), now.find(isIt)]
  if (from !== undefined) return patched(without(piece, again), from, to) as Loose
  // OpenAI's tools whose input is no JSON: as written, they are functions.
  const isCustom = typeof piece.input === 'string' && typeof to.arguments === 'string'
  return isCustom ? { ...piece, name: to.name, input: to.arguments } : to
}

/** In the piece itself, in what it holds, or in its message. */
function without(piece: Loose, keys: readonly string[]): Loose {
  const { content, message } = piece
  const clean = (value: unknown): unknown =>
    isRecord(value)
      ? Object.fromEntries(
          Object.entries(value).map(([key, one]) => [
            key,
            keys.includes(key) ? (Array.isArray(one) ? [] : null) : one,
          ]),
        )
      : value
  return {
    ...(clean(piece) as Loose),
    ...(Array.isArray(content) && { content: content.map(clean) }),
    ...(message !== undefined && { message: clean(message) }),
  }
}

/** What differs between two is made to differ in a third. */
export function patched(raw: unknown, was: unknown, now: unknown): unknown {
  if (sameJson(was, now)) return raw
  if (Array.isArray(raw) && Array.isArray(was) && Array.isArray(now)) {
    const alike = raw.length === was.length && was.length === now.length
    return alike ? raw.map((one, index) => patched(one, was[index], now[index])) : now
  }
  if (!isRecord(raw) || !isRecord(was) || !isRecord(now)) return now
  const made: Loose = { ...raw }
  for (const key of new Set([...Object.keys(was), ...Object.keys(now)])) {
    if (now[key] === undefined) delete made[key]
    else made[key] = patched(raw[key], was[key], now[key])
  }
  return made
}

/** What of a message each piece is to say; undefined where that cannot be told. */
function sharesOf(
  said: readonly LlmMessage[],
  before: LlmMessage,
  message: LlmMessage,
): LlmMessage[] | undefined {
  const texts = TEXTS.map((field) =>
    textShares(
      said.map((one) => one[field]),
      before[field],
      message[field],
    ),
  )
  const calls = [...(message.toolCalls ?? [])]
  const parts = [...(message.parts ?? [])]
  const runs = message.providerToolCalls ?? []
  const samePlaces = parts.length === (before.parts ?? []).length
  const known = before.providerToolCalls ?? []
  const unchanged = sameJson(known, runs)
  if (!samePlaces || !(unchanged || runs.every((run) => isOneOf(run, known)))) return undefined
  return said.map((one, index) => {
    const [content, reasoning, refusal] = texts.map((shares) => shares[index])
    return present<LlmMessage>({
      content,
      reasoning,
      refusal,
      toolCalls: one.toolCalls?.flatMap(({ toolCallId, apiName }) => {
        const named = calls.findIndex((call) => call.toolCallId === toolCallId && call.apiName === apiName)
        const at = named < 0 ? calls.findIndex((call) => call.toolCallId === toolCallId) : named
        return at < 0 ? [] : calls.splice(at, 1)
      }),
      providerToolCalls: unchanged
        ? one.providerToolCalls
        : one.providerToolCalls?.flatMap((run) => runShare(run, known, runs)),
      parts: one.parts?.flatMap(() => parts.splice(0, 1)),
    })
  })
}

function isOneOf({ toolCallId }: ProviderToolCall, runs: readonly ProviderToolCall[]): boolean {
  return toolCallId !== '' && runs.some((run) => run.toolCallId === toolCallId)
}

/** The call and what came of it may be two pieces. */
function runShare(
  run: ProviderToolCall,
  before: readonly ProviderToolCall[],
  after: readonly ProviderToolCall[],
): ProviderToolCall[] {
  const [was, now] = [before, after].map((runs) =>
    runs.find(({ toolCallId }) => toolCallId === run.toolCallId),
  )
  if (now === undefined) return []
  const { result: _result, error: _error, success: _success, ...asked } = run
  const { result, error, success } = now
  const ended = run.result !== undefined || run.error !== undefined
  const outcome = ended ? present({ result, error, success }) : present({ success: run.success })
  return [{ ...asked, args: sameJson(run.args, was?.args) ? now.args : run.args, ...outcome }]
}

/** Texts before and behind the place that was changed stay; those in it become one. */
function textShares(
  texts: readonly (string | undefined)[],
  before = '',
  after?: string,
): (string | undefined)[] {
  if (before === after) return [...texts]
  if (after === undefined) return texts.map(() => undefined)
  let head = 0
  while (head < Math.min(before.length, after.length) && before[head] === after[head]) head += 1
  let tail = 0
  while (
    tail < Math.min(before.length, after.length) - head &&
    before.at(-1 - tail) === after.at(-1 - tail)
  ) {
    tail += 1
  }
  const places = placesOf(texts, before)
  const where = (isIt: (place: { start: number; end: number }) => boolean) =>
    places.flatMap((place, index) => (place !== undefined && isIt(place) ? [index] : []))
  const overlapping = where(({ start, end }) => end > head && start < before.length - tail)
  // What is only put in belongs to the text that it is put behind.
  const inside = overlapping.length > 0 ? overlapping : where(({ end }) => end >= head).slice(0, 1)
  const [first = -1] = inside
  const last = inside.at(-1) ?? -1
  return texts.map((text, index) => {
    if (text === undefined || !inside.includes(index)) return text
    if (index !== first) return undefined
    const end = after.length - (before.length - (places[last]?.end ?? 0))
    return after.slice(places[first]?.start, end)
  })
}

function placesOf(texts: readonly (string | undefined)[], whole: string) {
  let from = 0
  return texts.map((text) => {
    if (text === undefined) return undefined
    const start = Math.max(whole.indexOf(text, from), from)
    from = start + text.length
    return { start, end: from }
  })
}

/** What a message says that no piece says. */
function beside(shares: readonly LlmMessage[], message: LlmMessage): LlmMessage {
  const isSaid = (field: Field) => shares.some((share) => share[field] !== undefined)
  const calls = shares.flatMap(({ toolCalls = [] }) => toolCalls)
  return present<LlmMessage>({
    ...Object.fromEntries(TEXTS.flatMap((field) => (isSaid(field) ? [] : [[field, message[field]]]))),
    toolCalls: message.toolCalls?.filter((call) => !calls.includes(call)),
  })
}

const told = (message: LlmMessage = {}): LlmMessage =>
  present<LlmMessage>(Object.fromEntries(FIELDS.map((field) => [field, message[field]])))

const headOf = ({ id, model, finishReasons, conversationId }: LlmResponse) =>
  present({ id, model, finishReasons, conversationId })

function saysTheSame(made: LlmResponse, message: LlmResponse): boolean {
  const whole = ({ toolCalls, alternatives, ...one }: LlmResponse): Loose => ({
    ...told(one),
    ...present({
      alternatives,
      toolCalls: toolCalls?.map((call) => [call.toolCallId, call.apiName, argumentsText(call)]),
    }),
  })
  return sameJson(whole(made), whole(message))
}

/** As JSON says it: what is undefined is not there. */
export function sameJson(a: unknown, b: unknown): boolean {
  if (a === b) return true
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((one, index) => sameJson(one, b[index]))
  }
  if (!isRecord(a) || !isRecord(b)) return false
  return [...new Set([...Object.keys(a), ...Object.keys(b)])].every((key) => sameJson(a[key], b[key]))
}
