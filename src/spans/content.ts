import type { Attributes } from '@opentelemetry/api'
import type { OperationInfo } from '../dispatcher/index.ts'
import type { LlmRequest, LlmResponse } from '../hooks/index.ts'
import { ignoreRejection, isThenable } from '../internal/async.ts'
import { errorMessage } from '../internal/errors.ts'
import { isBytes, safeStringify, withoutBytes } from '../internal/json.ts'
import { fits } from '../internal/json-within.ts'
import { outputMessage, outputMessages, textMessage } from '../wire/parts.ts'
import { requestContent } from '../wire/request.ts'
import { fitJson, fitText } from './fit-json.ts'
import { GEN_AI, HOOKSPAN } from './names.ts'

/** Where a piece of content comes from, for a `redact` function. */
export interface ContentPlace {
  /** The attribute that the value is for; `error.message` for the message of a failure, the span's status. */
  readonly attribute: string
  readonly operationId: string
  readonly toolName?: string
}

/** Takes out what must not leave the process. Gets the structured value; what it returns is captured. */
export type Redact = (value: unknown, place: ContentPlace) => unknown

export interface ContentOptions {
  readonly capture: boolean
  readonly redact: Redact | undefined
  /** Per attribute, in UTF-8 bytes. */
  readonly maxBytes: number
}

/** Puts content on one span. There is none where content is not captured, so that nothing is paid for it. */
export class ContentWriter {
  readonly #options: ContentOptions
  readonly #attributes: Attributes
  readonly #place: Omit<ContentPlace, 'attribute'>
  #cutBytes = 0
  readonly #cut: string[] = []

  constructor(options: ContentOptions, attributes: Attributes, place: Omit<ContentPlace, 'attribute'>) {
    this.#options = options
    this.#attributes = attributes
    this.#place = place
  }

  request(request: LlmRequest): this {
    const content = requestContent(request)
    const { systemInstructions, toolDefinitions } = content
    if (!this.#whole(GEN_AI.inputMessages, () => content.messagesJson(this.#options.maxBytes))) {
      this.#json(GEN_AI.inputMessages, content.messages, (cut) => textMessage('system', `[hookspan: ${cut}]`))
    }
    if (systemInstructions.length > 0) this.#json(GEN_AI.systemInstructions, systemInstructions)
    if (toolDefinitions.length > 0) this.#json(GEN_AI.toolDefinitions, toolDefinitions)
    return this
  }

  response(response: LlmResponse, finishReason?: string): this {
    const messages = outputMessages(response, finishReason)
    if (messages.length > 0) this.#json(GEN_AI.outputMessages, messages)
    return this
  }

  input(input: unknown): this {
    if (input === undefined) return this
    if (Array.isArray(input)) return this.request({ messages: input })
    this.#json(GEN_AI.inputMessages, [
      textMessage('user', typeof input === 'string' ? input : safeStringify(withoutBytes(input))),
    ])
    return this
  }

  instructions(instructions: string | undefined): this {
    if (instructions === undefined) return this
    this.#json(GEN_AI.systemInstructions, [{ type: 'text', content: instructions }])
    return this
  }

  output(content: string | undefined, finishReason = 'stop'): this {
    if (content !== undefined) {
      this.#json(GEN_AI.outputMessages, [outputMessage(content, finishReason)])
    }
    return this
  }

  /** The conventions want an object; anything else is put into one under `key`. */
  object(attribute: string, value: unknown, key: string): this {
    if (value !== undefined) this.#json(attribute, asObject(value, key))
    return this
  }

  /** The object whose JSON this is. */
  exactObject(attribute: string, json: string): this {
    return this.#whole(attribute, () => json) ? this : this.object(attribute, JSON.parse(json), '')
  }

  text(attribute: string, value: string | undefined): this {
    if (value === undefined) return this
    const redacted = this.#redacted(attribute, value)
    const { text, cutBytes } = fitText(String(redacted), this.#options.maxBytes)
    this.#note(attribute, cutBytes)
    this.#attributes[attribute] = text
    return this
  }

  /** Takes JSON as it is, where nothing is to be redacted and nothing to be cut. */
  #whole(attribute: string, json: () => string | undefined): boolean {
    if (this.#options.redact !== undefined) return false
    try {
      const text = json()
      if (text === undefined || !fits(text, this.#options.maxBytes)) return false
      this.#attributes[attribute] = text
      return true
    } catch {
      return false
    }
  }

  #json(attribute: string, value: unknown, marker?: (cut: string) => unknown): void {
    const { redact, maxBytes } = this.#options
    const shown = redact === undefined ? value : this.#redacted(attribute, withoutBytes(value))
    const { text, cutBytes } = fitValue(shown, maxBytes, marker)
    this.#note(attribute, cutBytes)
    this.#attributes[attribute] = text
  }

  #redacted(attribute: string, value: unknown): unknown {
    return redacted(this.#options.redact, value, { ...this.#place, attribute })
  }

  #note(attribute: string, cutBytes: number): void {
    if (cutBytes === 0) return
    this.#cutBytes += cutBytes
    this.#cut.push(attribute)
    this.#attributes[HOOKSPAN.contentCut] = [...this.#cut]
    this.#attributes[HOOKSPAN.contentCutBytes] = this.#cutBytes
  }
}

/** What writes content onto a span; undefined where content is not captured. */
export function contentWriter(
  options: ContentOptions,
  attributes: Attributes,
  { operationId }: OperationInfo,
  toolName?: string,
): ContentWriter | undefined {
  if (!options.capture) return undefined
  return new ContentWriter(options, attributes, placeOf(operationId, toolName))
}

/** The message of a failure, without what must not leave the process. */
export function redactedMessage(
  redact: Redact,
  message: string,
  { operationId }: OperationInfo,
  toolName?: string,
): string {
  return String(redacted(redact, message, { ...placeOf(operationId, toolName), attribute: 'error.message' }))
}

/** In the words of a gate or a human, who may quote what they decided on. Captured or not, as the message of a failure. */
const WORDS = [
  HOOKSPAN.toolReason,
  HOOKSPAN.gateReason,
  HOOKSPAN.gateChangedKeys,
  HOOKSPAN.humanReason,
] as const

/** Takes out of the words of gates and humans what must not leave the process. */
export function redactWords(
  attributes: Attributes,
  { redact }: ContentOptions,
  { operationId }: OperationInfo,
  toolName?: string,
): void {
  if (redact === undefined) return
  for (const attribute of WORDS) {
    const words = attributes[attribute]
    if (words === undefined) continue
    const clean = (text: unknown) =>
      String(redacted(redact, text, { ...placeOf(operationId, toolName), attribute }))
    attributes[attribute] = Array.isArray(words) ? words.map(clean) : clean(words)
  }
}

function placeOf(operationId: string, toolName: string | undefined): Omit<ContentPlace, 'attribute'> {
  return toolName === undefined ? { operationId } : { operationId, toolName }
}

/** A redaction that fails must not let the content through. */
function redacted(redact: Redact | undefined, value: unknown, place: ContentPlace): unknown {
  if (redact === undefined) return value
  try {
    const shown = redact(value, place)
    // Nobody waits for an asynchronous one.
    if (!isThenable(shown)) return shown
    ignoreRejection(shown)
  } catch {}
  return '[redaction failed]'
}

/** Never throws: what was a proxy once does not even say whether it is a list. */
function asObject(value: unknown, key: string): unknown {
  try {
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value) && !isBytes(value)
    return isObject ? value : { [key]: value }
  } catch (error) {
    return { [key]: `[not readable: ${errorMessage(error)}]` }
  }
}

/** What cannot be read is made plain first, so that cutting sees ordinary JSON. */
function fitValue(value: unknown, maxBytes: number, marker?: (cut: string) => unknown) {
  try {
    return fitJson(value, maxBytes, marker)
  } catch {
    return fitJson(JSON.parse(safeStringify(value) || 'null'), maxBytes, marker)
  }
}
