import type { LlmResponse, ToolCallRequest } from '../../hooks/index.ts'
import { defined, isRecord } from '../../internal/objects.ts'
import { asObject, asObjects, type Loose } from '../../wire/reading.ts'
import { sameJson } from '../../wire/rewrite.ts'
import { overlap } from '../said-again.ts'
import type { LcMessage, LcMessages } from './lang-chain.ts'
import { aiMessage, readReply, thoughtIn } from './messages.ts'

/**
 * The message that a gate changed. What it left alone stays as the provider gave it: LangChain sends it back, and providers
 * refuse a request without what only they can read, as the signatures of thoughts.
 *
 * @param given what the model gave; undefined where none was asked.
 */
export function changedReply(classes: LcMessages, message: LlmResponse, given: unknown): LcMessage {
  const reply = asObject(given) as (LcMessage & Loose) | undefined
  if (reply?.getType?.() !== 'ai') return aiMessage(classes, message)
  const before = readReply(reply).response
  const { tool_calls, invalid_tool_calls } = aiMessage(classes, message)
  const isThoughtKept = (message.reasoning ?? '') === (before.reasoning ?? '')
  const calls = new Map((message.toolCalls ?? []).map((call) => [call.toolCallId, call]))
  const { id, name, usage_metadata } = reply
  const kept = new classes.AIMessage(
    defined({
      id: message.id ?? id,
      name,
      content: contentOf(reply, before, message, calls, isThoughtKept),
      tool_calls,
      invalid_tool_calls,
      usage_metadata,
      additional_kwargs: {
        ...beside(reply.additional_kwargs, before, message, calls),
        ...(!isThoughtKept && message.reasoning && { reasoning_content: message.reasoning }),
      },
      response_metadata: beside(reply.response_metadata, before, message, calls),
    }),
  )
  // Where a provider says the same thing in a place that is not known here, the gate's word must not be undone by it.
  const now = readReply(kept).response
  const isKept =
    (now.content ?? '') === newText(before, message) && (now.reasoning ?? '') === (message.reasoning ?? '')
  return isKept ? kept : aiMessage(classes, message)
}

/** A refusal of the model's own stays where it is, beside the text. */
function newText(before: LlmResponse, { content, refusal }: LlmResponse): string {
  return content ?? (refusal === before.refusal ? '' : (refusal ?? ''))
}

type Calls = ReadonlyMap<string, ToolCallRequest>

function contentOf(
  { content }: LcMessage,
  before: LlmResponse,
  message: LlmResponse,
  calls: Calls,
  isThoughtKept: boolean,
): unknown {
  const text = newText(before, message)
  if (!Array.isArray(content)) return text
  const isTextKept = text === (before.content ?? '')
  let isSaid = isTextKept
  const blocks = asObjects(content).flatMap((block) => {
    // A signature is of the words that were signed: what was changed is said where no provider asks for one.
    if (thoughtIn(block) !== undefined) return isThoughtKept ? [block] : []
    if (block.type === 'text' && !isTextKept) {
      const said = isSaid || text === '' ? [] : [plainText(block, text)]
      isSaid = true
      return said
    }
    return callIn(block, before, calls)
  })
  return [...blocks, ...(isSaid || text === '' ? [] : [{ type: 'text', text }])]
}

/** What cites the text or marks places in it says what the gate took out. */
function plainText({ citations: _quoted, annotations: _marked, ...block }: Loose, text: string): Loose {
  return { ...block, text }
}

/** Blocks of calls, which LangChain has beside its own list of them. */
function callIn(block: Loose, before: LlmResponse, calls: Calls): Loose[] {
  const id = block.call_id ?? block.id ?? asObject(block.functionCall)?.id
  const was = before.toolCalls?.find(({ toolCallId }) => toolCallId === id)
  if (was === undefined) return [block]
  const now = calls.get(was.toolCallId)
  if (now === undefined) return []
  return sameJson(was, now) ? [block] : [asChanged(block, now)]
}

const ARGUMENTS = ['input', 'args', 'arguments'] as const

function asChanged(block: Loose, call: ToolCallRequest): Loose {
  const made: Loose = { ...block }
  if (typeof made.name === 'string') made.name = call.apiName
  for (const key of ARGUMENTS) {
    if (key in made) made[key] = typeof made[key] === 'string' ? JSON.stringify(call.args) : call.args
  }
  for (const key of ['function', 'functionCall']) {
    const held = made[key]
    if (isRecord(held)) made[key] = asChanged(held, call)
  }
  return made
}

/** What a provider says besides, without what repeats words that the gate took out. */
function beside(about: unknown, before: LlmResponse, message: LlmResponse, calls: Calls): Loose {
  const gone = [
    [before.content, message.content],
    [before.reasoning, message.reasoning],
    [before.refusal, message.refusal],
  ] as const
  const repeats = (value: unknown): boolean => {
    if (typeof value === 'string') {
      return gone.some(
        ([was, now]) => was && was !== now && value !== '' && overlap(value, was) && !now?.includes(value),
      )
    }
    return value !== null && typeof value === 'object' && Object.values(value).some(repeats)
  }
  const entries = Object.entries(asObject(about) ?? {}).flatMap(([key, value]) => {
    if (key !== 'tool_calls') return repeats(value) ? [] : [[key, value] as const]
    return [[key, asObjects(value).flatMap((block) => callIn(block, before, calls))] as const]
  })
  return Object.fromEntries(entries)
}
