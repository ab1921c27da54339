import { HookDispatcher } from 'hookspan'
import { startTracing, type Tracing, withFlush } from 'hookspan/tracing'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { startCollector } from '../support/collector.ts'

/** Nothing is sent unless somebody flushes. */
const NEVER = { delayMs: 600_000 }

describe('withFlush', () => {
  let collector: Awaited<ReturnType<typeof startCollector>>
  let tracing: Tracing
  let dispatcher: HookDispatcher
  const troubles: string[] = []

  beforeEach(async () => {
    collector = await startCollector()
    const queue = { ...NEVER, onTrouble: (message: string) => void troubles.push(message) }
    tracing = startTracing({ endpoint: collector.url, flushOnExit: false, queue })
    dispatcher = new HookDispatcher()
    dispatcher.use(tracing)
  })
  afterEach(async () => {
    await tracing.shutdown({ timeoutMs: 100 })
    await collector.stop()
  })

  const run = (agentName: string) => dispatcher.startOperation({ agentName }).complete()

  class Lazy {
    then(resolve: (value: string) => void) {
      resolve('answer')
    }
  }

  it.each([
    ['resolves', () => run('a').then(() => 'answer')],
    [
      'returns',
      () => {
        void run('a')
        return 'answer'
      },
    ],
    [
      'gives a thenable',
      () => {
        void run('a')
        return new Lazy()
      },
    ],
  ])('has sent the spans before the answer is given, of a handler that %s', async (_how, handler) => {
    expect(await withFlush<[], unknown>(handler, { tracing })()).toBe('answer')
    expect(collector.names()).toEqual(['invoke_agent a'])
  })

  it.each([
    ['rejects', () => run('a').then(() => Promise.reject(new TypeError('no')))],
    [
      'throws',
      () => {
        void run('a')
        throw new TypeError('no')
      },
    ],
  ])('has sent them before the failure is told, of a handler that %s', async (_how, handler) => {
    const wrapped = withFlush(handler as () => Promise<string>, { tracing })
    await expect(wrapped()).rejects.toThrow(new TypeError('no'))
    expect(collector.names()).toEqual(['invoke_agent a'])
  })

  describe('around an async generator', () => {
    let closed = false
    const wrapped = (failing = false) => withFlush((given: boolean) => generator(given), { tracing })(failing)
    async function* generator(failing: boolean) {
      closed = false
      try {
        yield 'one'
        await run('a')
        if (failing) throw new Error('in the middle')
        yield 'two'
        return 'end'
      } finally {
        closed = true
      }
    }

    it('has sent them when it is finished', async () => {
      const stream = wrapped()
      expect([await stream.next(), await stream.next()]).toMatchObject([{ value: 'one' }, { value: 'two' }])
      expect(collector.names()).toEqual([])
      expect(await stream.next()).toEqual({ done: true, value: 'end' })
      expect(collector.names()).toEqual(['invoke_agent a'])
    })

    it('has sent them when it throws in the middle', async () => {
      const stream = wrapped(true)
      await stream.next()
      await expect(stream.next()).rejects.toThrow('in the middle')
      expect(collector.names()).toEqual(['invoke_agent a'])
    })

    it('has closed it and sent them when it is abandoned', async () => {
      for await (const piece of wrapped()) if (piece === 'two') break
      expect(closed).toBe(true)
      expect(collector.names()).toEqual(['invoke_agent a'])
    })
  })

  it('passes on `this` and the arguments', async () => {
    const object = { name: 'f', handler: withFlush(named, { tracing }) }
    expect(await object.handler(1, 2)).toEqual(['f', 3])
    function named(this: { name: string }, a: number, b: number) {
      return [this.name, a + b]
    }
  })

  describe('where the platform hands a callback to the handler', () => {
    type Done = (error: unknown, answer?: string) => void

    it('has sent the spans before it is called, and gives nothing that could be taken for the answer', async () => {
      const handler = (_event: object, done: Done) => void run('a').then(() => done(null, 'answer'))
      const { promise, resolve } = Promise.withResolvers<string | undefined>()
      // Lambda on Node 22 takes a promise for the answer, and this one would be `undefined`.
      const given = withFlush(handler, { tracing })({}, (_error, answer) => resolve(answer))
      expect(given).toBeUndefined()
      expect(await promise).toBe('answer')
      expect(collector.names()).toEqual(['invoke_agent a'])
    })

    it('gives the promise of a handler that does not call it', async () => {
      const handler = (_done: Done) => run('a').then(() => 'answer')
      expect(await withFlush(handler, { tracing })(() => {})).toBe('answer')
      expect(collector.names()).toEqual(['invoke_agent a'])
    })
  })

  it('shows a platform what it reads of the handler: how it is called, and whether it streams', () => {
    const streams = Symbol.for('aws.lambda.runtime.handler.streaming')
    const handler = Object.assign((_event: object, _stream: object, _context: object) => {}, {
      [streams]: 'response',
    })
    const wrapped = withFlush(handler, { tracing })
    expect([wrapped.length, Reflect.get(wrapped, streams)]).toEqual([3, 'response'])
  })

  it('gives the answer in the end also where nobody takes the spans, and keeps them', async () => {
    collector.answerWith('hang')
    const wrapped = withFlush(() => run('a').then(() => 'answer'), { tracing, timeoutMs: 20 })
    expect(await wrapped()).toBe('answer')
    expect(tracing.stats()).toMatchObject({ queued: 1, exported: 0, dropped: 0 })
  })

  it('tries again in the same invocation where what was on its way turns out to be lost', async () => {
    let refusals = 1
    collector.answerWith(() => (refusals-- > 0 ? 503 : 200))
    await withFlush(() => run('a'), { tracing })()
    expect(collector.names()).toEqual(['invoke_agent a'])
  })

  it('sends what an earlier invocation could not', async () => {
    collector.answerWith(503)
    await withFlush(() => run('a'), { tracing })()
    expect(tracing.stats().queued).toBe(1)
    collector.answerWith(200)
    await withFlush(() => run('b'), { tracing })()
    expect(collector.names()).toEqual(['invoke_agent a', 'invoke_agent b'])
  })

  it('serves invocations that run at once', async () => {
    const wrapped = withFlush((name: string) => run(name).then(() => name), { tracing })
    const names = Array.from({ length: 20 }, (_, index) => `a${index}`)
    expect(await Promise.all(names.map(wrapped))).toEqual(names)
    expect(collector.names().sort()).toEqual(names.map((name) => `invoke_agent ${name}`).sort())
  })

  it('refuses what is no handler, no tracing and no time', () => {
    const wrap = withFlush as (...given: unknown[]) => unknown
    expect(() => wrap('answer', { tracing })).toThrow('Expected the handler of withFlush() to be a function')
    expect(() => wrap(() => 1, {})).toThrow(/`tracing`/)
    expect(() => wrap(() => 1)).toThrow(/withFlush/)
    expect(() => wrap(() => 1, { tracing, timeoutMs: 'soon' })).toThrow(/`timeoutMs`/)
    expect(() => wrap(() => 1, { tracing, timoutMs: 5 })).toThrow(/Did you mean `timeoutMs`/)
  })
})
