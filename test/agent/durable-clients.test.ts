/** What an observed client is asked in a durable loop is kept: an attempt that goes on asks no model again. */
import Anthropic from '@anthropic-ai/sdk'
import { GoogleGenAI } from '@google/genai'
import { HookDispatcher } from 'hookspan'
import { observeAnthropic } from 'hookspan/anthropic'
import { type Gate, gateAt, skip } from 'hookspan/gates'
import { observeGoogleGenAI } from 'hookspan/google-genai'
import { scriptedFetch } from 'hookspan/mock'
import { observeOpenAI } from 'hookspan/openai'
import OpenAI from 'openai'
import { expect, it } from 'vitest'
import type { DurableLoop } from '../../src/durable/loop-run.ts'
import { DURABLE_FIELDS, type DurableAgentOptions } from '../../src/durable/options.ts'
import { DurableRuns } from '../../src/durable/runs.ts'
import { Journal, MemoryEngine } from './durable-model/engine.ts'

const messages = [{ role: 'user' as const, content: 'hi' }]
const model = 'm'

type Fetch = ReturnType<typeof scriptedFetch>
type Say = (dispatcher: HookDispatcher, fetch: Fetch) => Promise<unknown>

const openai = (dispatcher: HookDispatcher, fetch: Fetch) =>
  observeOpenAI(new OpenAI({ apiKey: 'k', fetch }), { dispatcher })
const anthropic = (dispatcher: HookDispatcher, fetch: Fetch) =>
  observeAnthropic(new Anthropic({ apiKey: 'k', fetch }), { dispatcher })
const google = (dispatcher: HookDispatcher, fetch: Fetch) =>
  observeGoogleGenAI(new GoogleGenAI({ apiKey: 'k', httpOptions: { fetch } as never }), { dispatcher })

async function all(stream: AsyncIterable<unknown>): Promise<unknown[]> {
  const read: unknown[] = []
  for await (const chunk of stream) read.push(chunk)
  return read
}

const USES: Readonly<Record<string, Say>> = {
  'chat completions': async (...on) =>
    (await openai(...on).chat.completions.create({ model, messages })).choices[0]?.message.content,
  'chat completions, parsed': async (...on) =>
    (await openai(...on).chat.completions.parse({ model, messages })).choices[0]?.message.content,
  'chat completions as they come': async (...on) =>
    all(await openai(...on).chat.completions.create({ model, messages, stream: true })),
  'the stream helper': async (...on) =>
    openai(...on)
      .chat.completions.stream({ model, messages })
      .finalContent(),
  responses: async (...on) => (await openai(...on).responses.create({ model, input: 'hi' })).output_text,
  'responses as they come': async (...on) =>
    all(await openai(...on).responses.create({ model, input: 'hi', stream: true })),
  'the response as it is': async (...on) =>
    (
      await openai(...on)
        .chat.completions.create({ model, messages })
        .asResponse()
    ).json(),
  messages: async (...on) =>
    (await anthropic(...on).messages.create({ model, messages, max_tokens: 9 })).content,
  'messages as they come': async (...on) =>
    all(await anthropic(...on).messages.create({ model, messages, max_tokens: 9, stream: true })),
  'the message stream': async (...on) =>
    (
      await anthropic(...on)
        .messages.stream({ model, messages, max_tokens: 9 })
        .finalMessage()
    ).content,
  generateContent: async (...on) =>
    (await google(...on).models.generateContent({ model, contents: 'hi' })).text,
  generateContentStream: async (...on) => {
    const chunks = await all(await google(...on).models.generateContentStream({ model, contents: 'hi' }))
    return chunks.map((chunk) => (chunk as { text?: string }).text).join('')
  },
  interactions: async (...on) =>
    (await google(...on).interactions.create({ model, input: 'hi' })).output_text,
  'interactions as they come': async (...on) =>
    all((await google(...on).interactions.create({ model, input: 'hi', stream: true })) as never),
}

/** Dies once the engine has what was said, and goes on in another process. */
async function saidAfterwards(say: Say, fetch: Fetch, gates: Gate[] = []): Promise<unknown[]> {
  const journal = new Journal()
  const seen: unknown[] = []

  const attempt = async (dies: boolean) => {
    const dispatcher = new HookDispatcher()
    if (gates.length > 0) dispatcher.use({ name: 'guards', gates })
    const over = Promise.withResolvers<'died'>()
    let records = 0
    const engine = new MemoryEngine(journal, {
      suspends: false,
      forgets: false,
      moment: async (what) => {
        // The first of them is that the run has begun.
        if (!dies || what !== 'after a record' || records++ === 0) return
        over.resolve('died')
        await new Promise(() => {})
      },
      wait: async () => {},
      suspend: () => {},
      hasLost: () => false,
    })
    const agent: DurableLoop = (run) =>
      run.step(async () => {
        const said = await say(dispatcher, fetch)
        seen.push(JSON.parse(JSON.stringify(said)))
        return said
      }) as never
    const options: DurableAgentOptions = { name: 'support', dispatcher, agent } as never
    const runs = DurableRuns.of(options, DURABLE_FIELDS, () => undefined)
    return Promise.race([runs.run(engine, 'run-1', { prompt: 'go' }), over.promise])
  }

  expect(await attempt(true)).toBe('died')
  expect(await attempt(false)).toMatchObject({ reason: 'done' })
  return seen
}

it.each(Object.entries(USES))('%s', async (_name, say) => {
  const fetch = scriptedFetch({ steps: [{ content: 'Hello.' }] })
  const seen = await saidAfterwards(say, fetch)
  expect(seen).toHaveLength(1)
  expect(JSON.stringify(seen[0])).toContain('Hello.')
  expect(fetch.requests).toHaveLength(1)
})

it.each(
  Object.entries(USES).flatMap(([name, say]) => [
    { name, say, what: 'a gate that answers', point: 'beforeLlmCall' as const },
    { name, say, what: 'a gate that changes the reply', point: 'afterLlmCall' as const },
  ]),
)('$name, with $what', async ({ say, point }) => {
  const fetch = scriptedFetch({ steps: [{ content: 'Hello.' }] })
  const gates = [gateAt(point, { id: 'guard', decide: () => skip({ content: 'Instead.' }) })]
  const seen = await saidAfterwards(say, fetch, gates)
  expect(seen).toHaveLength(1)
  expect(JSON.stringify(seen[0])).toContain('Instead.')
  expect(JSON.stringify(seen[0])).not.toContain('Hello.')
  expect(fetch.requests).toHaveLength(point === 'afterLlmCall' ? 1 : 0)
})
