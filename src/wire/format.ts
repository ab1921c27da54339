import type { LlmRequest } from '../hooks/values.ts'
import type { ChatMessage, PartReader } from './parts.ts'
import type { LlmReading, Loose } from './reading.ts'

/** One way in which models are spoken to. All that is known of it stands in the file of its object. */
export interface WireFormat {
  readonly name: 'chat' | 'responses' | 'messages' | 'generateContent' | 'interactions' | 'languageModel'
  /** The path of its endpoint; absent where it is spoken within a process alone. */
  readonly route?: RegExp
  /** What ids of its replies begin with. */
  readonly idPrefix: string
  /** Sent behind the last event of a stream. */
  readonly endMarker?: string

  isRequest(request: Loose): boolean
  isReply(reply: Loose): boolean
  isChunk(chunk: Loose): boolean

  /** What of a request is told apart: the conversation, instructions beside it, tools. */
  fields(request: Loose): { messages: unknown; instructions: unknown; tools: unknown }
  /** Of the tools that a request offers, those that the provider runs by itself. */
  hosted?(request: Loose): readonly HostedTool[]
  /** One message, or item, of a conversation. */
  message(item: Loose, part: PartReader): ChatMessage
  readonly part: PartReader

  read(reply: Loose): LlmReading
  /** What a reply consists of, each of which can be read alone, and a reply of others. */
  readonly pieces: {
    of(reply: Loose): readonly Loose[]
    put(reply: Loose, pieces: readonly Loose[]): Loose
    /** Without what beside the pieces says their text once more. */
    withoutText?(reply: Loose): Loose
    /** It is one, which says all. */
    readonly single?: true
  }
  /** The id of a reply that is not made yet: the provider goes on in the background, and is asked for it later. */
  unmade?(reply: Loose): string | undefined
  collector(): Collector
  /** What a chunk adds to the text of the answer. */
  textOf(chunk: Loose): string | undefined

  write(reading: LlmReading, request: LlmRequest): Loose
  /** The body of an HTTP error. @default as OpenAI says it */
  writeError?(error: WireError): Loose
  /** The stream of a reply that `write` gave. `interleaved`: parallel tool calls take turns. */
  events(reply: Loose, request: LlmRequest, interleaved?: boolean): readonly Loose[]
}

/** Named as the calls of it are, where those are told. */
export interface HostedTool {
  /** `*` for all tools of a server, whose names nobody knows. */
  readonly name: string
  readonly identifier: string
}

/** An HTTP error, in OpenAI's words. */
export interface WireError {
  readonly status: number
  readonly message: string
  readonly type: string
}

/** Puts a streamed reply together, chunk by chunk. Passes over a chunk that it does not understand. */
export interface Collector {
  push(chunk: Loose): void
  /** Whether the model, or the server, said that this was all. */
  readonly ended: boolean
  /** The reply that it would have been without streaming, as far as it came; where it was cut off, it says `error`. */
  reply(): Loose
}
