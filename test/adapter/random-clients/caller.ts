import { setImmediate as turn } from 'node:timers/promises'
import type { CallPlan } from './plan.ts'
import type { Provider } from './provider.ts'

/** Its streams have no controller. */
const isGoogle = ({ api }: CallPlan) => api === 'google' || api === 'interactions'

/** One call of the random caller: what it sees, line by line. What is the model's begins with `shown`. */
export class Caller {
  readonly lines: string[] = []
  readonly plan: CallPlan
  readonly provider: Provider
  readonly #controller = new AbortController()
  /** Outside of a run nothing but the collector ends a stream that nobody reads. */
  readonly inRun: boolean

  constructor(plan: CallPlan, provider: Provider, inRun: boolean) {
    this.plan = plan
    this.provider = provider
    this.inRun = inRun
    const { abort, abortPull, fault } = plan
    if (abort === 'before') this.abort()
    if (abort === 'request') provider.onRequest = () => this.abort()
    if (abort === 'pull')
      provider.onPull = (count) => {
        if (count === (fault === 'stalls' ? Number.POSITIVE_INFINITY : abortPull)) this.abort()
      }
  }

  get signal(): AbortSignal | undefined {
    return this.plan.abort === 'never' && !(isGoogle(this.plan) && this.plan.reader === 'aborts')
      ? undefined
      : this.#controller.signal
  }

  abort(): void {
    this.#controller.abort(this.plan.reason ? new Error('enough') : undefined)
  }

  /** Right after the call was made. */
  called(): void {
    if (this.plan.abort === 'called') this.abort()
    if (this.plan.abort === 'later') setImmediate(() => this.abort())
  }

  say(line: string): void {
    this.lines.push(line)
  }

  show(value: unknown): void {
    this.say(`shown ${JSON.stringify(value)}`)
  }

  /** What a promise gives, or throws. */
  async settled(
    what: string,
    promise: PromiseLike<unknown>,
    show = (value: unknown) => this.show(value),
  ): Promise<void> {
    try {
      show(await promise)
    } catch (error) {
      this.say(`${what} throws ${describe(error)}`)
    }
  }
}

export function describe(error: unknown, depth = 0): string {
  if (!(error instanceof Error)) return `no error: ${JSON.stringify(error)}`
  const { code, status, type, param, requestID } = error as Error & Record<string, unknown>
  const body = (error as { error?: unknown }).error
  const told = {
    code,
    status,
    type,
    param,
    requestID,
    ...(body !== undefined && { body: body instanceof Error ? describe(body) : body }),
  }
  const cause = error.cause === undefined || depth > 3 ? '' : ` because ${describe(error.cause, depth + 1)}`
  return `${error.constructor.name} ${error.name}: ${error.message} ${JSON.stringify(told)}${cause}`
}

export interface Streamed extends AsyncIterable<unknown> {
  readonly controller?: AbortController
  tee?(): [Streamed, Streamed]
  toReadableStream?(): ReadableStream<Uint8Array>
}

async function each(
  caller: Caller,
  chunks: AsyncIterable<unknown>,
  at?: (count: number) => boolean | undefined,
): Promise<void> {
  let count = 0
  try {
    for await (const chunk of chunks) {
      caller.show(chunk)
      if (at?.(++count)) {
        caller.say('left')
        return
      }
    }
    caller.say('end')
  } catch (error) {
    caller.say(`reading throws ${describe(error)}`)
  }
}

/** Does with a stream what the plan says. */
export async function read(caller: Caller, stream: Streamed): Promise<void> {
  const { reader, count } = caller.plan
  const stop = () => (stream.controller ? stream.controller.abort() : caller.abort())
  switch (reader) {
    case 'breaks':
      return each(caller, stream, (now) => now === count)
    case 'aborts':
      return each(caller, stream, (now) => {
        if (now === count) stop()
        return false
      })
    case 'twice':
      await each(caller, stream)
      return each(caller, stream)
    case 'next':
      return byHand(caller, stream)
    case 'never':
      if (!caller.inRun) {
        await turn()
        if (stream.controller) stream.controller.abort()
        else if (stream instanceof ReadableStream) await stream.cancel()
        else await (stream as AsyncGenerator).return(undefined)
      }
      return
    case 'tees':
      if (stream.tee === undefined) break
      return both(caller, ...stream.tee())
    case 'readable':
    case 'cancels':
      if (stream instanceof ReadableStream) return readable(caller, stream)
      if (stream.toReadableStream === undefined) break
      return readable(caller, stream.toReadableStream())
  }
  return each(caller, stream)
}

async function byHand(caller: Caller, stream: Streamed): Promise<void> {
  try {
    const iterator = stream[Symbol.asyncIterator]()
    for (let left = caller.plan.count; left > 0; left--) {
      const { done, value } = await iterator.next()
      if (done) caller.say(`done ${JSON.stringify(value)}`)
      else caller.show(value)
    }
    caller.say(`returned ${JSON.stringify(await iterator.return?.())}`)
    caller.say(`then ${JSON.stringify(await iterator.next())}`)
  } catch (error) {
    caller.say(`reading throws ${describe(error)}`)
  }
}

async function both(caller: Caller, left: Streamed, right: Streamed): Promise<void> {
  const one = left[Symbol.asyncIterator]()
  const other = right[Symbol.asyncIterator]()
  const step = async (name: string, iterator: AsyncIterator<unknown>) => {
    try {
      const { done, value } = await iterator.next()
      if (done) caller.say(`${name} ends`)
      else caller.say(`shown ${name} ${JSON.stringify(value)}`)
      return done !== true
    } catch (error) {
      caller.say(`${name} throws ${describe(error)}`)
      return false
    }
  }
  let open = true
  for (let ahead = caller.plan.count; ahead > 0 && open; ahead--) open = await step('left', one)
  while (await step('right', other)) {}
  while (open) open = await step('left', one)
}

async function readable(caller: Caller, bytes: ReadableStream<unknown>): Promise<void> {
  const decoder = new TextDecoder()
  const reader = bytes.getReader()
  let left = caller.plan.reader === 'cancels' ? caller.plan.count : Number.POSITIVE_INFINITY
  try {
    while (left-- > 0) {
      const { done, value } = await reader.read()
      if (done) return caller.say('end')
      caller.say(`shown ${value instanceof Uint8Array ? decoder.decode(value) : JSON.stringify(value)}`)
    }
    await reader.cancel()
    caller.say('cancelled')
  } catch (error) {
    caller.say(`reading throws ${describe(error)}`)
  }
}

interface Emitter {
  on(name: never, listener: (...told: unknown[]) => void): unknown
  abort(): void
  done(): Promise<void>
}

/** Listens to all that one of the clients' helpers tells. */
export async function listen(
  caller: Caller,
  helper: Emitter,
  names: readonly string[],
  finals: readonly string[] = [],
): Promise<void> {
  const { reader, count } = caller.plan
  let told = 0
  for (const name of names) {
    helper.on(name as never, (...given) => {
      const words = given.map((one) => (one instanceof Error ? describe(one) : JSON.stringify(one))).join(' ')
      caller.say(
        `${/^(connect|error|abort|end)$/.test(name) ? '' : 'shown '}${name} ${name === 'connect' ? '' : words}`,
      )
      if (reader === 'aborts' && ++told === count) helper.abort()
    })
  }
  caller.called()
  await caller.settled('done', helper.done(), () => caller.say('done'))
  for (const name of finals) {
    const final = (helper as unknown as Record<string, () => Promise<unknown>>)[name]
    await caller.settled(
      name,
      Promise.resolve().then(() => final?.call(helper)),
    )
  }
}

/** A helper as what is iterated. */
export async function iterate(caller: Caller, helper: Emitter & AsyncIterable<unknown>): Promise<void> {
  caller.called()
  await each(caller, helper, (now) => caller.plan.reader === 'breaks' && now === caller.plan.count)
  await caller.settled('done', helper.done(), () => caller.say('done'))
}
