import type { LlmRequest } from '../../hooks/index.ts'
import { HookspanError } from '../../internal/errors.ts'
import { defined } from '../../internal/objects.ts'
import { asObject, asObjects, type Loose, parseArguments } from '../../wire/reading.ts'
import { sameJson } from '../../wire/rewrite.ts'
import { changedTexts, without } from '../said-again.ts'
import type { LcMessage, LcModelRequest } from './lang-chain.ts'
import { plainMessages, textOf } from './messages.ts'

/** The instructions, which LangChain has beside the messages. Without a text they are none. */
export function instructedBy({ systemMessage }: LcModelRequest): readonly LcMessage[] {
  return systemMessage === undefined || textOf(systemMessage) === '' ? [] : [systemMessage]
}

/**
 * The messages that gates decided on. One that they left is the very object that it was, and of one that they changed the
 * rest stays: ids, names, statuses, signatures, and by which version of LangChain its pictures are to be read.
 */
export function messagesDecided(request: LcModelRequest, { messages }: LlmRequest): Partial<LcModelRequest> {
  const instructed = instructedBy(request)
  const before = [...instructed, ...request.messages]
  const decided = asObjects(messages)
  const told = plainMessages(before)
  const froms = originsOf(told, decided)
  const left = instructed.length === 0 ? -1 : froms.indexOf(0)
  const system =
    left >= 0 ? left : decided.findIndex(({ role }, at) => role === 'system' && froms[at] === undefined)
  const made = decided.map((message, at) => {
    const from = froms[at]
    return from === undefined
      ? (message as unknown as LcMessage)
      : changedMessage(before[from] as LcMessage, told[from] as Loose, message)
  })
  return {
    messages: made.filter((_, at) => at !== system),
    ...instructions(request, made[system]),
  }
}

/** What the gates made of the input: messages that stand where those with the same ids stood, where there are such. */
export function inputDecided(messages: readonly LcMessage[] = [], input: unknown): readonly LcMessage[] {
  const [only] = messages
  if (only !== undefined && messages.length === 1 && typeof input === 'string') {
    return [copyOf(only, { content: withText(only.content, input) })]
  }
  const told = plainMessages(messages)
  const decided = Array.isArray(input) ? asObjects(input) : []
  const isSaid = decided.length === told.length && told.every(({ role }, at) => role === decided[at]?.role)
  if (isSaid)
    return messages.map((message, at) => changedMessage(message, told[at] as Loose, decided[at] as Loose))
  throw new HookspanError(
    'NOT_CAPABLE',
    'An onStart gate added messages to a conversation, took some out or made something else of it, which LangChain keeps. ' +
      'Change the request at beforeLlmCall.',
  )
}

/** A gate is told the text alone: pictures beside it stay. */
function withText(content: unknown, text: string): unknown {
  const others = asObjects(content).filter(({ type }) => type !== 'text')
  return others.length === 0 ? text : [{ type: 'text', text }, ...others]
}

/** LangChain looks whether it is the same message. */
function instructions(
  { systemMessage }: LcModelRequest,
  told: LcMessage | undefined,
): Partial<LcModelRequest> {
  if (told === undefined || told === systemMessage) return {}
  if (systemMessage === undefined || textOf(systemMessage) === '') return { systemPrompt: textOf(told) }
  return { systemMessage: copyOf(systemMessage, { content: told.content }) }
}

/** For each message that was decided on, which one it was before. */
function originsOf(told: readonly Loose[], decided: readonly Loose[]): (number | undefined)[] {
  const free = new Set(told.keys())
  const take = (at: number | undefined) => {
    if (at !== undefined) free.delete(at)
    return at
  }
  const firstFree = (is: (one: Loose) => boolean) => [...free].find((at) => is(told[at] as Loose))
  const same = decided.map((message) => take(firstFree((one) => sameJson(one, message))))
  return decided.map((message, at) => {
    if (same[at] !== undefined) return same[at]
    const known = told.length === decided.length && free.has(at) && told[at]?.role === message.role
    return take(known ? at : firstFree((one) => one.role === message.role && sharesPart(one, message)))
  })
}

/** Of a conversation of another length: a call, an answer to one, or a part that is no text. */
function sharesPart(one: Loose, other: Loose): boolean {
  const parts = (message: Loose) => [
    ...(message.tool_call_id === undefined ? [] : [message.tool_call_id]),
    ...asObjects(message.tool_calls).map(({ id }) => id),
    ...asObjects(message.content)
      .filter(({ type }) => type !== 'text')
      .map((part) => JSON.stringify(part)),
  ]
  const known = new Set(parts(one))
  return parts(other).some((part) => known.has(part))
}

function changedMessage(message: LcMessage, told: Loose, decided: Loose): LcMessage {
  if (sameJson(told, decided)) return message
  const gone = changedTexts(withArguments(told), withArguments(decided))
  return copyOf(
    message,
    defined({
      content: decided.content,
      name: decided.name,
      tool_call_id: decided.tool_call_id,
      tool_calls: sameJson(told.tool_calls, decided.tool_calls) ? undefined : callsOf(decided),
      additional_kwargs: without(message.additional_kwargs, gone),
      response_metadata: without(message.response_metadata, gone),
    }),
  )
}

function callsOf({ tool_calls }: Loose): Loose[] {
  return asObjects(tool_calls).map(({ id, function: fn }) => {
    const { name, arguments: args } = asObject(fn) ?? {}
    return { id, name, args: parseArguments(args), type: 'tool_call' }
  })
}

function withArguments(message: Loose): Loose {
  return { ...message, tool_calls: callsOf(message) }
}

export function copyOf(message: LcMessage, fields: Loose): LcMessage {
  const copy = Object.create(Object.getPrototypeOf(message)) as LcMessage
  // LangChain writes a message down by what it was made with.
  const { lc_kwargs } = message as { lc_kwargs?: object }
  return Object.assign(copy, message, fields, lc_kwargs && { lc_kwargs: { ...lc_kwargs, ...fields } })
}
