import Anthropic from '@anthropic-ai/sdk'
import { GoogleGenAI } from '@google/genai'
import { HookDispatcher } from 'hookspan'
import { observeAnthropic } from 'hookspan/anthropic'
import { deny, type Gate, mutate } from 'hookspan/gates'
import { observeGoogleGenAI } from 'hookspan/google-genai'
import { type ScriptedStep, scriptedFetch } from 'hookspan/mock'
import { observeOpenAI } from 'hookspan/openai'
import OpenAI from 'openai'
import { describe, expect, it } from 'vitest'
import { settled } from '../support/seen-by-caller.ts'
import { eventsOf, findAll } from '../support/told-events.ts'
import { callable } from './subjects/google-genai.ts'

const STEPS: ScriptedStep[] = [
  { toolCalls: [{ id: 'c1', name: 'search', arguments: { q: 'bags' } }] },
  { content: 'Three bags.' },
]
const SECRET = 'I am ann@shop.test.'
const messages = [{ role: 'user' as const, content: SECRET }]

type Fetch = ReturnType<typeof scriptedFetch>
type Run = (dispatcher: HookDispatcher, fetch: Fetch) => Promise<unknown>

const openai =
  (stream: boolean): Run =>
  (dispatcher, fetch) => {
    const tool = {
      type: 'function',
      function: { name: 'search', parameters: {}, parse: JSON.parse, function: () => 'found' },
    }
    const client = observeOpenAI(new OpenAI({ apiKey: 'k', fetch, maxRetries: 0 }), { dispatcher })
    return client.chat.completions
      .runTools({ model: 'gpt-4o', messages, stream, tools: [tool] } as never)
      .finalContent()
  }

const anthropic =
  (stream: boolean): Run =>
  async (dispatcher, fetch) => {
    const client = observeAnthropic(new Anthropic({ apiKey: 'k', fetch, maxRetries: 0 }), { dispatcher })
    const tools = [{ name: 'search', description: '', input_schema: { type: 'object' }, run: () => 'found' }]
    const asked = { model: 'claude-opus-5', max_tokens: 9, messages, stream, tools }
    return client.beta.messages.toolRunner(asked as never).runUntilDone()
  }

const google =
  (stream: boolean, contents: unknown): Run =>
  async (dispatcher, fetch) => {
    const ai = observeGoogleGenAI(new GoogleGenAI({ apiKey: 'k', httpOptions: { fetch } as never }), {
      dispatcher,
    })
    const tools = [callable('search', 'search', { type: 'object' }, async () => 'found')]
    const asked = { model: 'gemini-3.8-flash', contents, config: { tools } } as never
    if (!stream) return ai.models.generateContent(asked)
    for await (const _ of await ai.models.generateContentStream(asked)) void _
    return undefined
  }

const RUNS: [string, Run][] = [
  ['runTools() of openai', openai(false)],
  ['runTools() of openai, streamed', openai(true)],
  ['toolRunner() of Anthropic', anthropic(false)],
  ['toolRunner() of Anthropic, streamed', anthropic(true)],
  ['calling functions by @google/genai', google(false, SECRET)],
  [
    'calling functions by @google/genai, streamed',
    google(true, [{ role: 'user', parts: [{ text: SECRET }] }]),
  ],
]

const watched = (decide: Gate['decide']) => {
  const dispatcher = new HookDispatcher()
  dispatcher.use({ name: 'gates', gates: [{ id: 'first', point: 'onStart', decide }] })
  return { dispatcher, events: eventsOf(dispatcher), fetch: scriptedFetch({ steps: STEPS }) }
}

describe.each(RUNS)('%s', (_, run) => {
  it('sends what an onStart gate made of the input, in each turn, and nothing else', async () => {
    const hide = (input: unknown) => JSON.parse(JSON.stringify(input).replace('ann@shop.test', '[hidden]'))
    const { dispatcher, events, fetch } = watched(({ payload }) => mutate(hide(payload)))
    await run(dispatcher, fetch)
    await settled(dispatcher)
    const sent = fetch.requests.map(({ body }) => JSON.stringify(body))
    expect(sent).toHaveLength(2)
    // Later turns of Anthropic's runner send what is new alone.
    expect(sent[0]).toContain('I am [hidden].')
    expect(sent.join()).not.toContain('ann@shop')
    expect(findAll(events, 'onStart')).toHaveLength(1)
    expect(findAll(events, 'onComplete')).toMatchObject([{ reason: 'done', content: 'Three bags.' }])
  })

  it('asks no model where an onStart gate refuses it, and tells so once', async () => {
    const { dispatcher, events, fetch } = watched(() => deny('closed'))
    await expect(run(dispatcher, fetch)).rejects.toThrow(/closed/)
    await settled(dispatcher)
    expect(fetch.requests).toEqual([])
    expect(findAll(events, 'onComplete')).toMatchObject([{ reason: 'denied' }])
    expect(findAll(events, 'onError')).toEqual([])
  })
})

it.each(RUNS.slice(0, 4))(
  '%s: a run whose messages a gate made something else of asks no model',
  async (_, run) => {
    const { dispatcher, fetch } = watched(() => mutate('hi'))
    await expect(run(dispatcher, fetch)).rejects.toThrow(/made no messages of the messages/)
    expect(fetch.requests).toEqual([])
  },
)

const SINGLE: [string, unknown, Run][] = [
  [
    'openai',
    messages,
    (dispatcher, fetch) =>
      observeOpenAI(new OpenAI({ apiKey: 'k', fetch, maxRetries: 0 }), {
        dispatcher,
      }).chat.completions.create({
        model: 'gpt-4o',
        messages,
      }),
  ],
  [
    'openai, responses',
    SECRET,
    (dispatcher, fetch) =>
      observeOpenAI(new OpenAI({ apiKey: 'k', fetch, maxRetries: 0 }), { dispatcher }).responses.create({
        model: 'gpt-4o',
        input: SECRET,
      }),
  ],
  [
    'Anthropic',
    messages,
    (dispatcher, fetch) =>
      observeAnthropic(new Anthropic({ apiKey: 'k', fetch, maxRetries: 0 }), { dispatcher }).messages.create({
        model: 'claude-opus-5',
        max_tokens: 9,
        messages,
      }),
  ],
  [
    '@google/genai',
    SECRET,
    (dispatcher, fetch) =>
      observeGoogleGenAI(new GoogleGenAI({ apiKey: 'k', httpOptions: { fetch } as never }), {
        dispatcher,
      }).models.generateContent({ model: 'gemini-3.8-flash', contents: SECRET }),
  ],
  [
    '@google/genai, interactions',
    SECRET,
    (dispatcher, fetch) =>
      observeGoogleGenAI(new GoogleGenAI({ apiKey: 'k', httpOptions: { fetch } as never }), {
        dispatcher,
      }).interactions.create({ model: 'gemini-3.8-flash', input: SECRET }),
  ],
]

it.each(SINGLE)(
  'a call of %s that is a run of its own sends what an onStart gate made of it',
  async (_, input, run) => {
    const payloads: unknown[] = []
    const { dispatcher, fetch } = watched(({ payload }) => {
      payloads.push(payload)
      return mutate(JSON.parse(JSON.stringify(payload).replace('ann@shop.test', '[hidden]')))
    })
    await run(dispatcher, fetch)
    await settled(dispatcher)
    expect(payloads).toEqual([input])
    expect(fetch.requests.map(({ body }) => JSON.stringify(body).includes('I am [hidden].'))).toEqual([true])
    expect(dispatcher.stats().operations).toBe(0)

    const refused = watched(() => deny('closed'))
    await expect(run(refused.dispatcher, refused.fetch)).rejects.toThrow(/closed/)
    await settled(refused.dispatcher)
    expect(refused.fetch.requests).toEqual([])
    expect(refused.dispatcher.stats().operations).toBe(0)
  },
)
