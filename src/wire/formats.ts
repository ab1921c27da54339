import type { LlmMessage, LlmRequest, LlmResponse, TokenUsage } from '../hooks/values.ts'
import { messages } from './anthropic-messages.ts'
import { chat } from './chat-completions.ts'
import type { Collector, WireFormat } from './format.ts'
import { generateContent } from './generate-content.ts'
import { interactions } from './interactions.ts'
import { languageModel } from './language-model.ts'
import type { PartReader } from './parts.ts'
import {
  asList,
  asName,
  asObject,
  asObjects,
  asText,
  type LlmReading,
  type Loose,
  present,
} from './reading.ts'
import { responses } from './responses.ts'

/** Every format there is. The first that knows a value has it, so what is told apart by more comes first. */
export const FORMATS: readonly WireFormat[] = [
  interactions,
  responses,
  generateContent,
  languageModel,
  messages,
  chat,
]

export type FormatName = WireFormat['name']

/** The stream of a reply that the format wrote, as it goes over HTTP: one text for each event. */
export function serverSentEvents(
  format: WireFormat,
  reply: Loose,
  request: LlmRequest,
  interleaved?: boolean,
): string[] {
  return sentEvents(format, format.events(reply, request, interleaved))
}

/** The same, of events that are there. */
export function sentEvents({ endMarker }: WireFormat, events: readonly Loose[]): string[] {
  const sent = events.map((event) => {
    const named = asText(event.type ?? event.event_type)
    return `${named === undefined ? '' : `event: ${named}\n`}data: ${JSON.stringify(event)}\n\n`
  })
  return endMarker === undefined ? sent : [...sent, `data: ${endMarker}\n\n`]
}

/** Undefined for a request whose shape is nobody's. */
export function formatOfRequest(request: Loose): WireFormat | undefined {
  return FORMATS.find((format) => format.isRequest(request))
}

/** A part of a message in the words of one format, or else of any: conversations are handed from one to another. */
export function partReader(first: WireFormat): PartReader {
  return (part) => {
    const own = first.part(part)
    if (own !== undefined) return own
    for (const format of FORMATS) {
      const told = format === first ? undefined : format.part(part)
      if (told !== undefined) return told
    }
    return undefined
  }
}

/**
 * Understands a model's reply by its shape: that of a format, or plain text. What is not understood gives an empty
 * reading, never an error.
 */
export function readReply(reply: unknown): LlmReading {
  if (typeof reply === 'string') return { response: { content: reply } }
  const object = asObject(reply)
  if (object === undefined) return { response: {} }
  return (FORMATS.find((format) => format.isReply(object)) ?? { read: readPlain }).read(object)
}

/** A reply that is in our own words already, as far as they are: `{ content, toolCalls, usage, ... }`. */
function readPlain({ usage, costUsd, response, ...fields }: Loose): LlmReading {
  const own = asObject(response) ?? fields
  const counts = asObject(usage)
  return {
    response: present<LlmResponse>({
      ...plainMessage(own),
      id: asName(own.id),
      model: asName(own.model),
      finishReasons: asList(own.finishReasons).filter((reason) => typeof reason === 'string'),
      conversationId: asName(own.conversationId),
      alternatives: asObjects(own.alternatives).map(plainMessage),
    }),
    ...((counts?.inputTokens ?? counts?.outputTokens ?? undefined) !== undefined && {
      usage: counts as unknown as TokenUsage,
    }),
    ...((costUsd ?? undefined) !== undefined && { costUsd: costUsd as number }),
  }
}

function plainMessage(own: Loose): LlmMessage {
  const having = <T>(list: unknown, field: string) =>
    asObjects(list).filter((item) => typeof item[field] === 'string') as readonly unknown[] as T
  return present<LlmMessage>({
    content: asText(own.content),
    reasoning: asText(own.reasoning),
    refusal: asText(own.refusal),
    toolCalls: having<LlmMessage['toolCalls']>(own.toolCalls, 'apiName'),
    providerToolCalls: having<LlmMessage['providerToolCalls']>(own.providerToolCalls, 'apiName'),
    parts: having<LlmMessage['parts']>(own.parts, 'type'),
  })
}

/** Puts a stream together, whichever format it has: its first chunk tells. Chunks may be plain texts, too. */
export class AnyCollector {
  #format: WireFormat | undefined
  #collector: Collector | undefined
  #text: string | undefined

  push(chunk: unknown): void {
    if (typeof chunk === 'string') this.#text = (this.#text ?? '') + chunk
    const object = asObject(chunk)
    if (object === undefined) return
    this.#format ??= FORMATS.find((format) => format.isChunk(object))
    this.#collector ??= this.#format?.collector()
    this.#collector?.push(object)
  }

  /** Whether the stream has said that it is whole; one of nobody's format cannot. */
  get ended(): boolean {
    return this.#collector?.ended ?? true
  }

  /** The reply that it is of, whole; undefined where its format is nobody's. */
  reply(): Loose | undefined {
    return this.#collector?.reply()
  }

  read(): LlmReading {
    const reply = this.reply()
    if (reply !== undefined && this.#format !== undefined) return this.#format.read(reply)
    return { response: this.#text === undefined ? {} : { content: this.#text } }
  }
}
