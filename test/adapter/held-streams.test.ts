import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import Anthropic from '@anthropic-ai/sdk'
import { GoogleGenAI } from '@google/genai'
import { Agent, OpenAIChatCompletionsModel, Runner } from '@openai/agents'
import * as ai from 'ai'
import { HookDispatcher } from 'hookspan'
import { observeAISDK } from 'hookspan/ai-sdk'
import { observeAnthropic } from 'hookspan/anthropic'
import { deny, type Gate } from 'hookspan/gates'
import { observeGoogleGenAI } from 'hookspan/google-genai'
import { observeOpenAI } from 'hookspan/openai'
import { observeAgents } from 'hookspan/openai-agents'
import OpenAI from 'openai'
import { describe, expect, it, onTestFinished } from 'vitest'

const WORDS = ['one ', 'two ', 'three ', 'four ', 'five ', 'six ', 'seven ', 'eight']

const openai = (text: string) => ({
  id: 'c1',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'm',
  choices: [{ index: 0, delta: { role: 'assistant', content: text }, finish_reason: null }],
})
const google = (text: string) => ({
  candidates: [{ index: 0, content: { role: 'model', parts: [{ text }] } }],
})
const anthropic = (text: string) => ({
  type: 'content_block_delta',
  index: 0,
  delta: { type: 'text_delta', text },
})
const message = { id: 'm1', type: 'message', role: 'assistant', model: 'm', content: [], stop_reason: null }
const ANTHROPIC_START = [
  { type: 'message_start', message: { ...message, usage: { input_tokens: 1, output_tokens: 0 } } },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
]

/** Streams the words in an API's chunks. Where it fails, it tells so after the second, or cuts the connection. */
async function provider(fails: 'error' | 'reset' | 'no' | 'waits' = 'no') {
  const server = createServer((request, response) => {
    request.resume()
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const url = request.url ?? ''
    const isAnthropic = url.includes('/messages')
    const send = (event: { readonly type?: string; readonly [more: string]: unknown }) =>
      response.write(
        `${event.type === undefined ? '' : `event: ${event.type}\n`}data: ${JSON.stringify(event)}\n\n`,
      )
    if (isAnthropic) for (const event of ANTHROPIC_START) send(event)
    const chunk = isAnthropic ? anthropic : url.includes('oogle') ? google : openai
    for (const word of fails === 'no' ? WORDS : WORDS.slice(0, 2)) send(chunk(word))
    if (fails === 'waits') return
    if (fails === 'reset') return void setImmediate(() => response.destroy())
    const error = { code: 503, message: 'overloaded', status: 'UNAVAILABLE' }
    if (fails === 'error') send({ ...(isAnthropic && { type: 'error' }), error })
    else if (isAnthropic) send({ type: 'message_stop' })
    response.end()
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

function guarded(gate: Partial<Gate> = {}) {
  const dispatcher = new HookDispatcher()
  dispatcher.use({ name: 'g', gates: [{ id: 'g', point: 'afterLlmCall', decide: () => {}, ...gate }] })
  return { dispatcher }
}

type Options = { dispatcher: HookDispatcher } | undefined
type Reading = { said: string[]; error?: unknown }

async function read(chunks: AsyncIterable<string>, atWord?: () => void): Promise<Reading> {
  const said: string[] = []
  try {
    for await (const text of chunks) {
      if (text !== '') said.push(text)
      if (text !== '' && said.length === 2) atWord?.()
    }
    return { said }
  } catch (error) {
    return { said, error }
  }
}

async function* texts<T>(chunks: AsyncIterable<T>, textOf: (chunk: T) => string | null | undefined) {
  for await (const chunk of chunks) yield textOf(chunk) ?? ''
}

/** A model of the AI SDK over the same provider. */
function languageModel(url: string): ai.LanguageModel {
  const doStream = async ({ abortSignal }: { abortSignal?: AbortSignal }) => {
    const { body } = await fetch(url, { signal: abortSignal ?? null })
    let buffered = ''
    const parse = (text: string, emit: (part: object) => void) => {
      const events = `${buffered}${text}`.split('\n\n')
      buffered = events.pop() ?? ''
      for (const event of events) {
        const { error, choices } = JSON.parse(event.replace(/^data: /, ''))
        if (error !== undefined) emit({ type: 'error', error: new Error(error.message) })
        else emit({ type: 'text-delta', id: '1', delta: choices[0].delta.content })
      }
    }
    const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } }
    const parts = (body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream()).pipeThrough(
      new TransformStream<string, object>({
        start: (controller) => controller.enqueue({ type: 'text-start', id: '1' }),
        transform: (text, controller) => parse(text, (part) => controller.enqueue(part)),
        flush: (controller) => {
          controller.enqueue({ type: 'text-end', id: '1' })
          controller.enqueue({ type: 'finish', finishReason: { unified: 'stop' }, usage })
        },
      }),
    )
    return { stream: parts }
  }
  return { specificationVersion: 'v4', provider: 'own', modelId: 'm', supportedUrls: {}, doStream } as never
}

/** How each SDK streams; with options it is observed. */
const SDKS: Record<string, (url: string, options: Options, signal?: AbortSignal) => AsyncIterable<string>> = {
  async *openai(url, options, signal) {
    const bare = new OpenAI({ apiKey: 'k', baseURL: `${url}/v1`, maxRetries: 0 })
    const client = options === undefined ? bare : observeOpenAI(bare, options)
    const request = {
      model: 'm',
      stream: true as const,
      messages: [{ role: 'user' as const, content: 'hi' }],
    }
    yield* texts(
      await client.chat.completions.create(request, { signal }),
      (c) => c.choices[0]?.delta.content,
    )
  },
  async *anthropic(url, options, signal) {
    const bare = new Anthropic({ apiKey: 'k', baseURL: url, maxRetries: 0 })
    const client = options === undefined ? bare : observeAnthropic(bare, options)
    const messages = [{ role: 'user' as const, content: 'hi' }]
    const request = { model: 'm', max_tokens: 9, stream: true as const, messages }
    const textOf = (event: object) => (event as { delta?: { text?: string } }).delta?.text
    yield* texts(await client.messages.create(request, { signal }), textOf)
  },
  async *google(url, options, abortSignal) {
    const bare = new GoogleGenAI({ apiKey: 'k', httpOptions: { baseUrl: `${url}/google` } })
    const client = options === undefined ? bare : observeGoogleGenAI(bare, options)
    const config = { ...(abortSignal && { abortSignal }) }
    yield* texts(
      await client.models.generateContentStream({ model: 'm', contents: 'hi', config }),
      (c) => c.text,
    )
  },
  async *'google with tools'(url, options, abortSignal) {
    const bare = new GoogleGenAI({ apiKey: 'k', httpOptions: { baseUrl: `${url}/google` } })
    const client = options === undefined ? bare : observeGoogleGenAI(bare, options)
    const tool = { tool: async () => ({ functionDeclarations: [{ name: 't' }] }), callTool: async () => [] }
    const config = { tools: [tool], ...(abortSignal && { abortSignal }) }
    yield* texts(
      await client.models.generateContentStream({ model: 'm', contents: 'hi', config }),
      (c) => c.text,
    )
  },
  async *'ai sdk'(url, options, abortSignal) {
    const { streamText } = options === undefined ? ai : observeAISDK(ai, options)
    const model = languageModel(url)
    const more = { maxRetries: 0, onError: () => {}, ...(abortSignal && { abortSignal }) }
    for await (const part of streamText({ model, prompt: 'hi', ...more }).fullStream) {
      if (part.type === 'text-delta') yield part.text
      if (part.type === 'error') throw part.error
    }
  },
  async *'openai agents'(url, options, signal) {
    const runner = new Runner({ tracingDisabled: true })
    if (options !== undefined) observeAgents(runner, options)
    const client = new OpenAI({ apiKey: 'k', baseURL: url, maxRetries: 0 })
    const agent = new Agent({ name: 'a', model: new OpenAIChatCompletionsModel(client, 'm') })
    const run = await runner.run(agent, 'hi', { stream: true, ...(signal && { signal }) })
    yield* run.toTextStream() as unknown as AsyncIterable<string>
    await run.completed
  },
}
const NAMES = Object.keys(SDKS)

describe.each(NAMES)('a stream of %s under a gate that proceeds', (name) => {
  const stream = SDKS[name] as (typeof SDKS)[string]

  it.each(['error', 'reset'] as const)('fails as it does without, and shows nothing: %s', async (fails) => {
    const bare = await read(stream(await provider(fails), undefined))
    const held = await read(stream(await provider(fails), guarded()))
    expect(bare.said.join('')).toBe('one two ')
    expect(held).toEqual({ said: [], error: expect.anything() })
    const told = ({ error }: Reading) => [(error as Error).constructor.name, (error as Error).message]
    expect(told(held)).toEqual(told(bare))
  })
})

// OpenAI's client and its agents keep the signal until the stream is read: both ways are one for them.
it.each(['openai', 'anthropic', 'google', 'ai sdk'])(
  "a stream of %s is cut by its caller's signal, also when all of it has come for a gate",
  async (name) => {
    const controller = new AbortController()
    const stream = SDKS[name] as (typeof SDKS)[string]
    const { said } = await read(stream(await provider(), guarded(), controller.signal), () =>
      controller.abort(),
    )
    expect(said.slice(0, 2)).toEqual(['one ', 'two '])
    expect(said).not.toContain('eight')
  },
)

it.each(['openai', 'anthropic', 'google', 'google with tools', 'ai sdk'])(
  "a stream of %s that is cut by its caller's signal ends as it does without a gate, whatever its reason",
  async (name) => {
    const stream = SDKS[name] as (typeof SDKS)[string]
    const cut = async (url: string, options: Options) => {
      const controller = new AbortController()
      const { error } = await read(stream(url, options, controller.signal), () =>
        controller.abort(new Error('enough')),
      )
      return error instanceof Error && [error.constructor.name, error.message]
    }
    const bare = await cut(await provider('waits'), undefined)
    expect(await cut(await provider(), guarded())).toEqual(bare)
    expect(await cut(await provider('waits'), guarded({ shadow: true }))).toEqual(bare)
  },
)

describe('a shadow gate holds nothing back', () => {
  it.each(NAMES)('%s: chunks come while the provider still streams', async (name) => {
    const stream = SDKS[name] as (typeof SDKS)[string]
    let decided = 0
    const decide = () => {
      decided++
      return deny('no')
    }
    const said: string[] = []
    for await (const text of stream(await provider('waits'), guarded({ shadow: true, decide }))) {
      if (text !== '') said.push(text)
      if (said.length === 2) break
    }
    expect(said).toEqual(['one ', 'two '])
    expect(decided).toBe(0)
  })

  it('is asked when the stream has been read', async () => {
    const payloads: unknown[] = []
    const decide: Gate['decide'] = ({ payload }) => {
      payloads.push(payload)
      return deny('no')
    }
    const { said } = await read(
      (SDKS.openai as (typeof SDKS)[string])(await provider(), guarded({ shadow: true, decide })),
    )
    expect(said).toEqual(WORDS)
    expect(payloads).toEqual([expect.objectContaining({ content: WORDS.join('') })])
  })

  it('shows what has come of an aborted run as it would be without it', async () => {
    const body = ['one ', 'two '].map((text) => `data: ${JSON.stringify(google(text))}\n\n`).join('')
    const headers = { 'content-type': 'text/event-stream' }
    const fetch = async () => new Response(body, { headers })
    const cut = async (options: Options) => {
      const controller = new AbortController()
      const { signal } = controller
      const bare = new GoogleGenAI({ apiKey: 'k', httpOptions: { fetch } as never })
      const client = options === undefined ? bare : observeGoogleGenAI(bare, options)
      const config = { abortSignal: signal }
      const ask = async () => {
        const chunks = await client.models.generateContentStream({ model: 'm', contents: 'hi', config })
        return read(
          texts(chunks, ({ text }) => {
            controller.abort()
            return text
          }),
        )
      }
      return options === undefined ? ask() : options.dispatcher.startOperation({ signal }).run(ask)
    }
    expect(await cut(guarded({ shadow: true }))).toEqual(await cut(undefined))
  })

  it('leaves asResponse() as it is', async () => {
    const bare = new OpenAI({ apiKey: 'k', baseURL: await provider(), maxRetries: 0 })
    const client = observeOpenAI(bare, guarded({ shadow: true, decide: () => deny('no') }))
    const request = { model: 'm', stream: true as const, messages: [] }
    const response = await client.chat.completions.create(request).asResponse()
    expect(await response.text()).toContain('three ')
  })
})
