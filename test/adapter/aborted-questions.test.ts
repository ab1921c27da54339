import Anthropic from '@anthropic-ai/sdk'
import { GoogleGenAI } from '@google/genai'
import { HookDispatcher } from 'hookspan'
import { observeAnthropic } from 'hookspan/anthropic'
import { observeGoogleGenAI } from 'hookspan/google-genai'
import { scriptedFetch } from 'hookspan/mock'
import { observeOpenAI } from 'hookspan/openai'
import OpenAI from 'openai'
import { expect, it, vi } from 'vitest'
import { eventsOf, findAll } from '../support/told-events.ts'

const fetchOf = () =>
  scriptedFetch({ steps: [{ content: 'one two three', latencyMs: 200, chunkDelayMs: 40 }] })
const openai = (dispatcher: HookDispatcher) =>
  observeOpenAI(new OpenAI({ apiKey: 'k', fetch: fetchOf(), maxRetries: 0 }), { dispatcher })
const anthropic = (dispatcher: HookDispatcher) =>
  observeAnthropic(new Anthropic({ apiKey: 'k', fetch: fetchOf(), maxRetries: 0 }), { dispatcher })
const google = (dispatcher: HookDispatcher) => {
  const httpOptions = { fetch: fetchOf() } as never
  return observeGoogleGenAI(new GoogleGenAI({ apiKey: 'k', httpOptions }), { dispatcher })
}

const messages = [{ role: 'user' as const, content: 'hi' }]
const claude = { model: 'claude-opus-5', max_tokens: 100, messages }
const soon = () => AbortSignal.timeout(20)

const WAYS: [string, (dispatcher: HookDispatcher) => Promise<unknown>][] = [
  ['of openai', (to) => openai(to).chat.completions.create({ model: 'gpt-5', messages }, { signal: soon() })],
  [
    'of openai, by its stream helper',
    (to) => {
      const stream = openai(to).chat.completions.stream({ model: 'gpt-5', messages })
      stream.on('content', () => stream.abort())
      return stream.finalContent()
    },
  ],
  ['of Anthropic', (to) => anthropic(to).messages.create(claude, { signal: soon() })],
  [
    'of Anthropic, by its stream helper',
    (to) => {
      const stream = anthropic(to).messages.stream(claude)
      stream.on('text', () => stream.abort())
      return stream.finalMessage()
    },
  ],
  [
    'of Google',
    (to) =>
      google(to).models.generateContent({
        model: 'gemini',
        contents: 'hi',
        config: { abortSignal: soon() },
      }),
  ],
  [
    'of Google, streamed',
    async (to) => {
      const controller = new AbortController()
      const config = { abortSignal: controller.signal }
      const chunks = await google(to).models.generateContentStream({
        model: 'gemini',
        contents: 'hi',
        config,
      })
      for await (const _chunk of chunks) controller.abort()
    },
  ],
]

it.each(WAYS)('a single question that its caller aborts ends as interrupted: %s', async (_name, ask) => {
  const dispatcher = new HookDispatcher()
  const events = eventsOf(dispatcher)

  await expect(ask(dispatcher)).rejects.toThrow()

  await vi.waitFor(() => expect(findAll(events, 'onComplete')).toMatchObject([{ reason: 'interrupted' }]))
})
