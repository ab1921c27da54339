import type { HookEvent } from 'hookspan'
import { deny, type Gate } from 'hookspan/gates'
import { describe, expect, it, vi } from 'vitest'
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

  it('that throws mid-way costs what the model that began to answer does, by whatever name it was asked for', async () => {
    const priceOf = ({ model }: { model: string }) => (model === 'claude-x' ? 0.5 : undefined)
    const { op } = startWatched({ priceOf })
    const stream = await op.llmCall(
      { ...call, model: 'arn:aws:bedrock:eu:1:profile/mine' },
      async function* () {
        const usage = { input_tokens: 10, output_tokens: 1 }
        yield { type: 'message_start', message: { model: 'claude-x', content: [], usage } }
        throw boom
      },
    )
    await expect(readAll(stream)).rejects.toBe(boom)
    expect(op.totals).toMatchObject({ costUsd: 0.5 })
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

describe('a streamed model call under a gate', () => {
  async function* chunks(end?: Error) {
    for (const content of ['a', 'b']) yield { choices: [{ index: 0, delta: { content } }] }
    if (end !== undefined) throw end
    yield { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }
  }
  type Chunk = ReturnType<typeof chunks> extends AsyncGenerator<infer C> ? C : never
  const standInChunks = (): Chunk[] => [{ choices: [{ index: 0, delta: { content: 'instead' } }] }]
  const watched = (decide: Gate['decide'] = () => {}) =>
    startWatched({ gates: [{ id: 'g', point: 'afterLlmCall', decide }] })
  const call = { model: 'm', request: {} }
  const ended = (events: HookEvent[]) =>
    events.filter(({ hookType }) => ['afterLlmCall', 'onLlmCallError'].includes(hookType))

  it('keeps what had come when it fails, whoever is told of the failure', async () => {
    for (const init of [call, { ...call, standInChunks }]) {
      const { op, events } = watched()

      await expect(op.llmCall(init, () => chunks(boom)).then(readAll)).rejects.toBe(boom)

      expect(ended(events)).toMatchObject([
        { hookType: 'onLlmCallError', response: { content: 'ab' }, timeToFirstChunkMs: expect.any(Number) },
      ])
    }
  })

  it('is at its caller at once where chunks can stand in for it, and asks the gate when it is read', async () => {
    const decide = vi.fn<Gate['decide']>()
    const { op, events } = watched(decide)
    const stream = chunks()

    expect(await op.llmCall({ ...call, standInChunks }, () => stream)).toBe(stream)
    expect(decide).not.toHaveBeenCalled()
    expect(await readAll(stream)).toHaveLength(3)

    expect(decide).toHaveBeenCalledTimes(1)
    expect(ended(events)).toMatchObject([{ streamEnd: 'finished', response: { content: 'ab' } }])
  })

  it('is told as what a gate put in its place', async () => {
    const { op, events } = watched(() => deny('no'))

    const stream = await op.llmCall({ ...call, standInChunks }, () => chunks())

    expect(await readAll(stream)).toEqual(standInChunks())
    expect(ended(events)).toMatchObject([{ streamEnd: 'finished', response: { content: 'no' } }])
  })

  it.each(['next', 'return', 'throw'] as const)('is held back through its own %s(), too', async (how) => {
    const { op, events } = watched(() => deny('no'))
    const stream = await op.llmCall({ ...call, standInChunks }, () => chunks())

    if (how === 'next') expect(await stream.next()).toEqual({ done: false, value: standInChunks()[0] })
    else if (how === 'return') expect(await stream.return()).toMatchObject({ done: true })
    else await expect(stream.throw(boom)).rejects.toBe(boom)

    if (how !== 'next') expect(ended(events)).toMatchObject([{ streamEnd: 'abandoned' }])
  })

  it('gives nothing that nobody decided on to who reads it after the end of the run', async () => {
    const { op, events } = watched()
    const stream = await op.llmCall({ ...call, standInChunks }, () => chunks())
    await op.complete()

    await expect(readAll(stream)).rejects.toMatchObject({ code: 'OPERATION_ENDED' })

    expect(ended(events)).toMatchObject([{ streamEnd: 'abandoned' }])
  })

  it('that is frozen fails, because it cannot be held back', async () => {
    const { op } = watched()
    const frozen = Object.freeze({ [Symbol.asyncIterator]: () => chunks() })

    for (const init of [call, { ...call, standInChunks }]) {
      await expect(op.llmCall<typeof frozen>(init, () => frozen)).rejects.toThrow(TypeError)
    }
  })

  it('rejects its reader when its run is aborted', async () => {
    const controller = new AbortController()
    const { op, events } = startWatched({
      signal: controller.signal,
      gates: [{ id: 'g', point: 'afterLlmCall', decide: () => {} }],
    })
    const hanging = async function* () {
      yield* standInChunks()
      await new Promise(() => {})
    }
    const stream = await op.llmCall({ ...call, standInChunks }, hanging)
    const reading = readAll(stream)
    await new Promise(setImmediate)

    controller.abort(boom)

    await expect(reading).rejects.toBe(boom)
    expect(ended(events)).toMatchObject([{ hookType: 'onLlmCallError', response: { content: 'instead' } }])
  })
})
