import Anthropic from '@anthropic-ai/sdk'
import { GoogleGenAI } from '@google/genai'
import { HookDispatcher } from 'hookspan'
import { observeAnthropic } from 'hookspan/anthropic'
import { observeGoogleGenAI } from 'hookspan/google-genai'
import { scriptedFetch } from 'hookspan/mock'
import { observeOpenAI } from 'hookspan/openai'
import OpenAI from 'openai'
import { expect, it, onTestFinished, vi } from 'vitest'

const steps = [{ content: 'hi' }]
const messages = [{ role: 'user' as const, content: 'hi' }]

/** Clients that say of themselves that they are of another version, and one model call of each. */
const CLIENTS: readonly (readonly [name: string, known: string, (to: HookDispatcher) => Promise<unknown>])[] =
  [
    [
      'openai',
      '6 and 7',
      (dispatcher) => {
        const client = new OpenAI({ apiKey: 'none', fetch: scriptedFetch({ steps }) })
        Object.assign(client, { getUserAgent: () => 'OpenAI/JS 99.1.2' })
        return observeOpenAI(client, { dispatcher }).chat.completions.create({ model: 'gpt-4o', messages })
      },
    ],
    [
      '@anthropic-ai/sdk',
      '1',
      (dispatcher) => {
        const client = new Anthropic({ apiKey: 'none', fetch: scriptedFetch({ steps }) })
        Object.assign(client, { getUserAgent: () => 'Anthropic/JS 99.1.2' })
        const given = { model: 'claude-opus-4-6', max_tokens: 10, messages }
        return observeAnthropic(client, { dispatcher }).messages.create(given)
      },
    ],
    [
      '@google/genai',
      '>=3.1 <4',
      (dispatcher) => {
        const httpOptions = { fetch: scriptedFetch({ steps }) } as never
        const client = new GoogleGenAI({ apiKey: 'none', httpOptions })
        const { models } = client as unknown as { models: { apiClient: { getDefaultHeaders(): object } } }
        const headers = models.apiClient.getDefaultHeaders()
        const said = JSON.parse(
          JSON.stringify(headers).replaceAll(/google-genai-sdk\/[\d.]+/g, 'google-genai-sdk/99.1.2'),
        )
        Object.assign(models.apiClient, { getDefaultHeaders: () => said })
        const asked = { model: 'gemini-2.5-flash', contents: 'hi' }
        return observeGoogleGenAI(client, { dispatcher }).models.generateContent(asked)
      },
    ],
  ]

it.each(CLIENTS)(
  'of a client of %s that nobody has tried, one warning names both versions',
  async (name, known, ask) => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
    onTestFinished(() => warn.mockRestore())
    const dispatcher = new HookDispatcher()
    const told: string[] = []
    dispatcher.use({
      name: 'see',
      hooks: [
        { id: 'see', type: 'afterLlmCall', handler: ({ response }) => void told.push(`${response.content}`) },
      ],
    })
    await ask(dispatcher)
    await ask(dispatcher)
    await dispatcher.drain()

    expect(warn.mock.calls).toEqual([
      [expect.stringContaining(`hookspan knows ${name} ${known}, and this client is 99.1.2.`)],
    ])
    expect(told).toEqual(['hi', 'hi'])
  },
)
