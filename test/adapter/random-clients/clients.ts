import { createRequire } from 'node:module'
import AnthropicModule from '@anthropic-ai/sdk'
import * as GoogleModule from '@google/genai'
import OpenAI7 from 'openai'
import OpenAI6 from 'openai-6'
import { type Caller, iterate, listen, read, type Streamed } from './caller.ts'
import type { Plan } from './plan.ts'

/** What a client waits for an answer that never comes. */
const TIMEOUT = 200

const require = createRequire(import.meta.url)

/** The clients of a plan, which send their requests where a header says. */
export interface Clients {
  readonly openai: OpenAI7
  readonly anthropic: AnthropicModule
  readonly google: GoogleModule.GoogleGenAI
}

const CLASSES = {
  esm: {
    6: hasty(OpenAI6 as unknown as typeof OpenAI7),
    7: hasty(OpenAI7),
    Anthropic: hasty(AnthropicModule),
    Google: GoogleModule.GoogleGenAI,
  },
  commonJs: {
    6: hasty(require('openai-6') as typeof OpenAI7),
    7: hasty(require('openai') as typeof OpenAI7),
    Anthropic: hasty(require('@anthropic-ai/sdk') as typeof AnthropicModule),
    Google: (require('@google/genai') as typeof GoogleModule).GoogleGenAI,
  },
}

export function clientsOf({ commonJs, major }: Plan, fetch: typeof globalThis.fetch): Clients {
  const classes = CLASSES[commonJs ? 'commonJs' : 'esm']
  const options = { apiKey: 'k', logLevel: 'off' as const, fetch }
  return {
    openai: new classes[major]({ ...options, baseURL: 'http://model.test/v1' }),
    anthropic: new classes.Anthropic({ ...options, baseURL: 'http://model.test' }),
    google: new classes.Google({
      apiKey: 'k',
      httpOptions: { baseUrl: 'http://model.test', fetch } as never,
    }),
  }
}

/** Its clients do not wait for half a second before they ask again. What CommonJS gives may be a function around the class. */
function hasty<T extends new (options: { apiKey: string }) => object>(Client: T): T {
  const prototype = Object.getPrototypeOf(new Client({ apiKey: 'k' }))
  Object.assign(prototype, { calculateDefaultRetryTimeoutMillis: () => 1 })
  return Client
}

const TOOL = { type: 'object' as const, properties: { q: { type: 'string' as const } }, required: ['q'] }
const found = (caller: Caller) => async (args: { q?: unknown }) => {
  caller.say(`shown tool ${JSON.stringify(args)}`)
  return `found ${String(args.q)}`
}

/** Makes the call of a plan, in its way. */
export async function call(
  caller: Caller,
  id: string,
  { openai, anthropic, google }: Clients,
): Promise<void> {
  const { api, maxRetries, timeout } = caller.plan
  const { signal } = caller
  const options = {
    headers: { 'x-case': id },
    maxRetries,
    ...(timeout && { timeout: TIMEOUT }),
    ...(signal && { signal }),
  }
  try {
    if (api === 'google') return await callGoogle(caller, id, google)
    if (api === 'interactions') return await callInteractions(caller, google, options)
    if (api === 'messages' || api === 'beta') return await callAnthropic(caller, anthropic, options)
    return await callOpenAI(caller, openai, options)
  } catch (error) {
    await caller.settled('the call', Promise.reject(error))
  }
}

interface Options {
  readonly headers: Record<string, string>
  readonly maxRetries: number
  readonly timeout?: number
  readonly signal?: AbortSignal
}

interface Promised extends Promise<unknown> {
  withResponse(): Promise<{ data: unknown; response: Response; request_id?: string | null }>
  asResponse(): Promise<Response>
}

/** Takes what a method of a client gives in the way of the plan. */
async function taken(caller: Caller, promised: Promised): Promise<void> {
  const { way, stream } = caller.plan
  const use = async (data: unknown) => {
    if (!stream) return caller.show(data)
    caller.say('created')
    await read(caller, data as Streamed)
  }
  if (way === 'asResponse') {
    const asked = promised.asResponse()
    caller.called()
    const response = await asked
    caller.say(`response ${response.status} ${response.headers.get('content-type')}`)
    return caller.settled('its text', response.text())
  }
  if (way === 'withResponse') {
    const asked = promised.withResponse()
    caller.called()
    const { data, response, request_id } = await asked
    caller.say(`response ${response.status} ${response.headers.get('x-request-id')} ${request_id}`)
    return use(data)
  }
  const asked = promised.then((data) => data)
  caller.called()
  await use(await asked)
}

const ask = [{ role: 'user' as const, content: 'What is it?' }]

async function callOpenAI(caller: Caller, client: OpenAI7, options: Options): Promise<void> {
  const { api, way, stream, said } = caller.plan
  if (api === 'completions') {
    return taken(caller, client.completions.create({ model: 'm', prompt: 'It is', stream }, options) as never)
  }
  if (api === 'responses') {
    const body = { model: 'm', input: 'What is it?' }
    if (way === 'parse') return taken(caller, client.responses.parse(body, options) as never)
    if (way === 'helper' || way === 'readable helper') {
      const helper = client.responses.stream(body, options)
      if (way === 'readable helper') return iterate(caller, helper as never)
      const names = [
        'connect',
        'event',
        'response.output_text.delta',
        'response.function_call_arguments.delta',
        'error',
        'abort',
        'end',
      ]
      return listen(caller, helper as never, names, ['finalResponse'])
    }
    return taken(caller, client.responses.create({ ...body, stream }, options) as never)
  }
  const body = {
    model: 'm',
    messages: ask,
    ...(said.choices === 2 && { n: 2 }),
    ...(said.logprobs && { logprobs: true }),
  }
  if (way === 'parse') return taken(caller, client.chat.completions.parse(body, options) as never)
  if (way === 'readable helper') {
    const helper = client.chat.completions.stream(body, options)
    if (caller.plan.reader === 'readable' || caller.plan.reader === 'cancels') {
      helper.done().catch(() => {})
      caller.called()
      return read(caller, helper as never)
    }
    return iterate(caller, helper as never)
  }
  const CHAT = [
    'connect',
    'chunk',
    'content',
    'content.delta',
    'content.done',
    'refusal.delta',
    'refusal.done',
    'logprobs.content.delta',
    'tool_calls.function.arguments.delta',
    'tool_calls.function.arguments.done',
    'message',
    'chatCompletion',
    'functionToolCall',
    'functionToolCallResult',
    'finalContent',
    'finalMessage',
    'finalChatCompletion',
    'totalUsage',
    'error',
    'abort',
    'end',
  ]
  if (way === 'helper') {
    return listen(caller, client.chat.completions.stream(body, options) as never, CHAT, [
      'finalChatCompletion',
      'finalContent',
    ])
  }
  if (way === 'tools') {
    const definition = {
      name: 'look',
      description: 'Looks.',
      parameters: TOOL,
      parse: JSON.parse,
      function: found(caller),
    }
    const tools = [{ type: 'function' as const, function: definition }]
    const runner = client.chat.completions.runTools({ ...body, stream, tools } as never, options)
    return listen(caller, runner as never, CHAT, ['finalContent'])
  }
  return taken(caller, client.chat.completions.create({ ...body, stream }, options) as never)
}

async function callAnthropic(caller: Caller, client: AnthropicModule, options: Options): Promise<void> {
  const { api, way, stream } = caller.plan
  const messages = (api === 'beta' ? client.beta.messages : client.messages) as AnthropicModule['messages']
  const body = { model: 'm', max_tokens: 99, messages: ask }
  if (way === 'parse') {
    const asked = messages.parse(body, options)
    caller.called()
    return caller.settled('parsing', asked)
  }
  if (way === 'helper' || way === 'readable helper') {
    const helper = messages.stream(body, options)
    if (way === 'readable helper') return iterate(caller, helper as never)
    const names = [
      'connect',
      'streamEvent',
      'text',
      'thinking',
      'inputJson',
      'message',
      'contentBlock',
      'finalMessage',
      'error',
      'abort',
      'end',
    ]
    return listen(caller, helper as never, names, ['finalMessage', 'finalText'])
  }
  if (way !== 'tools') return taken(caller, messages.create({ ...body, stream }, options) as never)
  const tools = [{ name: 'look', description: 'Looks.', input_schema: TOOL, run: found(caller) }]
  const runner = client.beta.messages.toolRunner(
    { ...body, stream, tools: tools as never, max_iterations: 4 },
    options,
  )
  caller.called()
  for await (const turn of runner) {
    if (stream) for await (const event of turn as never as AsyncIterable<unknown>) caller.show(event)
    else caller.show(turn)
  }
  caller.show(await runner.done())
}

async function callGoogle(caller: Caller, id: string, client: GoogleModule.GoogleGenAI): Promise<void> {
  const { way, stream, maxRetries, timeout, said } = caller.plan
  const { signal } = caller
  const retryOptions = { attempts: maxRetries + 1, initialDelay: 0.001, maxDelay: 0.002, jitter: 0 }
  const httpOptions = {
    headers: { 'x-case': id },
    ...(maxRetries > 0 && { retryOptions }),
    ...(timeout && { timeout: TIMEOUT }),
  }
  const look = found(caller)
  const tool: GoogleModule.CallableTool = {
    tool: async () => ({
      functionDeclarations: [{ name: 'look', description: 'Looks.', parametersJsonSchema: TOOL }],
    }),
    callTool: async (calls) =>
      Promise.all(
        calls
          .filter(({ name }) => name === 'look')
          .map(async ({ args = {} }) => ({
            functionResponse: { name: 'look', response: { output: await look(args) } },
          })),
      ),
  }
  const config = {
    httpOptions: httpOptions as never,
    ...(signal && { abortSignal: signal }),
    ...(said.choices === 2 && { candidateCount: 2 }),
    ...(way === 'tools' && { tools: [tool] }),
  }
  const params = { model: 'm', contents: 'What is it?', config }
  const told = (response: unknown) => {
    const { text, functionCalls, usageMetadata } = response as GoogleModule.GenerateContentResponse
    return {
      class: (response as object).constructor.name,
      text,
      functionCalls,
      usageMetadata,
      whole: response,
    }
  }
  if (!stream) {
    const asked = client.models.generateContent(params)
    caller.called()
    return caller.settled('asking', asked, (response) => caller.show(told(response)))
  }
  const asked = client.models.generateContentStream(params)
  caller.called()
  const chunks = await asked
  caller.say('created')
  await read(caller, chunks)
}

async function callInteractions(
  caller: Caller,
  client: GoogleModule.GoogleGenAI,
  { maxRetries, timeout, ...options }: Options,
): Promise<void> {
  const { stream } = caller.plan
  const backoff = { initialInterval: 1, maxInterval: 2, exponent: 1, maxElapsedTime: 1000 }
  const asked = client.interactions.create({ model: 'm', input: 'What is it?', stream } as never, {
    ...options,
    ...(timeout && { timeout_ms: timeout }),
    retries: { strategy: 'attempt-count-backoff', maxRetries, backoff, retryConnectionErrors: true },
  })
  caller.called()
  if (!stream) return caller.settled('asking', asked, (reply) => caller.show(reply))
  const events = (await asked) as unknown as Streamed
  caller.say(`created ${events.constructor.name} ${events instanceof ReadableStream}`)
  await read(caller, events)
}
