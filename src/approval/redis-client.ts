import { timeoutSignal, within } from '../internal/async.ts'
import { errorMessage, errorSentence, HookspanError } from '../internal/errors.ts'
import { a, type Fields, secret, shape } from '../internal/expect.ts'
import { requirePeer } from '../internal/require-peer.ts'

/** What is used of a client of the `redis` package. */
export interface RedisClient {
  readonly isOpen: boolean
  connect(): Promise<unknown>
  duplicate(): RedisClient
  on(event: 'error', listener: (error: unknown) => void): unknown
  /** Commands of what it gives are taken back where they were not sent by then. */
  withAbortSignal?(signal: AbortSignal): RedisClient
  eval(script: string, options: { keys: string[]; arguments: string[] }): Promise<unknown>
  publish(channel: string, message: string): Promise<unknown>
  subscribe(channel: string, listener: (message: string) => void): Promise<unknown>
  unsubscribe(channel: string): Promise<unknown>
  destroy(): void
}

export interface RedisPlace {
  /** `redis://...`, where no client is given. */
  url?: string
  /** A client of the `redis` package; it stays yours to close. */
  client?: RedisClient
}

/** Checked here: what the client throws for another one has it whole, with its password. Nothing at all is the local one. */
const REDIS_URL = shape('a URL of redis://, rediss:// or unix://', (value) => {
  if (typeof value !== 'string') return false
  return value === '' || value.startsWith('unix:') || (URL.canParse(value) && isRedis(new URL(value)))
})

const isRedis = ({ protocol }: URL) => protocol === 'redis:' || protocol === 'rediss:'

export const REDIS_PLACE: Fields<RedisPlace> = {
  url: secret(REDIS_URL),
  // Those of `ioredis` have other names, and take other arguments.
  client: a.with('connect', 'duplicate', 'eval', 'destroy'),
}

/** Milliseconds that a connection may take: a client tries again for ever, whatever is wrong, and tells only who listens. */
const CONNECT_MS = 10_000

/** Milliseconds in which Redis answers, or is taken to be away: an answer has a giver who waits, and others who write to the audit log. */
export const SOON_MS = 5_000

/** One connection for commands, and one for each subscription, made when they are needed. */
export class RedisPool {
  readonly #place: RedisPlace
  readonly #subscribers = new Set<RedisClient>()
  #own: RedisClient | undefined
  #connecting: Promise<RedisClient> | undefined
  #disposed = false
  /** When its connection was begun. */
  #since = 0
  #failure: unknown

  constructor(place: RedisPlace) {
    this.#place = place
  }

  /** @throws HookspanError `INVALID_STATE` once it is disposed: another connection would be nobody's to close. */
  async client(): Promise<RedisClient> {
    if (this.#disposed) throw disposed()
    if (this.#connecting === undefined) {
      this.#since = performance.now()
      this.#connecting = this.#connect()
    }
    return this.#inTime(this.#connecting, CONNECT_MS - (performance.now() - this.#since))
  }

  /** Why nothing comes of what is asked, as far as that is known. */
  get #trouble(): string {
    return this.#failure === undefined ? '' : `: ${errorMessage(this.#failure)}`
  }

  /** It goes on beside it: the next one who asks may have it. */
  async #inTime<T>(connecting: Promise<T>, leftMs = CONNECT_MS): Promise<T> {
    const connected = await within(
      Math.max(0, leftMs),
      connecting.then((value) => ({ value })),
    )
    if (connected !== undefined) return connected.value
    throw new Error(`Redis cannot be reached${this.#trouble}`)
  }

  readonly #heard = (error: unknown): void => {
    this.#failure = error
  }

  /**
   * A script, which Redis runs alone: that is what makes a step atomic over processes and machines. It is taken back where it was not
   * sent within so many milliseconds: version 5 of the client keeps it for as long as Redis is away, 6 for 5 s. What was sent to one
   * that stands still, or is cut off without a word, may be run once it is back.
   */
  async eval(script: string, keys: string[], args: string[], withinMs = SOON_MS): Promise<unknown> {
    const client = await this.client()
    const signal = timeoutSignal(withinMs)
    const sender = client.withAbortSignal?.(signal) ?? client
    try {
      return await this.answered(sender.eval(script, { keys, arguments: args }), withinMs)
    } catch (error) {
      const missing = missingInCluster(errorMessage(error))
      if (missing === undefined) throw error
      const why = `${errorSentence(error)} Redis runs as a cluster: give ${missing}.`
      throw new Error(why, { cause: error })
    }
  }

  /** @throws Error where it takes longer. */
  async answered(asking: Promise<unknown>, withinMs: number): Promise<unknown> {
    // What came while this process stood still is read before it counts as late.
    const answer = (await within(withinMs, asking)) ?? (await within(0, asking))
    if (answer !== undefined) return answer
    // Nobody waits for it any more.
    asking.catch(() => {})
    throw new Error(`Redis did not answer within ${Math.ceil(withinMs)} ms${this.#trouble}`)
  }

  async #connect(): Promise<RedisClient> {
    const { client: given, url } = this.#place
    const client = given ?? this.#create(url)
    if (given === undefined) this.#own = client
    try {
      if (!client.isOpen) await client.connect()
      return client
    } catch (error) {
      this.#connecting = undefined
      throw error
    }
  }

  #create(url: string | undefined): RedisClient {
    const redis = requirePeer<typeof import('redis')>('redis', 'The Redis approval store')
    const client = redis.createClient(url === undefined ? {} : { url })
    // Commands report their own failure; without a listener a lost connection would end the process.
    client.on('error', this.#heard).on('ready', () => this.#heard(undefined))
    return client as unknown as RedisClient
  }

  async publish(channel: string, message: string): Promise<void> {
    await (await this.client()).publish(channel, message)
  }

  async subscribe(channel: string, listener: (message: string) => void): Promise<() => void> {
    const subscriber = (await this.client()).duplicate()
    subscriber.on('error', this.#heard)
    const stop = () => {
      if (this.#subscribers.delete(subscriber) && subscriber.isOpen) subscriber.destroy()
    }
    this.#subscribers.add(subscriber)
    try {
      await this.#inTime(subscriber.connect())
      await subscriber.subscribe(channel, listener)
      return stop
    } catch (error) {
      stop()
      throw error
    }
  }

  async dispose(): Promise<void> {
    this.#disposed = true
    for (const subscriber of this.#subscribers) if (subscriber.isOpen) subscriber.destroy()
    this.#subscribers.clear()
    this.#own?.destroy()
    this.#own = undefined
    this.#connecting = undefined
  }
}

function disposed(): HookspanError {
  return new HookspanError(
    'INVALID_STATE',
    'The connection to Redis was closed: the approvals that had it are.',
  )
}

function missingInCluster(refusal: string): string | undefined {
  if (refusal.startsWith('CROSSSLOT')) return 'a `prefix` with a hash tag, such as "{hookspan}:"'
  // The keys are on another node, to which the client of one does not go.
  return /^(MOVED|ASK) /.test(refusal) ? 'a `client` of `createCluster()`, and no `url`' : undefined
}
