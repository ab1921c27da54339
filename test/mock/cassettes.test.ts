import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type ModelStep, scriptedModel } from 'hookspan/mock'
import OpenAI, { APIError } from 'openai'
import { describe, expect, it } from 'vitest'
import { recordingsFolder } from '../support/recordings-folder.ts'

interface Interaction {
  request: { method: string; uri: string; parsed_body?: Record<string, unknown> }
  response: {
    status: { code: number }
    headers: Record<string, string[]>
    parsed_body?: unknown
    body?: { string: string }
  }
}

interface Exchange {
  api: 'chat' | 'responses'
  ask: Record<string, unknown>
  status: number
  contentType: string
  body: string
}

const folder = recordingsFolder()
const cassettes =
  folder === undefined
    ? []
    : readdirSync(join(folder, 'llm-cassettes')).filter((file) => file.endsWith('.json'))

function exchangesOf(file: string): Exchange[] {
  const { interactions } = JSON.parse(
    readFileSync(join(folder as string, 'llm-cassettes', file), 'utf8'),
  ) as { interactions: Interaction[] }
  return interactions.flatMap(({ request, response }): Exchange[] => {
    const path = new URL(request.uri).pathname
    const api = path.endsWith('/chat/completions')
      ? 'chat'
      : path.endsWith('/responses')
        ? 'responses'
        : undefined
    const body =
      response.body?.string ??
      (response.parsed_body === undefined ? undefined : JSON.stringify(response.parsed_body))
    if (
      api === undefined ||
      request.method !== 'POST' ||
      request.parsed_body === undefined ||
      body === undefined
    )
      return []
    const contentType = response.headers['content-type']?.[0] ?? 'application/json'
    return [{ api, ask: request.parsed_body, status: response.status.code, contentType, body }]
  })
}

const isStream = ({ contentType }: Exchange) => contentType.startsWith('text/event-stream')

const toStep = ({ ask, status, contentType, body }: Exchange): ModelStep => ({
  raw: { body, status, contentType },
  expects: { model: ask.model, body: { stream: ask.stream } },
})

/** What the recording says that a client has to see. */
function wanted(exchange: Exchange): unknown {
  if (exchange.status >= 400) return { status: exchange.status }
  if (!isStream(exchange)) return JSON.parse(exchange.body)
  return exchange.body
    .split(/\r?\n/)
    .filter((line) => line.startsWith('data: ') && line !== 'data: [DONE]')
    .map((line) => JSON.parse(line.slice(6)))
}

async function seen(client: OpenAI, { api, ask }: Exchange): Promise<unknown> {
  try {
    const reply: unknown =
      api === 'chat'
        ? await client.chat.completions.create(ask as never)
        : await client.responses.create(ask as never)
    if (ask.stream !== true) return JSON.parse(JSON.stringify(reply))
    const events: unknown[] = []
    for await (const event of reply as AsyncIterable<unknown>) events.push(event)
    return events
  } catch (error) {
    if (error instanceof APIError) return { status: error.status }
    throw error
  }
}

/** The client adds a convenience to responses. */
function withoutExtras(reply: unknown): unknown {
  if (typeof reply !== 'object' || reply === null || Array.isArray(reply)) return reply
  const { output_text: _text, ...rest } = reply as Record<string, unknown>
  return rest
}

describe.skipIf(folder === undefined)('recorded traffic of OpenAI-format models', () => {
  const files = cassettes.filter((file) => exchangesOf(file).length > 0)

  it.each(files)('is replayed through the scripted model and the openai client: %s', async (file) => {
    const exchanges = exchangesOf(file)
    const model = scriptedModel(exchanges.map(toStep))
    const inProcess = new OpenAI(model.clientOptions)
    for (const exchange of exchanges)
      expect(withoutExtras(await seen(inProcess, exchange))).toEqual(withoutExtras(wanted(exchange)))
    model.assertDone()

    const remote = scriptedModel(exchanges.map(toStep))
    const server = await remote.listen()
    const client = new OpenAI({ apiKey: 'k', baseURL: server.baseURL, maxRetries: 0 })
    for (const exchange of exchanges)
      expect(withoutExtras(await seen(client, exchange))).toEqual(withoutExtras(wanted(exchange)))
    remote.assertDone()
    await server.close()
  })

  it('is of both APIs, streamed and not, with errors', () => {
    const all = files.flatMap(exchangesOf)
    const count = (test: (exchange: Exchange) => boolean) => all.filter(test).length
    expect(count(({ api }) => api === 'chat')).toBeGreaterThan(40)
    expect(count(({ api }) => api === 'responses')).toBeGreaterThan(40)
    expect(count(isStream)).toBeGreaterThan(10)
    expect(count(({ status }) => status >= 400)).toBeGreaterThan(5)
  })
})
