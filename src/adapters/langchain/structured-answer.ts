import type { LlmResponse } from '../../hooks/index.ts'
import { jsonIn } from '../../internal/json.ts'
import { asObject } from '../../wire/reading.ts'
import { sameJson } from '../../wire/rewrite.ts'
import { copyOf } from './changed-messages.ts'
import { changedReply } from './changed-reply.ts'
import { isToolMessage, type LcMessage, type LcMessages } from './lang-chain.ts'
import { readReply } from './messages.ts'

/** What LangChain makes of a reply that is the structured answer of an agent: the messages that stand for it are beside it. */
interface Structured {
  readonly structuredResponse: unknown
  readonly messages: readonly LcMessage[]
}

/**
 * What a gate made of a reply, with the structured answer that is in it: as it was where the gate left that alone, else as the
 * gate says it.
 *
 * @param given what LangChain gave; undefined where no model was asked.
 */
export function changedAnswer(classes: LcMessages, message: LlmResponse, given: unknown): unknown {
  if (!isStructured(given)) return changedReply(classes, message, given)
  const { structuredResponse: before } = given
  const [reply, ...others] = given.messages
  const made = changedReply(classes, message, reply)
  const now = answerIn(message, reply, others, before)
  // It is not there any more: the gate refused it, or said something else.
  if (now === undefined) return made
  return { ...given, structuredResponse: now, messages: [made, ...others.map(saying(before, now))] }
}

function isStructured(given: unknown): given is Structured {
  const { structuredResponse, messages } = asObject(given) ?? {}
  return structuredResponse !== undefined && Array.isArray(messages) && messages.length > 0
}

function answerIn(
  message: LlmResponse,
  reply: LcMessage | undefined,
  others: readonly LcMessage[],
  before: unknown,
): unknown {
  const { content, toolCalls = [] } = readReply(reply).response
  const id = others.find(isToolMessage)?.tool_call_id
  // Without a call of it, it is what the model said.
  if (id === undefined)
    return message.content === content ? before : asObject(jsonIn(message.content ?? '', undefined))
  const [was, now] = [toolCalls, message.toolCalls ?? []].map((calls) =>
    calls.find(({ toolCallId }) => toolCallId === id),
  )
  return now !== undefined && sameJson(was?.args, now.args) ? before : now?.args
}

/** LangChain repeats the answer in what it says of it. */
function saying(before: unknown, now: unknown): (message: LcMessage) => LcMessage {
  const [old, instead] = [JSON.stringify(before), JSON.stringify(now)]
  return (message) => {
    const { content } = message
    if (old === instead || typeof content !== 'string' || !content.includes(old)) return message
    return copyOf(message, { content: content.replaceAll(old, () => instead) })
  }
}
