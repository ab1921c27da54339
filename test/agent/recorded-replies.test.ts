import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type AfterLlmCallEvent, HookDispatcher, type LlmCallErrorEvent } from 'hookspan'
import { execAgent } from 'hookspan/agent'
import { observeOpenAI } from 'hookspan/openai'
import OpenAI from 'openai'
import { describe, expect, it } from 'vitest'
import { recordingsFolder } from '../support/recordings-folder.ts'

type Loose = Record<string, unknown>

interface Interaction {
  readonly request: { readonly uri: string; readonly parsed_body?: Loose }
  readonly response: {
    readonly status: { readonly code: number }
    readonly parsed_body?: Loose
    readonly body?: { readonly string?: string }
  }
}

const folder = recordingsFolder()

function recordings(route: RegExp): [string, Interaction][] {
  if (folder === undefined) return []
  return ['llm-cassettes', 'compaction-cassettes'].flatMap((set) =>
    readdirSync(join(folder, set))
      .filter((name) => name.endsWith('.json'))
      .flatMap((name) => {
        const { interactions } = JSON.parse(readFileSync(join(folder, set, name), 'utf8')) as {
          interactions: Interaction[]
        }
        return interactions
          .map((interaction, index): [string, Interaction] => [`${name} #${index}`, interaction])
          .filter(([, { request }]) => route.test(request.uri.split('?')[0] ?? ''))
      }),
  )
}

/** The real client, which gets the recorded answer whatever it asks. */
function clientOf({ request, response }: Interaction, route: RegExp): OpenAI {
  const { status, parsed_body, body } = response
  const streamed = parsed_body === undefined || parsed_body === null
  const fetch = async () =>
    new Response(streamed ? (body?.string ?? '') : JSON.stringify(parsed_body), {
      status: status.code,
      headers: { 'content-type': streamed ? 'text/event-stream' : 'application/json' },
    })
  return new OpenAI({ apiKey: 'k', baseURL: request.uri.replace(route, ''), fetch, maxRetries: 0 })
}

function observed(client: OpenAI) {
  const dispatcher = new HookDispatcher()
  const after: AfterLlmCallEvent[] = []
  const failed: LlmCallErrorEvent[] = []
  dispatcher.use({
    name: 'events',
    hooks: [
      { id: 'a', type: 'afterLlmCall', handler: (event) => void after.push(event) },
      { id: 'f', type: 'onLlmCallError', handler: (event) => void failed.push(event) },
    ],
  })
  return { client: observeOpenAI(client, { dispatcher }), after, failed }
}

interface MessageCounts {
  readonly input_tokens?: number
  readonly cache_read_input_tokens?: number
  readonly cache_creation_input_tokens?: number
  readonly output_tokens: number
}

const sum = (numbers: readonly number[]) => numbers.reduce((all, one) => all + one, 0)

const settled = () => new Promise((resolve) => setImmediate(() => setImmediate(resolve)))

/** The arguments as a value, and as the model wrote them where the value does not say it exactly. */
function argumentsOf(text: string): { args: unknown; argsText?: string } {
  const args = parsed(text)
  return text === args || text === JSON.stringify(args) ? { args } : { args, argsText: text }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text || '{}')
  } catch {
    return text
  }
}

/** What some servers count, and the client's types do not name. */
type Counts = { readonly cache_write_tokens?: number } | undefined

/** What the bodies of the two APIs say, in hookspan's words, read here once more in the plainest way. */
function chatTruth(body: OpenAI.ChatCompletion) {
  const choice = body.choices[0]
  const calls = choice?.message.tool_calls ?? []
  const { total_tokens: total = 0, prompt_tokens: asked = 0, completion_tokens: said = 0 } = body.usage ?? {}
  // Gemini has what it thought in the total alone.
  const thought = body.model.includes('gemini') && total > asked + said ? total - asked - said : undefined
  return {
    response: {
      id: body.id || undefined,
      model: body.model,
      content: choice?.message.content ?? undefined,
      finishReasons: choice?.finish_reason ? [choice.finish_reason] : undefined,
      toolCalls: some(
        calls.flatMap((call) =>
          call.type === 'custom'
            ? []
            : [
                {
                  toolCallId: call.id ?? '',
                  apiName: call.function.name,
                  ...argumentsOf(call.function.arguments),
                },
              ],
        ),
      ),
    },
    usage: body.usage && {
      inputTokens: body.usage.prompt_tokens,
      outputTokens: body.usage.completion_tokens + (thought ?? 0),
      cachedInputTokens: body.usage.prompt_tokens_details?.cached_tokens,
      cacheCreationInputTokens: (body.usage.prompt_tokens_details as Counts)?.cache_write_tokens,
      reasoningTokens: thought ?? body.usage.completion_tokens_details?.reasoning_tokens,
    },
  }
}

function responseTruth(body: OpenAI.Responses.Response) {
  const texts = body.output.flatMap((item) =>
    item.type === 'message' ? item.content.map((part) => (part.type === 'output_text' ? part.text : '')) : [],
  )
  const calls = body.output.flatMap((item) =>
    item.type === 'function_call'
      ? [{ toolCallId: item.call_id, apiName: item.name, ...argumentsOf(item.arguments) }]
      : [],
  )
  return {
    response: {
      id: body.id,
      model: body.model,
      content: texts.length > 0 ? texts.join('') : undefined,
      toolCalls: some(calls),
    },
    usage: body.usage && {
      inputTokens: body.usage.input_tokens,
      outputTokens: body.usage.output_tokens,
      cachedInputTokens: body.usage.input_tokens_details?.cached_tokens,
      cacheCreationInputTokens: (body.usage.input_tokens_details as Counts)?.cache_write_tokens,
      reasoningTokens: body.usage.output_tokens_details?.reasoning_tokens,
    },
  }
}

/** The message that a stream of Anthropic's events makes. */
function anthropicMessage(events: readonly Loose[]): Loose {
  const message = events.find((event) => event.type === 'message_start')?.message as Loose
  const content: Loose[] = []
  let end: Loose = {}
  for (const event of events) {
    const index = event.index as number
    const delta = event.delta as Loose | undefined
    if (event.type === 'content_block_start') content[index] = { ...(event.content_block as Loose), json: '' }
    if (delta?.type === 'text_delta') content[index]!.text = `${content[index]!.text}${delta.text}`
    if (delta?.type === 'input_json_delta')
      content[index]!.json = `${content[index]!.json}${delta.partial_json}`
    if (event.type === 'message_delta') end = event
  }
  const blocks = content.map((block) =>
    block.json ? { ...block, input: parsed(String(block.json)) } : block,
  )
  const { stop_reason } = end.delta as Loose
  return { content: blocks, stop_reason, usage: { ...(message.usage as Loose), ...(end.usage as Loose) } }
}

function some<T>(list: T[]): T[] | undefined {
  return list.length > 0 ? list : undefined
}

/** Absent and undefined are the same here. */
const plain = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T

const CHAT = /\/chat\/completions$/
const RESPONSES = /\/responses$/

describe.skipIf(folder === undefined)('real replies of models', () => {
  it.each(recordings(CHAT))('chat completions: %s', async (_name, interaction) => {
    const { client, after, failed } = observed(clientOf(interaction, CHAT))
    const request = interaction.request.parsed_body as never as OpenAI.ChatCompletionCreateParams
    const status = interaction.response.status.code
    if (status >= 400) {
      await expect(client.chat.completions.create(request)).rejects.toMatchObject({ status })
      await settled()
      expect(failed).toMatchObject([{ errorType: String(status) }])
      return
    }
    let truth: OpenAI.ChatCompletion
    if (request.stream) {
      for await (const _chunk of await client.chat.completions.create({ ...request, stream: true }));
      truth = await clientOf(interaction, CHAT)
        .chat.completions.stream(request as never)
        .finalChatCompletion()
    } else {
      truth = (await client.chat.completions.create(request)) as OpenAI.ChatCompletion
      expect(truth).toEqual(interaction.response.parsed_body)
    }
    await settled()
    expect(failed).toEqual([])
    const expected = plain(chatTruth(truth))
    expect(after).toHaveLength(1)
    const { reasoning: _reasoning, refusal: _refusal, ...response } = after[0]?.response ?? {}
    expect(plain({ response, usage: after[0]?.usage })).toEqual(expected)
  })

  it.each(recordings(RESPONSES))('responses: %s', async (_name, interaction) => {
    const { client, after, failed } = observed(clientOf(interaction, RESPONSES))
    const request = interaction.request.parsed_body as never as OpenAI.Responses.ResponseCreateParams
    const status = interaction.response.status.code
    if (status >= 400) {
      await expect(client.responses.create(request)).rejects.toMatchObject({ status })
      await settled()
      expect(failed).toMatchObject([{ errorType: String(status) }])
      return
    }
    let truth: OpenAI.Responses.Response | undefined
    if (request.stream) {
      for await (const event of await client.responses.create({ ...request, stream: true })) {
        if (event.type === 'response.completed') truth = event.response
      }
    } else {
      truth = (await client.responses.create(request)) as OpenAI.Responses.Response
    }
    await settled()
    expect(failed).toEqual([])
    expect(after).toHaveLength(1)
    const {
      reasoning: _reasoning,
      refusal: _refusal,
      providerToolCalls: _run,
      parts: _parts,
      finishReasons,
      ...response
    } = after[0]?.response ?? {}
    expect(plain({ response, usage: after[0]?.usage })).toEqual(plain(responseTruth(truth!)))
    expect(finishReasons).toEqual([response.toolCalls === undefined ? 'stop' : 'tool_calls'])
  })

  it.each(
    [...recordings(CHAT), ...recordings(RESPONSES)].filter(
      ([, { response }]) => response.status.code === 200,
    ),
  )('an agent goes on from it: %s', async (_name, interaction) => {
    const api = CHAT.test(interaction.request.uri) ? 'chat' : 'responses'
    const client = clientOf(interaction, api === 'chat' ? CHAT : RESPONSES)
    const stream = interaction.response.parsed_body === undefined
    const dispatcher = new HookDispatcher()
    const replies: AfterLlmCallEvent[] = []
    dispatcher.use({
      name: 'events',
      hooks: [{ id: 'a', type: 'afterLlmCall', handler: (event) => void replies.push(event) }],
    })
    const agent = { name: 'a', model: 'm', api, stream, maxSteps: 1 } as const
    const run = await execAgent({ agent, prompt: 'x', client, dispatcher, priceOf: () => 0 })

    const { content = '', toolCalls = [], refusal = '' } = replies[0]?.response ?? {}
    expect(run).toMatchObject({ reason: toolCalls.length > 0 ? 'max_steps' : 'done', steps: 1 })
    expect(run.content).toBe(content || refusal)
    const results = run.messages.filter(
      ({ role, type }) => role === 'tool' || type === 'function_call_output',
    )
    const ids = results.map((result) => (result as Loose).tool_call_id ?? (result as Loose).call_id)
    expect(ids).toHaveLength(toolCalls.length)
    expect(ids.every((id) => typeof id === 'string' && id !== '')).toBe(true)
  })

  it.each(recordings(/anthropic\.com\/v1\/messages$/))(
    'messages of Anthropic: %s',
    async (_name, interaction) => {
      const { status, parsed_body, body } = interaction.response
      if (status.code !== 200) return
      const lines = (body?.string ?? '').split('\n').filter((line) => line.startsWith('data: {'))
      const events = lines.map((line) => JSON.parse(line.slice(6)) as Loose)
      async function* stream() {
        yield* events
      }
      const seen: AfterLlmCallEvent[] = []
      const op = new HookDispatcher().startOperation({
        hooks: [{ id: 'a', type: 'afterLlmCall', handler: (event) => void seen.push(event) }],
      })
      const reply = await op.llmCall<unknown>({ model: 'm', request: {} }, () => parsed_body ?? stream())
      if (parsed_body === undefined) for await (const _event of reply as ReturnType<typeof stream>);

      const message = (parsed_body ?? anthropicMessage(events)) as {
        content: { type: string; text?: string; id?: string; name?: string; input?: unknown }[]
        usage: MessageCounts & { iterations?: (MessageCounts & { type: string })[] }
        stop_reason: string
      }
      const texts = message.content.filter((block) => block.type === 'text').map((block) => block.text)
      const calls = message.content.filter((block) => block.type === 'tool_use')
      // What a compaction took stands in no total.
      const beside = message.usage.iterations?.filter(({ type }) => type === 'compaction') ?? []
      const counted = [message.usage, ...beside]
      const inputTokens = counted.map(
        ({ input_tokens = 0, cache_read_input_tokens: read = 0, cache_creation_input_tokens: written = 0 }) =>
          input_tokens + read + written,
      )
      expect(seen).toMatchObject([
        {
          response: { finishReasons: [message.stop_reason] },
          usage: {
            inputTokens: sum(inputTokens),
            outputTokens: sum(counted.map(({ output_tokens }) => output_tokens)),
          },
        },
      ])
      expect(seen[0]?.response.content).toBe(texts.length > 0 ? texts.join('') : undefined)
      expect(seen[0]?.response.toolCalls).toEqual(
        some(calls.map(({ id, name, input }) => ({ toolCallId: id, apiName: name, args: input }))),
      )
    },
  )

  it('are all there', () => {
    expect(recordings(CHAT)).toHaveLength(68)
    expect(recordings(RESPONSES)).toHaveLength(76)
  })
})
