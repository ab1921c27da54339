import { describe, expect, it } from 'vitest'
import { AnyCollector, FORMATS, formatOfRequest, readReply } from '../../src/wire/formats.ts'
import { outputMessages } from '../../src/wire/parts.ts'
import type { LlmReading } from '../../src/wire/reading.ts'
import { requestContent } from '../../src/wire/request.ts'
import { type Exchange, exchanges } from '../support/cassettes.ts'
import { recordingsFolder } from '../support/recordings-folder.ts'

// biome-ignore lint/suspicious/noExplicitAny: recorded JSON of many shapes, read here once more in the plainest way.
type Any = any

const all = exchanges()
const answered = all.filter(({ status }) => status === 200)
const named = (list: readonly Exchange[]) => list.map((exchange) => [exchange.name, exchange] as const)

const ROUTES: readonly (readonly [RegExp, string])[] = [
  [/\/chat\/completions$/, 'chat'],
  [/\/responses(\/compact)?$/, 'responses'],
  [/\/v1\/messages$/, 'messages'],
  [/enerateContent$/, 'generateContent'],
]

const formatName = ({ url }: Exchange) => ROUTES.find(([route]) => route.test(url.pathname))?.[1]

function readingOf({ reply, chunks = [] }: Exchange): LlmReading {
  if (reply !== undefined) return readReply(reply)
  const collector = new AnyCollector()
  for (const chunk of chunks) collector.push(chunk)
  expect(collector.ended).toBe(true)
  return collector.read()
}

/** The reply as it would have been without streaming, put together in the plainest way. */
function wholeOf(exchange: Exchange): Any {
  const { reply, chunks = [] } = exchange as { reply?: Any; chunks?: Any[] }
  if (reply !== undefined) return reply
  switch (formatName(exchange)) {
    case 'chat': {
      const deltas = chunks.flatMap((chunk) => chunk.choices[0]?.delta ?? [])
      const calls: Any[] = []
      for (const piece of deltas.flatMap((delta) => delta.tool_calls ?? [])) {
        calls[piece.index] ??= { id: piece.id, function: { name: piece.function.name, arguments: '' } }
        calls[piece.index].function.arguments += piece.function.arguments ?? ''
      }
      const texts = deltas.map((delta) => delta.content).filter((text) => typeof text === 'string')
      const finish_reason = chunks.map((chunk) => chunk.choices[0]?.finish_reason).find(Boolean)
      return {
        ...chunks[0],
        usage: chunks.at(-1).usage,
        choices: [
          {
            finish_reason,
            message: { content: texts.length > 0 ? texts.join('') : null, tool_calls: calls },
          },
        ],
      }
    }
    case 'responses':
      return chunks.at(-1).response
    case 'messages': {
      const content: Any[] = []
      for (const { type, index, content_block, delta } of chunks) {
        if (type === 'content_block_start') content[index] = { ...content_block, json: '' }
        if (type !== 'content_block_delta') continue
        for (const field of ['text', 'thinking', 'content'])
          if (typeof delta[field] === 'string')
            content[index][field] = (content[index][field] ?? '') + delta[field]
        content[index].json += delta.partial_json ?? ''
      }
      for (const block of content) if (block.json) block.input = JSON.parse(block.json)
      const end = chunks.find(({ type }) => type === 'message_delta')
      return {
        ...chunks[0].message,
        content,
        ...end.delta,
        usage: { ...chunks[0].message.usage, ...end.usage },
      }
    }
    default: {
      const parts = chunks.flatMap((chunk) => chunk.candidates[0].content?.parts ?? [])
      const last = chunks.at(-1)
      const groundings = chunks.map((chunk) => chunk.candidates[0].groundingMetadata?.webSearchQueries)
      const queries = groundings.find(Boolean)
      const groundingMetadata = queries && { webSearchQueries: queries }
      return { ...last, candidates: [{ ...last.candidates[0], content: { parts }, groundingMetadata }] }
    }
  }
}

const text = (list: readonly unknown[], separator = '') => {
  const texts = list.filter((item) => typeof item === 'string')
  return texts.length > 0 ? texts.join(separator) : undefined
}
const some = <T>(list: readonly T[]) => (list.length > 0 ? list : undefined)
const json = (given: string) => JSON.parse(given || '{}')

/** What a body says, in hookspan's words. */
function truthOf(exchange: Exchange): Any {
  const body = wholeOf(exchange)
  switch (formatName(exchange)) {
    case 'chat':
      return chatTruth(body)
    case 'responses':
      return responseTruth(body)
    case 'messages':
      return messageTruth(body)
    default:
      return contentTruth(body)
  }
}

function chatTruth({ id, model, choices, usage }: Any): Any {
  const { message } = choices[0]
  // Gemini has in the total alone what it thought.
  const thought = model.startsWith('gemini')
    ? usage.total_tokens - usage.prompt_tokens - usage.completion_tokens
    : undefined
  return {
    head: [
      id || undefined,
      model || undefined,
      some(choices.map((choice: Any) => choice.finish_reason).filter(Boolean)),
    ],
    content: message.content ?? undefined,
    reasoning: message.reasoning_content ?? message.reasoning ?? undefined,
    refusal: message.refusal ?? undefined,
    calls: (message.tool_calls ?? []).map((call: Any) => [
      call.id,
      call.function.name,
      json(call.function.arguments),
    ]),
    runs: [],
    others: message.audio?.data ? ['blob'] : [],
    usage: [
      usage.prompt_tokens,
      usage.completion_tokens + (thought ?? 0),
      usage.prompt_tokens_details?.cached_tokens,
      usage.prompt_tokens_details?.cache_write_tokens,
      thought ?? usage.completion_tokens_details?.reasoning_tokens,
    ],
  }
}

function responseTruth({ id, model, output, usage, object }: Any): Any {
  const of = (...types: string[]) => output.filter((item: Any) => types.includes(item.type))
  const said = of('message')
    .filter((item: Any) => item.role === 'assistant')
    .flatMap((item: Any) => item.content)
  const calls = of('function_call')
  const runs = of('web_search_call', 'code_interpreter_call', 'tool_search_call').filter(
    (item: Any) => item.execution !== 'client',
  )
  const found = of('tool_search_output').map((item: Any) => item.tools)
  return {
    head: [
      id,
      model,
      [object === 'response.compaction' ? 'compaction' : calls.length > 0 ? 'tool_calls' : 'stop'],
    ],
    content: text(said.map((part: Any) => part.text)),
    reasoning: text(
      of('reasoning').flatMap((item: Any) =>
        [...(item.summary ?? []), ...(item.content ?? [])].map((part: Any) => part.text),
      ),
      '\n',
    ),
    refusal: text(said.map((part: Any) => part.refusal)),
    calls: calls.map((call: Any) => [call.call_id, call.name, json(call.arguments)]),
    runs: runs.map((item: Any) => [
      item.id,
      item.type.replace('_call', ''),
      'openai',
      item.action ?? item.arguments ?? { code: item.code, container_id: item.container_id },
      item.outputs ?? (item.type === 'tool_search_call' ? found.shift() : undefined),
      true,
    ]),
    others: output
      .filter(
        (item: Any) => item.type === 'compaction' || item.role === 'user' || item.execution === 'client',
      )
      .map((item: Any) => item.type),
    usage: [
      usage.input_tokens,
      usage.output_tokens,
      usage.input_tokens_details.cached_tokens,
      usage.input_tokens_details.cache_write_tokens,
      usage.output_tokens_details.reasoning_tokens,
    ],
  }
}

function messageTruth({ id, model, content, usage, stop_reason }: Any): Any {
  const of = (type: string) => content.filter((block: Any) => block.type === type)
  const results = content.filter((block: Any) => block.type.endsWith('_tool_result'))
  const asked = of('server_tool_use')
  const orphans = results.filter((block: Any) => !asked.some((call: Any) => call.id === block.tool_use_id))
  // A compaction is in no total; the turns of a loop of Anthropic's own tools are.
  const counted = [usage, ...(usage.iterations ?? []).filter((turn: Any) => turn.type === 'compaction')]
  const sum = (field: string) =>
    counted.reduce((so, turn) => (turn[field] === undefined ? so : (so ?? 0) + turn[field]), undefined)
  const cached = sum('cache_read_input_tokens')
  const written = sum('cache_creation_input_tokens')
  return {
    head: [id, model, [stop_reason]],
    content: text(of('text').map((block: Any) => block.text)),
    reasoning: text(of('thinking').map((block: Any) => block.thinking)),
    refusal: undefined,
    calls: of('tool_use').map((block: Any) => [block.id, block.name, block.input]),
    runs: [
      ...asked.map((block: Any) => {
        const result = results.find(({ tool_use_id }: Any) => tool_use_id === block.id)
        return [block.id, block.name, 'anthropic', block.input, result?.content, result && true]
      }),
      ...orphans.map((block: Any) => [
        block.tool_use_id,
        block.type.replace('_tool_result', ''),
        'anthropic',
        {},
        block.content,
        true,
      ]),
    ],
    others: content
      .filter(({ type }: Any) => type === 'redacted_thinking' || type === 'compaction')
      .map((block: Any) => block.type),
    usage: [
      sum('input_tokens') + (cached ?? 0) + (written ?? 0),
      sum('output_tokens'),
      cached,
      written,
      usage.output_tokens_details?.thinking_tokens,
    ],
  }
}

function contentTruth({ responseId, modelVersion, candidates, usageMetadata: usage }: Any): Any {
  const [{ content, finishReason, groundingMetadata }] = candidates
  const parts: Any[] = content?.parts ?? []
  const ran = parts.filter((part) => part.toolCall)
  const responded = parts.filter((part) => part.toolResponse)
  const queries = groundingMetadata?.webSearchQueries
  return {
    head: [responseId, modelVersion, [finishReason]],
    content: text(parts.filter((part) => !part.thought).map((part) => part.text)),
    reasoning: text(parts.filter((part) => part.thought).map((part) => part.text)),
    refusal: undefined,
    calls: parts
      .filter((part) => part.functionCall)
      .map(({ functionCall: call }) => [call.id ?? '', call.name, call.args ?? {}]),
    runs:
      ran.length > 0
        ? ran.map(({ toolCall: call }, index) => [
            call.id,
            call.toolType.toLowerCase(),
            'google',
            call.args,
            responded[index]?.toolResponse.response,
            true,
          ])
        : queries
          ? [['', 'google_search', 'google', { queries }, undefined, true]]
          : [],
    others: [],
    usage: [
      usage.promptTokenCount + (usage.toolUsePromptTokenCount ?? 0),
      (usage.candidatesTokenCount ?? 0) + (usage.thoughtsTokenCount ?? 0),
      usage.cachedContentTokenCount,
      undefined,
      usage.thoughtsTokenCount,
    ],
  }
}

/** The same of what was read. */
function told({ response, usage }: LlmReading): Any {
  return {
    head: [response.id, response.model, response.finishReasons],
    content: response.content,
    reasoning: response.reasoning,
    refusal: response.refusal,
    calls: (response.toolCalls ?? []).map((call) => [call.toolCallId, call.apiName, call.args]),
    runs: (response.providerToolCalls ?? []).map((call) => [
      call.toolCallId,
      call.apiName,
      call.identifier,
      call.args,
      call.result,
      call.success,
    ]),
    others: (response.parts ?? []).map(({ type }) => type),
    usage: usage && [
      usage.inputTokens,
      usage.outputTokens,
      usage.cachedInputTokens,
      usage.cacheCreationInputTokens,
      usage.reasoningTokens,
    ],
  }
}

describe.skipIf(recordingsFolder() === undefined)('a recorded exchange', () => {
  it.each(named(answered))('is known by its shape, and each of its fields is read: %s', (_name, exchange) => {
    const name = formatName(exchange)
    const first = (exchange.reply ?? exchange.chunks?.[0]) as Any
    const known = FORMATS.filter((format) => (exchange.reply ? format.isReply(first) : format.isChunk(first)))
    expect(known.map((format) => format.name)).toEqual([name])

    expect(told(readingOf(exchange))).toEqual(truthOf(exchange))
  })

  it.each(named(answered))(
    'is the same when it is written and read again, streamed or not: %s',
    (_name, exchange) => {
      const reading = readingOf(exchange)
      const { response, usage } = reading
      // What a reply must have, and one server leaves out.
      const missing = { id: 'stand-in', finishReasons: [response.toolCalls ? 'tool_calls' : 'stop'] }
      const read = { response: { ...missing, ...response }, ...(usage && { usage }) }
      const own = FORMATS.find(({ name }) => name === formatName(exchange))!
      const languageModel = FORMATS.find(({ name }) => name === 'languageModel')!
      for (const format of [own, languageModel]) {
        const written = format.write(reading, {})
        const plain = ({ response, usage }: LlmReading) =>
          format === own ? { response, usage } : withoutOwners({ response, usage })
        expect(plain(format.read(written))).toEqual(plain(read))

        const collector = format.collector()
        for (const event of format.events(written, { stream_options: { include_usage: true } }))
          collector.push(event)
        expect(collector.ended).toBe(true)
        expect(plain(format.read(collector.reply()))).toEqual(plain(read))
      }
    },
  )

  it.each(named(answered))(
    'has an output message with a reason, and parts of known shapes: %s',
    (_name, exchange) => {
      const messages = outputMessages(readingOf(exchange).response)
      expect(messages).toHaveLength(1)
      for (const { role, parts, finish_reason } of messages) {
        expect(role).toBe('assistant')
        expect(finish_reason).toEqual(expect.stringMatching(/./))
        for (const part of parts) expectConventional(part)
      }
    },
  )

  it.each(named(all))('has a request of which nothing is lost: %s', (_name, exchange) => {
    const { request } = exchange as { request: Any }
    expect(formatOfRequest(request)?.name).toBe(
      formatName(exchange) === 'messages' && request.system === undefined && !hasSchemas(request)
        ? 'chat'
        : formatName(exchange),
    )
    const { messages, messagesJson, systemInstructions, toolDefinitions } = requestContent(request)
    const items = request.messages ?? request.input ?? request.contents
    expect(messages).toHaveLength(typeof items === 'string' ? 1 : items.length)
    expect(messagesJson()).toBe(JSON.stringify(messages))
    if (items.length > 0) expect(messages.flatMap(({ parts }) => parts).length).toBeGreaterThan(0)
    for (const { role, parts } of messages) {
      expect(role).toEqual(expect.any(String))
      for (const part of parts) expectConventional(part)
    }
    const told = JSON.stringify([messages, systemInstructions])
    for (const said of textsOf(request)) expect(told).toContain(JSON.stringify(said).slice(1, -1))

    const tools = (request.tools ?? []).flatMap((tool: Any) => tool.functionDeclarations ?? tool)
    expect(toolDefinitions).toHaveLength(tools.length)
    for (const [index, { type, name }] of toolDefinitions.entries()) {
      const tool = tools[index]
      const builtIn = tool.googleSearch && 'googleSearch'
      expect(type).toBe(tool.type?.toLowerCase() ?? builtIn ?? 'function')
      expect(name).toBe(tool.function?.name ?? tool.name ?? builtIn ?? tool.type)
    }
  })

  it('is one of many', () => {
    const count = (name: string) => answered.filter((exchange) => formatName(exchange) === name).length
    expect(['chat', 'responses', 'messages', 'generateContent'].map(count)).toEqual([61, 77, 77, 43])
    expect(answered.filter(({ chunks }) => chunks).length).toBe(33)
  })
})

function hasSchemas({ tools = [] }: Any): boolean {
  return tools.some((tool: Any) => tool.input_schema)
}

/** The AI SDK's parts do not say whose tool it is that the provider ran. */
function withoutOwners({ response, usage }: LlmReading): Any {
  const {
    providerToolCalls = [],
    alternatives: _none,
    conversationId: _id,
    refusal,
    content,
    ...rest
  } = response
  const plain = JSON.parse(JSON.stringify({ ...rest, content: content ?? refusal }))
  return {
    usage,
    response: {
      ...plain,
      runs: providerToolCalls.map(({ identifier: _identifier, success: _success, ...call }) => call),
    },
  }
}

const FIELDS: Readonly<Record<string, readonly string[]>> = {
  text: ['content'],
  reasoning: ['content'],
  refusal: ['content'],
  tool_call: ['name', 'arguments'],
  tool_call_response: ['response'],
  server_tool_call: ['name', 'server_tool_call'],
  server_tool_call_response: ['server_tool_call_response'],
  blob: ['modality', 'content'],
  uri: ['modality', 'uri'],
  file: ['modality', 'file_id'],
}

function expectConventional(part: Any): void {
  expect(part.type).toEqual(expect.any(String))
  for (const field of FIELDS[part.type] ?? []) expect(part, part.type).toHaveProperty(field)
  expect(part.id).not.toBe('')
}

/** Every text that a person or a model said in a request. */
function textsOf(request: Any): string[] {
  const messages: Any[] = Array.isArray(request.messages ?? request.input ?? request.contents)
    ? (request.messages ?? request.input ?? request.contents)
    : [{ content: request.input ?? request.contents }]
  const parts = messages.flatMap((message) => message.content ?? message.parts ?? [])
  const system = [
    request.system ?? [],
    request.instructions ?? [],
    request.systemInstruction?.parts ?? [],
  ].flat()
  return [...parts, ...system].flatMap((part) =>
    typeof part === 'string' ? part : (part.text ?? part.thinking ?? []),
  )
}
