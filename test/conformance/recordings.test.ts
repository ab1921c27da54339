/** Every recorded run, replayed, and every recorded exchange with a model, on an observed client. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import Anthropic from '@anthropic-ai/sdk'
import { GoogleGenAI } from '@google/genai'
import { HookDispatcher } from 'hookspan'
import { observeAnthropic } from 'hookspan/anthropic'
import { observeGoogleGenAI } from 'hookspan/google-genai'
import { scriptedFetch } from 'hookspan/mock'
import { observeOpenAI } from 'hookspan/openai'
import { traceHooks } from 'hookspan/tracing'
import OpenAI from 'openai'
import { expect, it, onTestFinished, vi } from 'vitest'
import { operationIdsOf } from '../../src/cli/replay/operation-ids.ts'
import { readRecordings } from '../../src/cli/replay/recordings/index.ts'
import { replayRun } from '../../src/cli/replay/replay-run.ts'
import { ServedTurns } from '../../src/cli/replay/served-turns.ts'
import { type Exchange, exchanges } from '../support/cassettes.ts'
import { recordingsFolder } from '../support/recordings-folder.ts'
import { PROFILES, violationsOf, watchDispatchers } from './watch.ts'

const folder = recordingsFolder()
const FILES = ['tau-bench', 'tau2-bench', 'swe-agent'].flatMap((set) =>
  folder === undefined
    ? []
    : readdirSync(join(folder, set))
        .filter((file) => /\.(json|traj)$/.test(file))
        .map((file) => `${set}/${file}`),
)
const EXCHANGES = exchanges()

/** One watch for all, read and checked file by file. */
const seen = watchDispatchers({ HookDispatcher, traceHooks })

it.skipIf(!folder)('the recordings are here', () => {
  expect(FILES.length).toBeGreaterThan(15)
  expect(EXCHANGES.length).toBeGreaterThan(250)
})

it.skipIf(!folder).each(FILES)('has no violation in %s, replayed', { timeout: 300_000 }, async (file) => {
  const runs = await readRecordings(join(folder as string, file))
  expect(runs.length).toBeGreaterThan(0)
  const ids = operationIdsOf(runs)
  const turns = new ServedTurns()
  const fetch = scriptedFetch({ respond: turns.respond, recordRequests: false })
  const client = new OpenAI({ apiKey: 'x', fetch })
  const dispatcher = new HookDispatcher()
  for (const run of runs) {
    const operationId = ids.get(run) as string
    turns.add(operationId, run)
    await replayRun(run, { dispatcher, client, operationId, captureContent: true })
  }
  const told = seen.take()
  for (const profile of PROFILES) {
    const { spans, metrics } = told[profile]
    expect(spans.filter(({ name }) => name.startsWith('invoke_agent')).length).toBeGreaterThanOrEqual(
      runs.length,
    )
    expect(metrics.map(({ name }) => name)).toContain('gen_ai.invoke_agent.duration')
  }
  expect(violationsOf(told)).toEqual([])
})

/** Asks what was asked, by the client that is for it. Undefined for what no adapter observes. */
function ask({ url, request }: Exchange, dispatcher: HookDispatcher, fetch: typeof globalThis.fetch) {
  const path = url.pathname
  const baseURL = `${url.origin}${path.replace(/\/(chat\/completions|responses)$/, '')}`
  const openai = () =>
    observeOpenAI(new OpenAI({ apiKey: 'x', baseURL, fetch, maxRetries: 0 }), { dispatcher })
  if (path.endsWith('/chat/completions')) return openai().chat.completions.create(request as never)
  if (path.endsWith('/responses')) return openai().responses.create(request as never)
  if (path.endsWith('/v1/messages')) {
    const options = { apiKey: 'x', fetch, maxRetries: 0 }
    return observeAnthropic(new Anthropic(options), { dispatcher }).beta.messages.create(request as never)
  }
  const google = /models\/([^:]+):(\w+)$/.exec(path)
  if (google === null) return undefined
  const { contents, systemInstruction, generationConfig, ...config } = request
  const ai = observeGoogleGenAI(new GoogleGenAI({ apiKey: 'x' }), { dispatcher })
  const asked = { model: google[1], contents, config: { systemInstruction, ...config } } as never
  return google[2] === 'generateContent'
    ? ai.models.generateContent(asked)
    : ai.models.generateContentStream(asked)
}

it.skipIf(!folder)('has no violation in the exchanges with models', { timeout: 300_000 }, async () => {
  // A client says of models that they will be gone.
  const warned = vi.spyOn(console, 'warn').mockReturnValue()
  onTestFinished(() => warned.mockRestore())
  const dispatcher = new HookDispatcher()
  const { fetch: real } = globalThis
  let asked = 0
  for (const exchange of EXCHANGES) {
    const fetch = async () => answerOf(exchange)
    // Google's client has no other way in.
    globalThis.fetch = fetch
    try {
      const asking = ask(exchange, dispatcher, fetch)
      if (asking === undefined) continue
      asked++
      const reply = await asking
      if (Symbol.asyncIterator in (reply as object)) for await (const _ of reply as AsyncIterable<unknown>);
    } catch (error) {
      expect(exchange.status, `${exchange.name}: ${error}`).not.toBe(200)
    } finally {
      globalThis.fetch = real
    }
  }
  const told = seen.take()
  expect(asked).toBeGreaterThan(EXCHANGES.length - 10)
  for (const profile of PROFILES) {
    expect(told[profile].spans.length).toBeGreaterThanOrEqual(asked)
    const names = told[profile].metrics.map(({ name }) => name)
    const usage =
      profile === 'latest' ? 'gen_ai.client.inference.usage.input_tokens' : 'gen_ai.client.token.usage'
    expect(names).toContain(usage)
    expect(names.some((name) => name.endsWith('time_to_first_chunk'))).toBe(true)
  }
  expect(violationsOf(told)).toEqual([])
})

function answerOf({ status, reply, chunks = [] }: Exchange): Response {
  if (reply !== undefined) return Response.json(reply, { status })
  const lines = chunks.map((chunk) => {
    const event = typeof chunk.type === 'string' ? `event: ${chunk.type}\n` : ''
    return `${event}data: ${JSON.stringify(chunk)}\n\n`
  })
  return new Response(lines.join(''), { status, headers: { 'content-type': 'text/event-stream' } })
}
