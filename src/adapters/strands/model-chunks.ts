import { defined } from '../../internal/objects.ts'
import { languageModel } from '../../wire/language-model.ts'
import { asCount, asObject, asText, type Loose } from '../../wire/reading.ts'
import { textOf } from './messages.ts'
import type { ModelResult, StrandsBlock, StrandsEvent } from './sdk.ts'

/**
 * A model's stream on its way through the watch of a model call: the agent's events as chunks that are understood, and
 * the same events out of the watched chunks.
 */
export class ModelChunks {
  readonly #events = new WeakMap<object, StrandsEvent>()
  readonly #from: AsyncGenerator<StrandsEvent, { readonly result: ModelResult } | undefined>
  readonly #provider: string
  #block = 0
  #said = false
  #stopReason: string | undefined
  /** What the model call gave, once all of it has come. */
  result: ModelResult | undefined

  constructor(
    from: AsyncGenerator<StrandsEvent, { readonly result: ModelResult } | undefined>,
    provider: string,
  ) {
    this.#from = from
    this.#provider = provider
  }

  async *chunks(): AsyncGenerator<Loose> {
    let over = false
    try {
      for (;;) {
        over = true
        const { done, value } = await this.#from.next()
        if (done) {
          this.result = value?.result
          break
        }
        over = false
        const chunk = this.#chunkOf(value)
        this.#events.set(chunk, value)
        yield chunk
      }
    } finally {
      if (!over) await this.#from.return(undefined)
    }
    if (this.result !== undefined) yield* this.#end(this.result)
  }

  /** The agent's event that came as this chunk. */
  eventOf(chunk: object): StrandsEvent | undefined {
    return this.#events.get(chunk)
  }

  #chunkOf({ type, event, contentBlock }: StrandsEvent): Loose {
    if (type === 'contentBlockEvent') return this.#blockOf(contentBlock as StrandsBlock)
    const told = asObject(event)
    if (told?.type === 'modelContentBlockStopEvent') this.#block++
    if (told?.type === 'modelMessageStopEvent') this.#stopReason = asText(told.stopReason)
    // Before the end: at the limit of its tokens the SDK throws in the place of a reply that is paid for.
    if (told?.type === 'modelMetadataEvent') return this.#finishOf(this.#stopReason, asObject(told.usage))
    const takenBack = asText(asObject(told?.outputRedaction)?.replaceContent)
    if (told?.type === 'modelRedactionEvent' && takenBack !== undefined) {
      this.#said = true
      return { type: 'text-instead', text: takenBack }
    }
    if (told?.type !== 'modelContentBlockDeltaEvent') return { type: 'ping' }
    const { type: kind, text } = asObject(told.delta) ?? {}
    const delta = asText(text)
    const name = kind === 'textDelta' ? 'text' : kind === 'reasoningContentDelta' ? 'reasoning' : undefined
    if (name === undefined || delta === undefined) return { type: 'ping' }
    this.#said = true
    return { type: `${name}-delta`, id: String(this.#block), delta }
  }

  #blockOf({ type, toolUseId, name, input }: StrandsBlock): Loose {
    if (type !== 'toolUseBlock') return { type: 'ping' }
    this.#said = true
    return { type: 'tool-call', toolCallId: toolUseId, toolName: name, input }
  }

  /** What was told at the end alone, and of a model that does not stream all that it said. */
  *#end({ message, stopReason, metadata }: ModelResult): Generator<Loose> {
    if (!this.#said) {
      const text = textOf(message.content)
      if (text !== '') yield { type: 'text-delta', id: 'whole', delta: text }
      for (const block of message.content) if (block.type === 'toolUseBlock') yield this.#blockOf(block)
    }
    yield this.#finishOf(stopReason, metadata?.usage)
  }

  #finishOf(finishReason: string | undefined, usage: Loose | undefined): Loose {
    return { type: 'finish', usage: usageOf(usage, this.#provider), ...defined({ finishReason }) }
  }
}

/**
 * Whether `inputTokens` has those of the cache in it tells the sum; not of Anthropic's model, which sums up what it has without
 * them.
 */
function usageOf(usage: Loose | undefined, provider: string): Loose {
  const { totalTokens } = usage ?? {}
  const cacheRead = asCount(usage?.cacheReadInputTokens)
  const cacheWrite = asCount(usage?.cacheWriteInputTokens)
  const output = asCount(usage?.outputTokens)
  const input = asCount(usage?.inputTokens)
  if (input === undefined || output === undefined) return {}
  const holdsCached = provider !== 'anthropic' && input + output === totalTokens
  const whole = holdsCached ? input : input + (cacheRead ?? 0) + (cacheWrite ?? 0)
  return { inputTokens: { total: whole, cacheRead, cacheWrite }, outputTokens: { total: output } }
}

/** What a gate says in the place of a streamed reply. */
export function chunksOf(reply: Parameters<typeof languageModel.write>[0]['response']): readonly Loose[] {
  return languageModel.events(languageModel.write({ response: reply }, {}), {})
}
