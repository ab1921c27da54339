/** Google's Interactions API on the real client: as it is bare, and a model call of hookspan's. */
import { GoogleGenAI, type Interactions } from '@google/genai'
import { HookDispatcher } from 'hookspan'
import { deny, mutate, skip } from 'hookspan/gates'
import { observeGoogleGenAI, unobserveGoogleGenAI } from 'hookspan/google-genai'
import type { ScriptedStep } from 'hookspan/mock'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { all, seen, settled } from '../support/seen-by-caller.ts'
import { traced } from '../support/span-tree.ts'
import { clientOf, observed } from './google-client.ts'

afterEach(() => void vi.restoreAllMocks())

const model = 'gemini-3.8-flash'
const usage = { inputTokens: 12, outputTokens: 3 }
const DONE: ScriptedStep = { content: 'Three bags, all of them blue.', reasoning: 'Let me see.', usage }
const SEARCH: ScriptedStep = { toolCalls: [{ id: 'c1', name: 'search', arguments: { q: 'bags' } }], usage }
const CALL = `generate_content ${model}`

const ask = { model, input: 'bags?' }
const stream = (ai: GoogleGenAI, more: object = {}) =>
  ai.interactions.create({ ...ask, ...more, stream: true }) as unknown as Promise<ReadableStream<unknown>>

async function textOf(events: AsyncIterable<unknown>): Promise<string> {
  let text = ''
  for await (const event of events) {
    const { delta } = event as { delta?: { type: string; text?: string } }
    if (delta?.type === 'text') text += delta.text
  }
  return text
}

type Use = readonly [name: string, steps: readonly ScriptedStep[], use: (ai: GoogleGenAI) => Promise<unknown>]

const USES: readonly Use[] = [
  [
    'a question, with all that may be asked for',
    [SEARCH],
    (ai) =>
      ai.interactions.create({
        ...ask,
        system_instruction: 'Be brief.',
        generation_config: { temperature: 0, thinking_level: 'low' },
        tools: [{ type: 'function', name: 'search', parameters: { type: 'object' } }],
        store: false,
      }),
  ],
  [
    'one that goes on with another, in a version of the API',
    [DONE, DONE],
    async (ai) => {
      const { id } = await ai.interactions.create(ask)
      const result: Interactions.FunctionResultStep = {
        type: 'function_result',
        call_id: 'c1',
        result: '3',
      }
      return ai.interactions.create({
        model,
        input: [result],
        previous_interaction_id: id,
        api_version: 'v1beta',
      })
    },
  ],
  ['an agent', [DONE], (ai) => ai.interactions.create({ agent: 'deep-research', input: 'bags?' } as never)],
  ['a stream', [{ ...DONE, ...SEARCH }], async (ai) => all(await stream(ai))],
  [
    'the stream of an agent',
    [DONE],
    async (ai) =>
      all(
        (await ai.interactions.create({
          agent: 'deep-research',
          input: 'bags?',
          stream: true,
        } as never)) as never,
      ),
  ],
  [
    'streams that are read by hand, teed, piped, left and cancelled',
    [DONE, DONE, DONE, DONE, DONE],
    async (ai) => {
      const reader = (await stream(ai)).getReader()
      const read = [await reader.read(), await reader.read()]
      reader.releaseLock()
      const teed = await Promise.all((await stream(ai)).tee().map(all))
      const piped = await all((await stream(ai)).pipeThrough(new TransformStream()))
      const left: unknown[] = []
      for await (const event of await stream(ai)) {
        left.push(event)
        break
      }
      const cancelled = await stream(ai)
      return [read, teed, piped, left, await cancelled.cancel(), cancelled instanceof ReadableStream]
    },
  ],
  ['an error', [{ error: { status: 400, message: 'no' } }], (ai) => ai.interactions.create(ask)],
  ['an error of a stream', [{ error: { status: 400, message: 'no' } }], async (ai) => all(await stream(ai))],
  ['an error for want of anything', [], (ai) => ai.interactions.create(undefined as never)],
  [
    'an error for want of a model',
    [{ error: { status: 400, message: 'no model' } }],
    (ai) => ai.interactions.create({ input: 'hi' } as never),
  ],
  ['a stream that breaks', [{ ...DONE, cutAfterChunks: 2 }], async (ai) => all(await stream(ai))],
]

describe('an observed client of @google/genai is as it is bare', () => {
  it.each(USES)('%s', async (name, steps, use) => {
    const bare = clientOf(...steps)
    const { ai, fetch, dispatcher, tree } = observed(...steps)
    const expected = await seen(use, bare.ai)
    const timeless = (value: unknown) => JSON.stringify(value).replaceAll(/20\d\d-[\dT:.-]+Z/g, 'then')
    expect(timeless(await seen(use, ai))).toEqual(timeless(expected))
    const threw = (expected as { threw?: string } | null)?.threw !== undefined
    expect(threw).toBe(/error|breaks/.test(name))
    const sent = ({ requests }: typeof fetch) => requests.map(({ body, path }) => [path, body])
    expect(sent(fetch)).toEqual(sent(bare.fetch))
    expect(fetch.requests.every(({ api }) => api === 'interactions')).toBe(true)
    // One that is read by hand and let go of never ends.
    const open = name.includes('by hand') ? 1 : 0
    await expect.poll(() => dispatcher.stats().operations).toBe(open)
    expect(tree.all.filter(({ ends }) => ends.length !== 1)).toHaveLength(2 * open)
  })
})

describe('an interaction', () => {
  it('is a model call of the operation that is running, or of one of its own', async () => {
    const { ai, dispatcher, tree } = observed(DONE, DONE, DONE, DONE)
    const ends: unknown[] = []
    dispatcher.use({
      name: 'ends',
      hooks: [
        {
          id: 'e',
          type: 'onComplete',
          handler: ({ content, reason }) => void ends.push({ content, reason }),
        },
      ],
    })
    await ai.interactions.create(ask)
    await all(await stream(ai))
    await (await stream(ai)).cancel()
    await settled(dispatcher)
    const op = dispatcher.startOperation({ agentName: 'mine' })
    await op.step(() => ai.interactions.create(ask))
    await op.complete()
    await settled(dispatcher)
    expect(tree.lines()).toEqual([
      ...[1, 2].flatMap(() => ['invoke_agent shop', `  ${CALL}`]),
      ...['invoke_agent shop', `  ${CALL} (abandoned)`],
      ...['invoke_agent mine', '  step 0', `    ${CALL}`],
    ])
    const { content } = DONE
    expect(ends).toEqual([
      { content, reason: 'done' },
      { content, reason: 'done' },
      { reason: 'done' },
      { reason: 'done' },
    ])
    const { activity } = tree.all.find(({ activity: { kind } }) => kind === 'llm') as (typeof tree.all)[0]
    expect(activity).toMatchObject({
      provider: 'gcp.gemini',
      serverAddress: 'generativelanguage.googleapis.com',
    })
  })

  it('is told whole: what was asked, what was said, what it cost, streamed or not', async () => {
    using setup = traced({ captureContent: true })
    const said = { ...DONE, ...SEARCH }
    const { ai } = clientOf(said, said)
    observeGoogleGenAI(ai, { dispatcher: setup.dispatcher })
    const input = [
      { type: 'user_input' as const, content: [{ type: 'text' as const, text: 'bags?' }] },
      { type: 'function_call' as const, id: 'c0', name: 'count', arguments: { of: 'bags' } },
      { type: 'function_result' as const, call_id: 'c0', result: '3' },
    ]
    const params = {
      model,
      input,
      system_instruction: 'Be brief.',
      previous_interaction_id: 'v1_before',
      tools: [
        { type: 'function' as const, name: 'search', description: 'Finds.' },
        { type: 'url_context' as const },
      ],
      generation_config: { temperature: 0.5, max_output_tokens: 99, thinking_level: 'low' as const },
      response_format: { type: 'text' as const, mime_type: 'application/json' as const },
    }
    await ai.interactions.create(params)
    await all((await ai.interactions.create({ ...params, stream: true })) as never)
    const calls = setup.spans().filter(({ name }) => name === CALL)
    expect(calls).toHaveLength(2)
    for (const { attributes } of calls) {
      const parsed = Object.fromEntries(
        Object.entries(attributes).map(([key, value]) => [
          key,
          /^[[{]/.test(String(value)) ? JSON.parse(String(value)) : value,
        ]),
      )
      expect(parsed).toMatchObject({
        'gen_ai.operation.name': 'generate_content',
        'gen_ai.request.model': model,
        'gen_ai.request.temperature': 0.5,
        'gen_ai.request.max_tokens': 99,
        'gen_ai.output.type': 'json',
        'gen_ai.response.finish_reasons': ['tool_calls'],
        'gen_ai.usage.input_tokens': 12,
        'gen_ai.usage.output_tokens': 3,
        'gen_ai.system_instructions': [{ type: 'text', content: 'Be brief.' }],
        'gen_ai.tool.definitions': [
          { type: 'function', name: 'search', description: 'Finds.' },
          { type: 'url_context', name: 'url_context' },
        ],
        'gen_ai.input.messages': [
          { role: 'user', parts: [{ type: 'text', content: 'bags?' }] },
          {
            role: 'assistant',
            parts: [{ type: 'tool_call', id: 'c0', name: 'count', arguments: { of: 'bags' } }],
          },
          { role: 'tool', parts: [{ type: 'tool_call_response', id: 'c0', response: '3' }] },
        ],
        'gen_ai.output.messages': [
          {
            role: 'assistant',
            finish_reason: 'tool_calls',
            parts: [
              { type: 'reasoning', content: 'Let me see.' },
              { type: 'text', content: DONE.content },
              { type: 'tool_call', id: 'c1', name: 'search', arguments: { q: 'bags' } },
            ],
          },
        ],
      })
    }
  })

  it.each([false, true])(
    'may be changed by gates, and answered for, before and after: streamed %s',
    async (streams) => {
      const { ai, dispatcher, fetch } = observed(DONE)
      const text = async () => {
        if (streams) return textOf(await stream(ai))
        const { output_text } = await ai.interactions.create(ask)
        return output_text
      }
      const undo = dispatcher.use({
        name: 'around',
        gates: [
          {
            id: 'before',
            point: 'beforeLlmCall',
            decide: () => mutate({ input: 'purses?', generation_config: { temperature: 0 } }),
          },
          { id: 'after', point: 'afterLlmCall', decide: () => mutate({ content: 'rewritten' }) },
        ],
      })
      expect(await text()).toBe('rewritten')
      expect(fetch.requests[0]?.body).toMatchObject({
        model,
        input: 'purses?',
        generation_config: { temperature: 0 },
      })
      undo[Symbol.dispose]()
      dispatcher.use({
        name: 'before',
        gates: [{ id: 'before', point: 'beforeLlmCall', decide: () => skip('from the gate') }],
      })
      expect(await text()).toBe('from the gate')
      expect(fetch.requests).toHaveLength(1)
    },
  )

  it.each([
    [{ model: 'cheaper' }, '`model`'],
    [{ stream: 'other' }, '`stream`'],
  ])('asks nobody where a gate sets what would not be sent: %j', async (set, field) => {
    const { ai, dispatcher, fetch } = observed(DONE)
    dispatcher.use({ name: 'g', gates: [{ id: 'g', point: 'beforeLlmCall', decide: () => mutate(set) }] })
    await expect(ai.interactions.create(ask)).rejects.toThrow(field)
    await expect(stream(ai)).rejects.toThrow(field)
    expect(fetch.requests).toEqual([])
  })

  it.each<[string, (stream: ReadableStream<unknown>) => Promise<unknown>]>([
    ['iterated', all],
    ['by a reader', async (events) => (await events.getReader().read()).value],
    ['teed', async (events) => all(events.tee()[1])],
    ['piped', async (events) => all(events.pipeThrough(new TransformStream()))],
  ])('shows nothing of a stream that a gate withholds, however it is read: %s', async (_name, read) => {
    const { ai, dispatcher } = observed(DONE)
    dispatcher.use({
      name: 'guard',
      gates: [{ id: 'after', point: 'afterLlmCall', decide: () => deny('withheld') }],
    })
    const shown = await seen(read, await stream(ai))
    expect(JSON.stringify(shown)).not.toContain('bags')
  })

  it.each<[string, object, object]>([
    ['of the call', {}, { timeout_ms: 50, retries: { strategy: 'none' } }],
    ['of the client', { timeout: 50 }, { retries: { strategy: 'none' } }],
  ])('keeps its timeout in a run that can be aborted: %s', async (_name, httpOptions, options) => {
    const fetch = (request: Request) =>
      new Promise((_, reject) =>
        request.signal.addEventListener('abort', () => reject(request.signal.reason)),
      )
    const ai = new GoogleGenAI({ apiKey: 'k', httpOptions: { ...httpOptions, fetch } as never })
    const bare = await seen((client) => client.interactions.create(ask, options), ai)
    const dispatcher = new HookDispatcher()
    observeGoogleGenAI(ai, { dispatcher })
    const op = dispatcher.startOperation({ signal: new AbortController().signal })
    const told = await op.run(() => seen((client) => client.interactions.create(ask, options), ai))
    await op.complete()
    expect(told).toEqual(bare)
  })

  it('ends with its run, when that is aborted', async () => {
    const sent = Promise.withResolvers<AbortSignal>()
    const fetch = (request: Request) => {
      sent.resolve(request.signal)
      return new Promise((_, reject) =>
        request.signal.addEventListener('abort', () => reject(request.signal.reason)),
      )
    }
    const ai = new GoogleGenAI({ apiKey: 'k', httpOptions: { fetch } as never })
    const dispatcher = new HookDispatcher()
    observeGoogleGenAI(ai, { dispatcher })
    const controller = new AbortController()
    const op = dispatcher.startOperation({ signal: controller.signal })
    const asked = op.run(() => ai.interactions.create(ask))
    const signal = await sent.promise
    controller.abort(new Error('enough'))
    await expect(asked).rejects.toThrow('enough')
    expect(signal.aborted).toBe(true)
    await op.complete()
  })

  it('is left as it was', () => {
    const { ai } = observed()
    const { ai: bare } = clientOf()
    unobserveGoogleGenAI(ai)
    expect(Reflect.ownKeys(ai.interactions).sort()).toEqual(Reflect.ownKeys(bare.interactions).sort())
  })
})
