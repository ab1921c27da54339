/** How much of one request, and of one span or log record, is taken. What is more is refused, and said to be. */

/** Spans or log records of one request, with their scopes and resources. Exporters send some hundred, collectors some thousand. */
export const MAX_ITEMS = 100_000
/** Of one span, as it was sent. */
export const MAX_ITEM_BYTES = 24 * 1024 * 1024
/** Fields of one span's messages, all told. */
export const MAX_FIELDS = 250_000

/** Nothing of the request is taken: whoever is told so may send it in parts. */
export class TooMany extends Error {
  override readonly name = 'TooMany'

  constructor() {
    super(`More than ${MAX_ITEMS} spans or log records in one request; send smaller batches.`)
  }
}

export function assertSize(size: number): void {
  if (size > MAX_ITEM_BYTES)
    throw new RangeError(`Too large: ${size} bytes in one, at most ${MAX_ITEM_BYTES} are taken.`)
}
