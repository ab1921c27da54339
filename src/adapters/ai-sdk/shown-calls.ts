import { isRecord } from '../../internal/objects.ts'
import { asName } from '../../wire/reading.ts'

type Read = { readonly done: boolean; readonly value?: unknown }

/** Whether we keep the client from running a call, by the arguments that the SDK hands on. A reader may ask before it is told. */
class KeptBack {
  static readonly #known = new WeakMap<object, KeptBack>()
  readonly #kept = Promise.withResolvers<boolean>()
  readonly promise = this.#kept.promise
  isDecidedOn = false

  static of(input: object): KeptBack {
    const known = KeptBack.#known.get(input) ?? new KeptBack()
    KeptBack.#known.set(input, known)
    return known
  }

  tell(kept: boolean | Promise<boolean>): void {
    this.isDecidedOn = true
    Promise.resolve(kept).then(this.#kept.resolve, () => this.#kept.resolve(true))
  }
}

export function tellKeptBack(input: unknown, kept: boolean | Promise<boolean>): void {
  if (typeof input === 'object' && input !== null) KeptBack.of(input).tell(kept)
}

/**
 * What one reader of a stream is shown. The SDK shows a call before it asks whether it is approved, and a page runs it as soon as
 * it is shown: one that the client must not run is shown as one that the model still writes, and what was decided comes next.
 */
export class ShownCalls {
  readonly #read: () => Promise<Read>
  readonly #begun = new Set<string>()
  #next: Promise<Read> | undefined
  #left: unknown[] = []

  constructor(read: () => Promise<Read>) {
    this.#read = read
  }

  async read(): Promise<Read> {
    while (this.#left.length === 0) {
      const next = this.#next ?? this.#read()
      this.#next = undefined
      const { done, value } = await next
      if (done) return { done }
      this.#left = await this.#shown(value)
    }
    return { done: false, value: this.#left.shift() }
  }

  async #shown(value: unknown): Promise<unknown[]> {
    const part = isRecord(value) ? value.part : undefined
    if (!isRecord(part)) return [value]
    if (part.type === 'tool-input-start' && typeof part.id === 'string') this.#begun.add(part.id)
    if (part.type !== 'tool-call' || part.invalid === true || part.providerExecuted === true) return [value]
    if (!(await this.#isKeptBack(part.input))) return [value]
    const id = asName(part.toolCallId) ?? ''
    if (this.#begun.has(id)) return []
    const { toolCallId: _, input, ...said } = part
    const parts = [
      { ...said, type: 'tool-input-start', id },
      { type: 'tool-input-delta', id, delta: JSON.stringify(input) },
      { type: 'tool-input-end', id },
    ]
    return parts.map((one) => ({ part: one, partialOutput: undefined }))
  }

  /** Where nobody is to decide on it, the SDK just goes on. */
  async #isKeptBack(input: unknown): Promise<boolean> {
    if (typeof input !== 'object' || input === null) return false
    const kept = KeptBack.of(input)
    this.#next = this.#read()
    const more = this.#next.then(
      () => false,
      () => false,
    )
    return (await Promise.race([kept.promise, more])) || (kept.isDecidedOn && kept.promise)
  }
}
