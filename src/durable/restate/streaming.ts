import { HookspanError } from '../../internal/errors.ts'

/** The code of what the SDK ends an attempt with that is to go on in another one. */
const SUSPENDED = 599
/** Nobody has Restate ask for that so soon because nothing happens. */
const SOON_MS = 1_000
/** Nothing is lost before: a run that begins keeps itself, and its model's reply. */
const MOST_MISSED = 2

/**
 * Whether Restate says in an attempt that it has kept what came of that. Over request and response, as from AWS Lambda, it says so to the
 * next one: no tool would be run, as each is begun once it is kept that it is.
 */
export class Streaming {
  readonly #unkept = new WeakSet<object>()
  #isSeen = false
  #missed = 0

  /** @throws HookspanError `NOT_CAPABLE`. */
  assert(): void {
    if (this.#isSeen || this.#missed < MOST_MISSED) return
    throw new HookspanError(
      'NOT_CAPABLE',
      'This service is reached by request and response, as AWS Lambda and HTTP/1.1 are, and a run of an agent needs both ways open: ' +
        'serve it with `restate.serve`, or another handler whose `bidirectional` is true, over HTTP/2.',
    )
  }

  /** Something is on its way to be kept. `request`: that of the attempt. */
  given(request: object, tookMs: number): void {
    if (tookMs < SOON_MS) this.#unkept.add(request)
  }

  kept(request: object): void {
    this.#unkept.delete(request)
    this.#isSeen = true
  }

  /** For `hooks` of a handler. */
  readonly hook = ({ request }: { readonly request: object }) => ({
    interceptor: {
      handler: async (next: () => Promise<void>): Promise<void> => {
        try {
          await next()
        } catch (error) {
          if (Object(error).code === SUSPENDED && this.#unkept.has(request)) this.#missed++
          throw error
        }
      },
    },
  })
}
