/** Replies that a provider makes in the background, on the real `openai` client: their model call ends when they are made. */

import fc from 'fast-check'
import { deny, type Gate, skip } from 'hookspan/gates'
import { observeOpenAI } from 'hookspan/openai'
import OpenAI from 'openai'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { all, seen, settled } from '../support/seen-by-caller.ts'
import { traced } from '../support/span-tree.ts'

afterEach(() => void vi.useRealTimers())

const OUTPUT = [
  {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    status: 'completed',
    content: [{ type: 'output_text', text: 'Three bags.', annotations: [] }],
  },
]
const USAGE = { input_tokens: 900, output_tokens: 80, total_tokens: 980 }

/** The provider: what was asked for in the background is made once somebody has looked so often. */
function provider(looks = 1) {
  const run = crypto.randomUUID()
  const asked: string[] = []
  const left = new Map<string, number>()
  const replyOf = (id: string, status: string) => {
    const made = status === 'completed'
    return {
      id,
      object: 'response',
      created_at: 1,
      model: 'gpt-5',
      background: true,
      status,
      output: made ? OUTPUT : [],
      usage: made ? USAGE : null,
    }
  }
  let made = 0
  const fetch = async (url: unknown, init?: RequestInit): Promise<Response> => {
    const { pathname, searchParams } = new URL(String(url))
    if (searchParams.has('include[]')) return Response.json({ error: { message: 'busy' } }, { status: 500 })
    asked.push(`${init?.method ?? 'GET'} ${pathname}`)
    const [, , , id, cancel] = pathname.split('/')
    if (id === undefined) {
      const fresh = `resp_${run}_${made++}`
      left.set(fresh, looks)
      return Response.json(replyOf(fresh, 'queued'))
    }
    const now = left.get(id) ?? 0
    left.set(id, now - 1)
    if (cancel === 'cancel') return Response.json({ ...replyOf(id, 'cancelled') })
    if (searchParams.get('stream') !== 'true') {
      return Response.json(replyOf(id, now > 0 ? 'in_progress' : 'completed'))
    }
    const events = [
      { type: 'response.created', response: replyOf(id, 'in_progress') },
      { type: 'response.output_text.delta', output_index: 0, content_index: 0, delta: 'Three bags.' },
      { type: 'response.completed', response: replyOf(id, 'completed') },
    ]
    const text = events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('')
    return new Response(text, { headers: { 'content-type': 'text/event-stream' } })
  }
  return { client: new OpenAI({ apiKey: 'k', fetch: fetch as never, maxRetries: 0 }), asked }
}

const ask = { model: 'gpt-5', input: 'bags?', background: true } as const

function observed({ gates = [], looks }: { gates?: Gate[]; looks?: number } = {}) {
  const tracing = traced({ captureContent: true })
  const { dispatcher } = tracing
  if (gates.length > 0) dispatcher.use({ name: 'gates', gates })
  const { client, asked } = provider(looks)
  return { dispatcher, tracing, client: observeOpenAI(client, { dispatcher }), asked }
}

async function polled(client: OpenAI): Promise<OpenAI.Responses.Response> {
  let reply = await client.responses.create(ask)
  while (reply.status === 'queued' || reply.status === 'in_progress') {
    reply = await client.responses.retrieve(reply.id)
  }
  return reply
}

const deciding = (decide: Gate['decide']): Gate => ({ id: 'words', point: 'afterLlmCall', decide }) as Gate

describe('a reply that is made in the background', () => {
  it('is one model call of the run, with what it said and cost, and the same to its caller as bare', async () => {
    const bare = await polled(provider(3).client)
    const { client, dispatcher, tracing } = observed({ looks: 3 })
    const op = dispatcher.startOperation({ agentName: 'shop' })

    const reply = await op.step(() => polled(client))
    await op.complete()
    await settled(dispatcher)

    expect({ ...reply, id: '' }).toEqual({ ...bare, id: '' })
    expect(tracing.tree()).toBe('invoke_agent shop\n  step 0\n    chat gpt-5')
    expect(tracing.span('chat gpt-5').attributes).toMatchObject({
      'gen_ai.usage.input_tokens': 900,
      'gen_ai.usage.output_tokens': 80,
      'gen_ai.response.finish_reasons': ['stop'],
      'gen_ai.response.id': reply.id,
    })
    expect(tracing.span('chat gpt-5').attributes['gen_ai.output.messages']).toContain('Three bags.')
  })

  it('ends its own run outside of any', async () => {
    const { client, dispatcher, tracing } = observed()

    const { id } = await client.responses.create(ask)
    expect(dispatcher.stats().operations).toBe(1)
    // Whoever looks may have a client of its own.
    await client.withOptions({ timeout: 5_000 }).responses.retrieve(id)
    await client.responses.retrieve(id)
    await settled(dispatcher)

    expect(dispatcher.stats().operations).toBe(0)
    expect(tracing.tree()).toBe('invoke_agent\n  chat gpt-5')
  })

  it('is told where somebody looks, if the run that asked is over', async () => {
    const { client, dispatcher, tracing } = observed({ looks: 0 })
    const first = dispatcher.startOperation({ agentName: 'asks' })
    const { id } = await first.run(() => client.responses.create(ask))
    await first.complete()
    const second = dispatcher.startOperation({ agentName: 'looks' })
    await second.run(() => client.responses.retrieve(id))
    await second.complete()
    await settled(dispatcher)

    const calls = tracing.spans().filter(({ name }) => name === 'chat gpt-5')
    expect(calls.map(({ attributes }) => attributes['gen_ai.usage.input_tokens'])).toEqual([undefined, 900])
    // The run that only asked has not failed.
    expect(calls.map(({ status }) => status.code)).toEqual([0, 0])
  })

  it('that is called off ends its call as failed', async () => {
    const { client, dispatcher, tracing } = observed()
    const { id } = await client.responses.create(ask)
    await client.responses.cancel(id)
    await settled(dispatcher)

    expect(tracing.span('chat gpt-5').attributes['gen_ai.response.finish_reasons']).toEqual(['error'])
  })

  it('may be looked at as a stream', async () => {
    const { client, dispatcher, tracing } = observed()
    const { id } = await client.responses.create(ask)
    const stream = await client.responses.retrieve(id, { stream: true })
    expect(await all(stream)).toHaveLength(3)
    await settled(dispatcher)

    expect(tracing.span('chat gpt-5').attributes['gen_ai.usage.output_tokens']).toBe(80)
  })

  it('is read beside a caller who takes the response as it is', async () => {
    const { client, dispatcher, tracing } = observed({ looks: 0 })
    const raw = await client.responses.create(ask).asResponse()
    const { id } = (await raw.json()) as { id: string }
    const { data, response } = await client.responses.retrieve(id).withResponse()
    await settled(dispatcher)

    expect([data.output_text, response.status]).toEqual(['Three bags.', 200])
    expect(tracing.span('chat gpt-5').attributes['gen_ai.usage.output_tokens']).toBe(80)

    const second = await client.responses.create(ask)
    const looked = await client.responses.retrieve(second.id).asResponse()
    expect(await looked.json()).toMatchObject({ status: 'completed' })
    await settled(dispatcher)
    expect(dispatcher.stats().operations).toBe(0)
  })

  it('that nobody asks for does not hold its run for ever', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const { client, dispatcher, tracing } = observed()
    const { id } = await client.responses.create(ask)
    await vi.advanceTimersByTimeAsync(14 * 60_000)
    await client.responses.retrieve(id)
    await vi.advanceTimersByTimeAsync(14 * 60_000)
    expect(dispatcher.stats().operations).toBe(1)
    await vi.advanceTimersByTimeAsync(60_000)
    vi.useRealTimers()
    await settled(dispatcher)

    expect(tracing.tree()).toBe('invoke_agent\n  chat gpt-5')
    expect(tracing.span('chat gpt-5').attributes['gen_ai.response.id']).toBe(id)
  })

  it('ends with a run that does not wait for it, and is no failure of it', async () => {
    const { client, dispatcher, tracing } = observed()
    const op = dispatcher.startOperation({ agentName: 'shop' })
    await op.run(() => client.responses.create(ask))
    await op.complete()
    await settled(dispatcher)

    const { status, attributes } = tracing.span('chat gpt-5')
    expect(status.code).toBe(0)
    expect(attributes['gen_ai.response.id']).toMatch(/^resp_/)
  })
})

describe('under gates', () => {
  it.each([
    ['one look', (client: OpenAI, id: string) => client.responses.retrieve(id)],
    [
      'two',
      async (client: OpenAI, id: string) => {
        await client.responses.retrieve(id)
        return client.responses.retrieve(id)
      },
    ],
    [
      'the response as it is',
      async (client: OpenAI, id: string) => (await client.responses.retrieve(id).asResponse()).json(),
    ],
  ])('shows nobody what was not let through: %s', async (_name, look) => {
    const asked: unknown[] = []
    const gate = deciding(({ payload }) => {
      asked.push((payload as { content?: unknown }).content)
      return skip({ content: 'I cannot say.' })
    })
    const { client, dispatcher } = observed({ gates: [gate], looks: 0 })
    const { id } = await client.responses.create(ask)
    const reply = (await look(client, id)) as OpenAI.Responses.Response
    await settled(dispatcher)

    expect(JSON.stringify(reply)).toContain('I cannot say.')
    expect(JSON.stringify(reply)).not.toContain('Three bags')
    expect(asked).toEqual(['Three bags.'])
  })

  it('holds a stream back', async () => {
    const { client, dispatcher } = observed({ gates: [deciding(() => skip({ content: 'I cannot say.' }))] })
    const { id } = await client.responses.create(ask)
    const events = await all(await client.responses.retrieve(id, { stream: true }))
    await settled(dispatcher)

    expect(JSON.stringify(events)).toContain('I cannot say.')
    expect(JSON.stringify(events)).not.toContain('Three bags')
  })

  it('refuses what cannot be held back', async () => {
    const { client } = observed({ gates: [deciding(() => skip({ content: 'no' }))] })
    const { id } = await client.responses.create(ask)

    const rest = client.responses.retrieve(id, { stream: true, starting_after: 1 })
    await expect(rest).rejects.toThrow('a stream that is taken from where it was left cannot be held back')
    const raw = client.responses.retrieve(id, { stream: true }).asResponse()
    await expect(raw).rejects.toThrow('a stream that is taken with asResponse() cannot be held back')
  })

  it('asks them where somebody looks, if the run that asked is over', async () => {
    const { client, dispatcher } = observed({ gates: [deciding(() => deny('not in public'))], looks: 0 })
    const op = dispatcher.startOperation()
    const { id } = await op.run(() => client.responses.create(ask))
    await op.complete()

    const reply = await client.responses.retrieve(id)
    expect(JSON.stringify(reply)).not.toContain('Three bags')
    expect(JSON.stringify(reply)).toContain('not in public')
  })
})

const LOOKS: Readonly<Record<string, (client: OpenAI, id: string) => Promise<unknown>>> = {
  retrieve: (client, id) => client.responses.retrieve(id),
  'with the response': async (client, id) => (await client.responses.retrieve(id).withResponse()).data,
  'the response as it is': async (client, id) => (await client.responses.retrieve(id).asResponse()).json(),
  stream: async (client, id) => all(await client.responses.retrieve(id, { stream: true })),
  'end of a stream': async (client, id) =>
    all(await client.responses.retrieve(id, { stream: true, starting_after: 1 })),
  'stream that is left': async (client, id) => {
    for await (const event of await client.responses.retrieve(id, { stream: true })) return event
  },
  cancel: (client, id) => client.responses.cancel(id),
  'server that fails': (client, id) =>
    client.responses.retrieve(id, { include: ['reasoning.encrypted_content'] }),
}

describe('whoever looks, in whatever way', () => {
  const plan = fc.record({
    looks: fc.nat({ max: 3 }),
    asks: fc.integer({ min: 1, max: 3 }),
    raw: fc.boolean(),
    own: fc.boolean(),
    seen: fc.array(fc.tuple(fc.nat({ max: 2 }), fc.constantFrom(...Object.keys(LOOKS))), { maxLength: 8 }),
  })
  type Plan = typeof plan extends fc.Arbitrary<infer P> ? P : never

  async function go(client: OpenAI, { asks, raw, seen: looked }: Plan): Promise<unknown[]> {
    const told: unknown[] = []
    const ids: string[] = []
    for (let i = 0; i < asks; i++) {
      const asking = client.responses.create(ask)
      const reply = raw ? ((await (await asking.asResponse()).json()) as { id: string }) : await asking
      told.push(JSON.stringify(reply))
      ids.push(reply.id)
    }
    for (const [at, how] of looked) {
      const look = LOOKS[how] as (typeof LOOKS)[string]
      told.push(await seen((on) => look(on, ids[at % asks] as string), client))
    }
    return told.map((one) =>
      JSON.parse(JSON.stringify(one ?? null).replaceAll(/resp_[0-9a-f-]{36}/g, 'resp')),
    )
  }

  it('sees what is there bare, and each reply is one model call', async () => {
    await fc.assert(
      fc.asyncProperty(plan, async (given) => {
        const bare = await go(provider(given.looks).client, given)
        const { client, dispatcher, tracing } = observed({ looks: given.looks })
        if (given.own) {
          expect(await go(client, given)).toEqual(bare)
        } else {
          const op = dispatcher.startOperation()
          expect(await op.run(() => go(client, given))).toEqual(bare)
          await op.complete()
          await settled(dispatcher)
        }
        const calls = tracing.spans().filter(({ name }) => name === 'chat gpt-5')
        if (!given.own) expect(calls).toHaveLength(given.asks)
        expect(new Set(calls.map(({ attributes }) => attributes['gen_ai.response.id'])).size).toBe(
          calls.length,
        )
      }),
      { numRuns: Number(process.env.BACKGROUND_RUNS ?? 30) },
    )
  })
})
