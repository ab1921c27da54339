import { HookspanError } from '../../internal/errors.ts'
import { asCount, asObject } from '../../wire/reading.ts'
import type { BackgroundReply, Here } from '../background-replies.ts'
import type { WatchedCall } from './api-promise.ts'

/** A request that asks whether a reply of the background is made: no model call, though it may end one. */
export class ObservedLook implements WatchedCall {
  readonly #reply: BackgroundReply
  readonly #here: Here
  readonly #asked: unknown
  #parsing = false

  /** @param asked what the client asks with, or a promise of it. */
  constructor(reply: BackgroundReply, here: Here, asked: unknown) {
    this.#reply = reply
    this.#here = here
    this.#asked = asked
  }

  parsing(): void {
    this.#parsing = true
  }

  /** @throws HookspanError `CALL_DENIED` for the end of a stream that a gate is to decide on. */
  async settle(value: unknown): Promise<unknown> {
    const query = asObject(asObject(await this.#asked)?.query)
    if (asCount(query?.starting_after) === undefined) return this.#reply.seen(value, this.#here)
    if (this.#reply.gated) throw undecided('from where it was left', 'Ask for all of it.')
    return value
  }

  /** Whoever looks may look again. */
  fail(): void {}

  /** @throws HookspanError `CALL_DENIED` for a stream that a gate is to decide on. */
  async raw(response: Response): Promise<Response> {
    if (this.#parsing) return response
    if (!/json/.test(response.headers.get('content-type') ?? '')) {
      if (this.#reply.gated) throw undecided('with asResponse()', 'Await the call instead.')
      return response
    }
    const seen = response
      .clone()
      .json()
      .then(async (body: unknown) => {
        const given = await this.#reply.seen(body, this.#here)
        return given === body ? response : Response.json(given)
      })
    if (this.#reply.gated) return seen
    // What is read beside the caller concerns nobody.
    seen.catch(() => {})
    return response
  }
}

function undecided(how: string, mend: string): HookspanError {
  return new HookspanError(
    'CALL_DENIED',
    `A gate decides on the reply, and a stream that is taken ${how} cannot be held back. ${mend}`,
  )
}
