/** Interactions that Google makes in the background, as its agents do, on the real client. */
import { GoogleGenAI } from '@google/genai'
import { type Gate, skip } from 'hookspan/gates'
import { observeGoogleGenAI } from 'hookspan/google-genai'
import { describe, expect, it } from 'vitest'
import { all, settled } from '../support/seen-by-caller.ts'
import { traced } from '../support/span-tree.ts'

/** The provider: what was asked for in the background is made once somebody has looked so often. */
function clientOf(looks: number): GoogleGenAI {
  const left = new Map<string, number>()
  const replyOf = (id: string, status: string) => ({
    id,
    object: 'interaction',
    agent: 'deep-research',
    status,
    steps:
      status === 'completed'
        ? [{ type: 'model_output', content: [{ type: 'text', text: 'Three bags.' }] }]
        : [],
    ...(status === 'completed' && {
      usage: { total_input_tokens: 900, total_output_tokens: 80, total_tokens: 980 },
    }),
  })
  const fetch = async (input: Request | string | URL, init?: RequestInit): Promise<Response> => {
    const { pathname, searchParams } = new URL(input instanceof Request ? input.url : String(input))
    const method = input instanceof Request ? input.method : init?.method
    const [, id, cancel] = /interactions\/([^/]+)(\/cancel)?$/.exec(pathname) ?? []
    if (id === undefined) {
      const fresh = `v1_${crypto.randomUUID()}`
      left.set(fresh, looks)
      return Response.json(replyOf(fresh, 'in_progress'))
    }
    if (cancel !== undefined) return Response.json(replyOf(id, method === 'POST' ? 'cancelled' : 'failed'))
    const now = left.get(id) ?? 0
    left.set(id, now - 1)
    if (searchParams.get('stream') !== 'true') {
      return Response.json(replyOf(id, now > 0 ? 'in_progress' : 'completed'))
    }
    const event = { event_type: 'interaction.completed', interaction: replyOf(id, 'completed') }
    return new Response(`event: interaction.completed\ndata: ${JSON.stringify(event)}\n\n`, {
      headers: { 'content-type': 'text/event-stream' },
    })
  }
  return new GoogleGenAI({ apiKey: 'k', httpOptions: { fetch } as never })
}

const ask = { agent: 'deep-research', input: 'bags?', background: true } as never
const CALL = 'generate_content deep-research'

function observed({ gates = [], looks = 1 }: { gates?: Gate[]; looks?: number } = {}) {
  const tracing = traced({ captureContent: true })
  const { dispatcher } = tracing
  if (gates.length > 0) dispatcher.use({ name: 'gates', gates })
  return { dispatcher, tracing, ai: observeGoogleGenAI(clientOf(looks), { dispatcher, agentName: 'shop' }) }
}

type Told = { id: string; status: string; output_text?: string }
const begin = async (ai: GoogleGenAI) => (await ai.interactions.create(ask)) as unknown as Told
const look = async (ai: GoogleGenAI, id: string) => (await ai.interactions.get(id)) as unknown as Told

async function polled(ai: GoogleGenAI): Promise<Told> {
  let told = await begin(ai)
  while (told.status === 'in_progress') told = await look(ai, told.id)
  return told
}

describe('an interaction that is made in the background', () => {
  it('is one model call of the run, and the same to its caller as bare', async () => {
    const bare = await polled(clientOf(3))
    const { ai, dispatcher, tracing } = observed({ looks: 3 })
    const op = dispatcher.startOperation({ agentName: 'shop' })
    const told = await op.step(() => polled(ai))
    await op.complete()
    await settled(dispatcher)

    expect(JSON.stringify({ ...told, id: '' })).toBe(JSON.stringify({ ...bare, id: '' }))
    expect(tracing.tree()).toBe(`invoke_agent shop\n  step 0\n    ${CALL}`)
    expect(tracing.span(CALL).attributes).toMatchObject({
      'gen_ai.usage.input_tokens': 900,
      'gen_ai.response.id': told.id,
    })
  })

  it('ends its own run outside of any, with what it said', async () => {
    const { ai, dispatcher, tracing } = observed()
    await polled(ai)
    await settled(dispatcher)

    expect(tracing.tree()).toBe(`invoke_agent shop\n  ${CALL}`)
    expect(tracing.span('invoke_agent shop').attributes['gen_ai.output.messages']).toContain('Three bags.')
  })

  it('is told where somebody looks, if the run that asked is over', async () => {
    const { ai, dispatcher, tracing } = observed({ looks: 0 })
    const op = dispatcher.startOperation({ agentName: 'asks' })
    const { id } = await op.run(() => begin(ai))
    await op.complete()
    await look(ai, id)
    await settled(dispatcher)

    const calls = tracing.spans().filter(({ name }) => name === CALL)
    expect(calls.map(({ attributes }) => attributes['gen_ai.usage.input_tokens'])).toEqual([undefined, 900])
    expect(calls.map(({ status }) => status.code)).toEqual([0, 0])
  })

  it('that is called off ends its call as failed', async () => {
    const { ai, dispatcher, tracing } = observed()
    const { id } = await begin(ai)
    await ai.interactions.cancel(id)
    await settled(dispatcher)

    expect(tracing.span(CALL).attributes['gen_ai.response.finish_reasons']).toEqual(['error'])
  })

  it('as a stream is left alone', async () => {
    const { ai, dispatcher } = observed()
    const { id } = await begin(ai)
    const stream = (await ai.interactions.get(id, { stream: true })) as unknown as AsyncIterable<unknown>
    expect(await all(stream)).toHaveLength(1)

    await look(ai, id)
    await settled(dispatcher)
  })
})

describe('under gates', () => {
  const gate: Gate = { id: 'words', point: 'afterLlmCall', decide: () => skip({ content: 'I cannot say.' }) }

  it('nobody is shown what was not let through', async () => {
    const { ai, dispatcher, tracing } = observed({ gates: [gate], looks: 0 })
    const { id } = await begin(ai)
    const first = await look(ai, id)
    const second = await look(ai, id)
    await settled(dispatcher)

    expect(first.output_text).toBe('I cannot say.')
    expect(JSON.stringify([first, second])).not.toContain('Three bags')
    expect(tracing.spans().filter(({ name }) => name === CALL)).toHaveLength(1)
  })

  it('a stream of it is refused', async () => {
    const { ai } = observed({ gates: [gate] })
    const { id } = await begin(ai)
    await expect(ai.interactions.get(id, { stream: true })).rejects.toThrow('not held back as a stream')
  })
})
