/** Spans that were noted while their request was checked: read from there, and not gone through once more. */
import { decodeSpan } from '../../internal/otlp/messages.ts'
import { ProtobufReader } from '../../internal/otlp/protobuf-reader.ts'
import type { OtlpSpan } from '../../internal/otlp/types.ts'
import { readNoted, type SpanFacts } from './read-span.ts'
import { SPAN_AT, SPAN_END, type SpanNotes } from './span-notes.ts'

/** Good as long as the request's body is. */
export class NotedSpans {
  readonly #bytes: Buffer
  readonly #notes: SpanNotes
  /** Where those of each span begin. */
  readonly #places: readonly number[]

  constructor(bytes: Buffer, notes: SpanNotes, places: readonly number[]) {
    this.#bytes = bytes
    this.#notes = notes
    this.#places = places
  }

  get length(): number {
    return this.#places.length
  }

  /** As a chunk gives them. */
  facts(index: number, forSums = false): SpanFacts | undefined {
    try {
      return readNoted(this.#bytes, this.#notes.numbers, this.#places[index]!, forSums)
    } catch {
      return undefined
    }
  }

  span(index: number): OtlpSpan | undefined {
    const { numbers } = this.#notes
    const at = this.#places[index]!
    try {
      return decodeSpan(new ProtobufReader(this.#bytes, numbers[at + SPAN_AT], numbers[at + SPAN_END]))
    } catch {
      return undefined
    }
  }
}
