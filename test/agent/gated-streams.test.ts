/**
 * The openai client under an `afterLlmCall` gate that always proceeds, beside the bare client, against a server on a
 * socket. What a caller sees is the same, but that nothing of a reply is shown before all of it has come.
 */
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type AfterLlmCallEvent, HookDispatcher, type LlmCallErrorEvent } from 'hookspan'
import { type Decision, deny, mutate, proceed } from 'hookspan/gates'
import { observeOpenAI } from 'hookspan/openai'
import OpenAI7 from 'openai'
import OpenAI6 from 'openai-6'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

type Client = OpenAI7
type Log = string[]

const words = ['one ', 'two ', 'three']
const CHAT = [
  ...words.map((content, index) => ({
    data: {
      id: 'c',
      model: 'm',
      object: 'chat.completion.chunk',
      choices: [{ index: 0, delta: { content, ...(index === 0 && { role: 'assistant' }) } }],
    },
  })),
  { data: { id: 'c', model: 'm', choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] } },
]
const item = { id: 'i', type: 'message', role: 'assistant', status: 'completed' }
const text = { type: 'output_text', text: words.join(''), annotations: [] }
const RESPONSES = [
  { type: 'response.created', response: { id: 'r', model: 'm', status: 'in_progress', output: [] } },
  { type: 'response.output_item.added', output_index: 0, item: { ...item, content: [] } },
  {
    type: 'response.content_part.added',
    output_index: 0,
    content_index: 0,
    item_id: 'i',
    part: { ...text, text: '' },
  },
  ...words.map((delta) => ({
    type: 'response.output_text.delta',
    output_index: 0,
    content_index: 0,
    item_id: 'i',
    delta,
  })),
  { type: 'response.output_text.done', output_index: 0, content_index: 0, item_id: 'i', text: text.text },
  { type: 'response.content_part.done', output_index: 0, content_index: 0, item_id: 'i', part: text },
  { type: 'response.output_item.done', output_index: 0, item: { ...item, content: [text] } },
  {
    type: 'response.completed',
    response: { id: 'r', model: 'm', status: 'completed', output: [{ ...item, content: [text] }] },
  },
].map((data, sequence_number) => ({ event: data.type, data: { ...data, sequence_number } }))

interface Sent {
  readonly event?: string
  readonly data: unknown
}

/** What the server does after so many events. */
type Then = 'ends' | 'fails' | 'breaks off' | 'talks nonsense' | 'hangs' | 'refuses'
let then: Then = 'ends'
let after = Number.POSITIVE_INFINITY
let gone: PromiseWithResolvers<void>
let hung: PromiseWithResolvers<void>

async function answer(all: readonly Sent[], response: ServerResponse): Promise<void> {
  if (then === 'refuses') {
    response.writeHead(400, { 'content-type': 'application/json' })
    return void response.end(JSON.stringify({ error: { message: 'no such model' } }))
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  const send = async ({ event, data }: Sent) => {
    response.write(`${event ? `event: ${event}\n` : ''}data: ${JSON.stringify(data)}\n\n`)
    // Each in a packet of its own: the client gives what came in one at once.
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  for (const sent of all.slice(0, after)) await send(sent)
  if (then === 'hangs') return hung.resolve()
  if (then === 'breaks off') return void response.destroy()
  if (then === 'fails') {
    const error = { message: 'overloaded', type: 'server_error', code: 'busy' }
    await send(all === CHAT ? { data: { error } } : { event: 'error', data: { type: 'error', error } })
  }
  if (then === 'talks nonsense') response.write('data: {"half\n\n')
  response.end('data: [DONE]\n\n')
}

const server = createServer((request, response) => {
  request.resume()
  response.on('close', () => gone.resolve())
  request.on('end', () => void answer(request.url?.endsWith('/responses') ? RESPONSES : CHAT, response))
})

beforeAll(() => new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve)))
afterAll(() => {
  server.closeAllConnections()
  server.close()
})

const ask = { model: 'm', messages: [{ role: 'user' as const, content: 'count' }], stream: true as const }
const request = { model: 'm', input: 'count', stream: true as const }
type Stream = AsyncIterable<unknown> & {
  controller: AbortController
  tee(): [Stream, Stream]
  toReadableStream(): ReadableStream<Uint8Array>
}
type Create = (client: Client) => Promise<Stream>
const APIS: Record<string, Create> = {
  chat: async (client) => (await client.chat.completions.create(ask)) as unknown as Stream,
  responses: async (client) => (await client.responses.create(request)) as unknown as Stream,
  'chat with its response': async (client) => {
    const { data, response } = await client.chat.completions.create(ask).withResponse()
    expect(response.status).toBe(200)
    return data as unknown as Stream
  },
}

const nameOf = (error: unknown) => `${(error as Error).constructor.name}: ${(error as Error).message}`

/** Reads to the end, and tells of each chunk and of the end. */
async function read(stream: AsyncIterable<unknown>, log: Log, onChunk = (_count: number) => false) {
  let count = 0
  try {
    for await (const chunk of stream) {
      log.push(`chunk ${JSON.stringify(chunk)}`)
      if (onChunk(++count)) break
    }
    log.push('end')
  } catch (error) {
    log.push(`read throws ${nameOf(error)}`)
  }
}

/** What a caller may do with a stream. */
const READERS: Record<string, (stream: Stream, log: Log) => Promise<void>> = {
  'reads it': (stream, log) => read(stream, log),
  'reads it twice': async (stream, log) => {
    await read(stream, log)
    await read(stream, log)
  },
  'aborts it before it reads': async (stream, log) => {
    stream.controller.abort()
    await read(stream, log)
  },
  'aborts it after the first chunk': (stream, log) =>
    read(stream, log, () => {
      stream.controller.abort()
      return false
    }),
  'leaves it after the first chunk': (stream, log) => read(stream, log, () => true),
  'tees it': async (stream, log) => {
    const [left, right] = stream.tee()
    await read(left, log)
    await read(right, log)
  },
  'makes it readable': async (stream, log) => {
    const decoder = new TextDecoder()
    const readable = stream.toReadableStream() as unknown as AsyncIterable<Uint8Array>
    const lines = (async function* () {
      for await (const bytes of readable) yield decoder.decode(bytes)
    })()
    await read(lines, log)
  },
}

interface Emitter {
  on(name: string, listener: (...told: unknown[]) => void): unknown
  done(): Promise<void>
  abort(): void
}

/** The client's helpers, which tell of a stream by events of their own. */
const HELPERS: Record<string, (client: Client, log: Log, abortAt?: string) => Promise<void>> = {
  'chat.completions.stream()': (client, log, abortAt) => {
    const { stream: _stream, ...body } = ask
    const names = ['connect', 'chunk', 'content', 'message', 'finalContent', 'error', 'abort', 'end']
    return listen(client.chat.completions.stream(body) as unknown as Emitter, names, log, abortAt)
  },
  'responses.stream()': (client, log, abortAt) => {
    const { stream: _stream, ...body } = request
    const names = ['connect', 'event', 'response.output_text.delta', 'error', 'abort', 'end']
    return listen(client.responses.stream(body) as unknown as Emitter, names, log, abortAt)
  },
}

async function listen(emitter: Emitter, names: readonly string[], log: Log, abortAt?: string): Promise<void> {
  for (const name of names) {
    emitter.on(name, (told) => {
      log.push(`${name} ${told instanceof Error ? nameOf(told) : JSON.stringify(told)}`)
      if (name === abortAt) emitter.abort()
    })
  }
  await emitter.done().catch((error: unknown) => log.push(`done rejects ${nameOf(error)}`))
}

const upToFirst = (line: string, index: number) => !isShown(line) || index === 1
const isShown = (line: string) => /^(chunk|content|event|response\.)/.test(line)

describe.each([
  ['6', OpenAI6 as unknown as typeof OpenAI7],
  ['7', OpenAI7],
])('the client of openai %s', (_major, OpenAI) => {
  function clientOf(decide?: () => Decision | Promise<Decision>) {
    const { port } = server.address() as AddressInfo
    const bare = new OpenAI({
      apiKey: 'k',
      baseURL: `http://127.0.0.1:${port}/v1`,
      maxRetries: 0,
      logLevel: 'off',
    })
    const told: (AfterLlmCallEvent | LlmCallErrorEvent)[] = []
    if (decide === undefined) return { client: bare, told, dispatcher: undefined }
    const dispatcher = new HookDispatcher()
    dispatcher.use({
      name: 'gated',
      gates: [{ id: 'g', point: 'afterLlmCall', decide }],
      hooks: [
        { id: 'a', type: 'afterLlmCall', handler: (event) => void told.push(event) },
        { id: 'e', type: 'onLlmCallError', handler: (event) => void told.push(event) },
      ],
    })
    return { client: observeOpenAI(bare, { dispatcher }) as Client, told, dispatcher }
  }

  async function logOf(act: (client: Client, log: Log) => Promise<void>, decide?: () => Decision) {
    const { client, told, dispatcher } = clientOf(decide)
    const log: Log = []
    gone = Promise.withResolvers()
    hung = Promise.withResolvers()
    await act(client, log)
    if (dispatcher !== undefined) await expect.poll(() => dispatcher.stats().operations).toBe(0)
    return { log, told }
  }

  /** What the caller saw of the bare client, of the gated one, and what its hooks were told. */
  async function compare(act: (client: Client, log: Log) => Promise<void>) {
    const bare = await logOf(act)
    const gated = await logOf(act, () => proceed())
    return { bare: bare.log, gated: gated.log, told: gated.told }
  }

  const using = (api: string, reader: string) => async (client: Client, log: Log) => {
    let stream: Stream
    try {
      stream = await (APIS[api] as Create)(client)
    } catch (error) {
      return void log.push(`create throws ${nameOf(error)}`)
    }
    log.push('created')
    await READERS[reader]?.(stream, log)
    log.push(`aborted: ${stream.controller.signal.aborted && !reader.startsWith('leaves')}`)
  }

  describe.each(Object.keys(APIS))('%s', (api) => {
    it.each(Object.keys(READERS))(
      'gives the same chunks and the same end when its caller %s',
      async (reader) => {
        ;[then, after] = ['ends', Number.POSITIVE_INFINITY]
        const { bare, gated } = await compare(using(api, reader))

        // What came in one packet with the first chunk is given by the bare client, too.
        const wanted = reader.startsWith('aborts it after') ? bare.filter(upToFirst) : bare
        expect(gated).toEqual(wanted)
        expect(bare[0]).toBe('created')
      },
    )

    it.each(['fails', 'breaks off', 'talks nonsense'] as const)(
      'rejects the first read, and not the call, when the provider %s in mid-stream',
      async (what) => {
        ;[then, after] = [what, api.startsWith('chat') ? 2 : 5]
        const { bare, gated, told } = await compare(using(api, 'reads it'))

        expect(bare.filter(isShown).length).toBeGreaterThan(1)
        expect(bare.some((line) => line.startsWith('read throws'))).toBe(true)
        expect(gated).toEqual(bare.filter((line) => !isShown(line)))
        expect(told).toMatchObject([
          {
            hookType: 'onLlmCallError',
            response: { content: 'one two ' },
            timeToFirstChunkMs: expect.any(Number),
          },
        ])
      },
    )

    it('throws at the call what the provider says before the stream', async () => {
      then = 'refuses'
      const { bare, gated } = await compare(using(api, 'reads it'))

      expect(gated).toEqual(bare)
      expect(bare[0]).toMatch(/^create throws .*no such model/)
    })

    it('ends at an abort while its reader waits, and the request with it', async () => {
      ;[then, after] = ['hangs', api.startsWith('chat') ? 2 : 5]
      const { bare, gated, told } = await compare(async (client, log) => {
        const stream = await (APIS[api] as Create)(client)
        const reading = read(stream, log)
        await hung.promise
        // What was sent is here: the server is in this process, too.
        await new Promise((resolve) => setTimeout(resolve, 100))
        stream.controller.abort()
        await reading
        await gone.promise
      })

      expect(bare.at(-1)).toBe('end')
      expect(gated).toEqual(['end'])
      expect(told).toMatchObject([
        { hookType: 'afterLlmCall', streamEnd: 'abandoned', response: { content: 'one two ' } },
      ])
    })

    it('ends at an abort while the gate decides, and shows nothing of it', async () => {
      ;[then, after] = ['ends', Number.POSITIVE_INFINITY]
      const asked = Promise.withResolvers<void>()
      const { client, told } = clientOf(async () => {
        asked.resolve()
        return new Promise<Decision>(() => {})
      })
      const log: Log = []
      const stream = await (APIS[api] as Create)(client)
      const reading = read(stream, log)
      await asked.promise
      stream.controller.abort()
      await reading

      expect(log).toEqual(['end'])
      expect(told).toMatchObject([{ streamEnd: 'abandoned', response: { content: 'one two three' } }])
    })

    it('gives what a gate puts in its place, and is told as that, paid for as what it was', async () => {
      ;[then, after] = ['ends', Number.POSITIVE_INFINITY]
      for (const decide of [() => deny('withheld'), () => mutate({ content: 'withheld' })]) {
        const { log, told } = await logOf(using(api, 'reads it'), decide)

        expect(log.join()).toContain('withheld')
        expect(log.join()).not.toContain('two')
        expect(log.slice(-2)).toEqual(['end', 'aborted: false'])
        expect(told).toMatchObject([{ streamEnd: 'finished', response: { content: 'withheld' } }])
      }
    })
  })

  describe.each(Object.keys(HELPERS))('%s', (name) => {
    const help = HELPERS[name] as (typeof HELPERS)[string]

    it('tells the same events in the same order', async () => {
      ;[then, after] = ['ends', Number.POSITIVE_INFINITY]
      const { bare, gated } = await compare(help)

      expect(gated).toEqual(bare)
      expect(bare.filter(isShown).length).toBeGreaterThan(3)
      expect(bare.at(-1)).toMatch(/^end/)
    })

    it.each(['fails', 'breaks off'] as const)('tells the same error when the provider %s', async (what) => {
      ;[then, after] = [what, name.startsWith('chat') ? 2 : 5]
      const { bare, gated } = await compare(help)

      expect(bare.some((line) => line.startsWith('error'))).toBe(true)
      expect(gated).toEqual(bare.filter((line) => !isShown(line)))
    })

    it.each(['connect', 'chunk', 'event'])('tells the same when it is aborted at %s', async (at) => {
      ;[then, after] = ['ends', Number.POSITIVE_INFINITY]
      const { bare, gated } = await compare((client, log) => help(client, log, at))

      // What came in one packet with what it was aborted at is told by the bare client, too.
      const upToAbort = (lines: Log) => {
        const abortedAt = lines.findIndex((line) => line.startsWith(`${at} `))
        return lines.filter((line, index) => !isShown(line) || abortedAt === -1 || index <= abortedAt)
      }
      expect(upToAbort(gated)).toEqual(upToAbort(bare))
    })
  })
})
