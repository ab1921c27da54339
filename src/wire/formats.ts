import { AnthropicEventReader, isAnthropicMessage, readAnthropicMessage } from './anthropic-messages.ts'
import { ChatChunkReader, isChatCompletion, readChatCompletion } from './chat-completions.ts'
import { asObject, type ChunkReader, type LlmReading } from './reading.ts'
import { isResponse, ResponseEventReader, readResponse } from './responses.ts'

/**
 * Understands a model's reply by its shape: chat completions, responses, Anthropic messages, plain text. What is
 * not understood gives an empty reading, never an error.
 */
export function readReply(reply: unknown): LlmReading {
  if (typeof reply === 'string') return { response: { content: reply } }
  const object = asObject(reply)
  if (object === undefined) return { response: {} }
  if (isChatCompletion(object)) return readChatCompletion(object)
  if (isResponse(object)) return readResponse(object)
  if (isAnthropicMessage(object)) return readAnthropicMessage(object)
  return readPlain(object)
}

/** A reply that is in our own words already: `{ content, toolCalls, usage, ... }`. */
function readPlain(object: Record<string, unknown>): LlmReading {
  const { usage, costUsd, response, ...fields } = object
  const own = asObject(response) ?? fields
  const keys = ['id', 'model', 'finishReasons', 'content', 'reasoning', 'toolCalls', 'refusal']
  const known = Object.fromEntries(keys.filter((key) => own[key] !== undefined).map((key) => [key, own[key]]))
  const counts = asObject(usage)
  return {
    response: known,
    ...(typeof counts?.inputTokens === 'number' && {
      usage: counts as unknown as NonNullable<LlmReading['usage']>,
    }),
    ...(typeof costUsd === 'number' && { costUsd }),
  }
}

/** Puts a stream together, whichever API it comes from: its first chunk tells. */
export class AnyChunkReader implements ChunkReader {
  #reader: ChunkReader | undefined

  push(chunk: unknown): void {
    this.#reader ??= readerFor(chunk)
    this.#reader?.push(chunk)
  }

  read(): LlmReading {
    return this.#reader?.read() ?? { response: {} }
  }
}

class TextReader implements ChunkReader {
  #text = ''

  push(chunk: unknown): void {
    if (typeof chunk === 'string') this.#text += chunk
  }

  read(): LlmReading {
    return { response: { content: this.#text } }
  }
}

function readerFor(chunk: unknown): ChunkReader | undefined {
  if (typeof chunk === 'string') return new TextReader()
  const object = asObject(chunk)
  if (object === undefined) return undefined
  if (Array.isArray(object.choices)) return new ChatChunkReader()
  const type = typeof object.type === 'string' ? object.type : ''
  if (type.startsWith('response.')) return new ResponseEventReader()
  if (/^(message|content_block)_/.test(type)) return new AnthropicEventReader()
  return undefined
}
