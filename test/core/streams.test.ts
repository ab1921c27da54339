import type { HookEvent } from 'hookspan'
import { describe, expect, it } from 'vitest'
import { readAll, startWatched } from './support.ts'

const boom = new Error('boom')

describe('a streamed model call', () => {
  const texts = ['a', 'b', 'c']
  async function* chunks(end?: Error) {
    for (const content of texts) {
      const finish_reason = content === texts.at(-1) && end === undefined ? 'stop' : null
      yield { choices: [{ index: 0, delta: { content }, finish_reason }] }
    }
    if (end !== undefined) throw end
  }
  const call = { model: 'm', request: {} }
  const ended = (events: HookEvent[]) =>
    events.find(({ hookType }) => /LlmCall(Error)?$/.test(hookType) && hookType !== 'beforeLlmCall')

  it('is the same object, and ends when it is read', async () => {
    const { op, events, types } = startWatched()
    const stream = chunks()

    const given = await op.llmCall(call, () => stream)
    expect(given).toBe(stream)
    expect(types()).toEqual(['onStart', 'beforeLlmCall'])
    const seen = []
    for await (const chunk of given) seen.push(chunk.choices[0]?.delta.content)

    expect(seen).toEqual(texts)
    expect(ended(events)).toMatchObject({
      hookType: 'afterLlmCall',
      streamEnd: 'finished',
      response: { content: 'abc' },
      timeToFirstChunkMs: expect.any(Number),
    })
  })

  it('that throws mid-way throws at its reader, and ends as failed', async () => {
    const { op, events } = startWatched()
    const stream = await op.llmCall(call, () => chunks(boom))

    await expect(readAll(stream)).rejects.toBe(boom)

    expect(ended(events)).toMatchObject({ hookType: 'onLlmCallError', error: boom })
  })

  it.each([
    ['chat completions', { choices: [{ index: 0, delta: { content: 'half' } }] }],
    ['responses', { type: 'response.output_text.delta', output_index: 0, delta: 'half' }],
    [
      'messages',
      { type: 'message_start', message: { id: 'msg_1' } },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: 'half' } },
    ],
    ['generate-content', { candidates: [{ content: { parts: [{ text: 'half' }] } }] }],
    ['a language model', { type: 'stream-start' }, { type: 'text-delta', id: '0', delta: 'half' }],
  ])('of %s that stops before the model said it was done is cut, not finished', async (_name, ...sent) => {
    const { op, events } = startWatched()
    const stream = await op.llmCall(call, async function* () {
      yield* sent
    })

    await readAll(stream)

    expect(ended(events)).toMatchObject({
      hookType: 'afterLlmCall',
      streamEnd: 'cut',
      response: { content: 'half', finishReasons: ['error'] },
    })
  })

  it('that its reader abandons ends as abandoned, with what was read', async () => {
    const { op, events } = startWatched()

    for await (const _chunk of await op.llmCall(call, () => chunks())) break

    expect(ended(events)).toMatchObject({ streamEnd: 'abandoned', response: { content: 'a' } })
  })

  it('that nobody reads ends with its operation', async () => {
    const { op, events } = startWatched()
    await op.llmCall(call, () => chunks())

    await op.complete()

    expect(ended(events)).toMatchObject({ hookType: 'afterLlmCall', streamEnd: 'abandoned' })
    expect(events.at(-1)?.hookType).toBe('onComplete')
  })

  it.each(['next', 'return', 'throw'] as const)(
    'that is a generator is seen through its own %s(), too',
    async (how) => {
      const { op, events } = startWatched()
      const stream = await op.llmCall(call, () => chunks())
      await stream.next()

      if (how === 'next') while (!(await stream.next()).done);
      else if (how === 'return') await stream.return()
      else await expect(stream.throw(boom)).rejects.toBe(boom)

      expect(ended(events)).toMatchObject({ streamEnd: how === 'next' ? 'finished' : 'abandoned' })
    },
  )

  it('that is frozen is read as if nobody watched', async () => {
    const { op, types } = startWatched()
    const frozen = Object.freeze({ [Symbol.asyncIterator]: () => chunks() })

    const stream = await op.llmCall(call, () => frozen)

    expect(await readAll(stream)).toHaveLength(3)
    expect(types()).toEqual(['onStart', 'beforeLlmCall', 'afterLlmCall'])
  })

  it('of chunks that cannot be read gives them to its reader all the same', async () => {
    const { op, events } = startWatched()
    const hostile = {
      get choices() {
        throw boom
      },
    }

    const stream = await op.llmCall(call, async function* () {
      yield hostile
    })

    expect(await readAll(stream)).toEqual([hostile])
    expect(ended(events)).toMatchObject({ streamEnd: 'finished', response: {} })
  })

  it('counts each of several that are read at once', async () => {
    const { op, events } = startWatched()
    const streams = await Promise.all([1, 2, 3].map(() => op.llmCall(call, () => chunks())))

    await Promise.all(streams.map(readAll))

    expect(events.filter(({ hookType }) => hookType === 'afterLlmCall')).toHaveLength(3)
    expect(op.totals.llmCalls).toBe(3)
  })
})
