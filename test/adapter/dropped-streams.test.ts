/** Streams and generators that are let go of without `return()`: nobody tells of their end. */
import Anthropic from '@anthropic-ai/sdk'
import { GoogleGenAI } from '@google/genai'
import { observeAnthropic } from 'hookspan/anthropic'
import { observeGoogleGenAI } from 'hookspan/google-genai'
import { scriptedFetch } from 'hookspan/mock'
import { it } from 'vitest'
import { endsOnceDropped } from '../support/dropped.ts'

const LOOK = { toolCalls: [{ id: 'call_1', name: 'look', arguments: {} }] }
const said = () => scriptedFetch({ steps: [LOOK, { content: 'done' }] })

const DROPS: Readonly<Record<string, (stream: AsyncIterable<unknown>) => unknown>> = {
  'before it is read': () => {},
  midway: (stream) => stream[Symbol.asyncIterator]().next(),
}

it.each(Object.entries(DROPS))('a run of Google ends whose stream is dropped %s', async (_how, drop) => {
  await endsOnceDropped(async (dispatcher) => {
    const ai = new GoogleGenAI({ apiKey: 'k', httpOptions: { fetch: said() } as never })
    const look = {
      tool: async () => ({ functionDeclarations: [{ name: 'look' }] }),
      callTool: async () => [{ functionResponse: { name: 'look', response: { output: 'found' } } }],
    }
    const asked = { model: 'gemini-3.8-flash', contents: 'hi', config: { tools: [look] } }
    await drop(await observeGoogleGenAI(ai, { dispatcher }).models.generateContentStream(asked))
  })
})

it('a run of Anthropic ends whose runner is dropped midway', async () => {
  await endsOnceDropped(async (dispatcher) => {
    const client = observeAnthropic(new Anthropic({ apiKey: 'k', fetch: said() }), { dispatcher })
    const look = {
      ...{ name: 'look', input_schema: { type: 'object' } },
      ...{ run: () => 'found', parse: (given: unknown) => given },
    }
    const messages = [{ role: 'user', content: 'hi' }]
    const asked = { model: 'claude-x', max_tokens: 9, messages, tools: [look] }
    await client.beta.messages
      .toolRunner(asked as never)
      [Symbol.asyncIterator]()
      .next()
  })
})
