import Anthropic from '@anthropic-ai/sdk'
import { GoogleGenAI } from '@google/genai'
import { Agent, OpenAIChatCompletionsModel, OpenAIResponsesModel, Runner, tool } from '@openai/agents'
import * as ai from 'ai'
import { MockLanguageModelV4, simulateReadableStream } from 'ai/test'
import { HookDispatcher } from 'hookspan'
import { observeAISDK } from 'hookspan/ai-sdk'
import { observeAnthropic } from 'hookspan/anthropic'
import { deny, type Gate } from 'hookspan/gates'
import { observeGoogleGenAI } from 'hookspan/google-genai'
import { observeOpenAI } from 'hookspan/openai'
import { observeAgents, unobserveAgents } from 'hookspan/openai-agents'
import { redact } from 'hookspan/policies'
import OpenAI from 'openai'
import { describe, expect, it } from 'vitest'

// Providers refuse the next request where what only they can read is not sent back as it came.

function redacting() {
  const dispatcher = new HookDispatcher()
  dispatcher.use({ name: 'privacy', gates: [redact({ kinds: ['email'] })] })
  return dispatcher
}

/** Answers with one body after the other, and keeps what it is asked. */
function answering(...answers: (() => Response)[]) {
  const asked: string[] = []
  const fetch = async (_url: unknown, init?: { body?: unknown }) => {
    asked.push(String(init?.body))
    return answers[asked.length - 1]?.() ?? Response.json({}, { status: 500 })
  }
  return { asked, fetch: fetch as typeof globalThis.fetch }
}

const sse = (events: readonly { type: string }[]) =>
  new Response(events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(''), {
    headers: { 'content-type': 'text/event-stream' },
  })

const THOUGHT = { type: 'thinking', thinking: 'Whose?', signature: 'Eq8=' }
const CALL = {
  type: 'tool_use',
  id: 'toolu_1',
  name: 'find',
  input: { id: 7 },
  caller: { type: 'code_execution_20260120', tool_id: 'srvtoolu_1' },
}
const HEAD = { id: 'msg_1', type: 'message', role: 'assistant', model: 'claude-opus-5', stop_sequence: null }
const usage = { input_tokens: 9, output_tokens: 4 }
const container = { id: 'container_1', expires_at: '2027-01-01T00:00:00Z' }
const DONE = {
  ...HEAD,
  content: [{ type: 'text', text: 'Done.' }],
  stop_reason: 'end_turn',
  usage,
}

const WHOLE = () =>
  Response.json({
    ...HEAD,
    container,
    content: [THOUGHT, { type: 'text', text: 'Of ann@shop.test.' }, CALL],
    stop_reason: 'tool_use',
    usage,
  })
const STREAMED = () =>
  sse([
    {
      type: 'message_start',
      message: { ...HEAD, content: [], stop_reason: null, usage: { ...usage, output_tokens: 1 } },
    },
    { type: 'content_block_start', index: 0, content_block: { ...THOUGHT, thinking: '', signature: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: 'Whose?' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'signature_delta', signature: 'Eq8=' } },
    { type: 'content_block_stop', index: 0 },
    { type: 'content_block_start', index: 1, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 1, delta: { type: 'text_delta', text: 'Of ann@shop.test.' } },
    { type: 'content_block_stop', index: 1 },
    { type: 'content_block_start', index: 2, content_block: { ...CALL, input: {} } },
    { type: 'content_block_delta', index: 2, delta: { type: 'input_json_delta', partial_json: '{"id":7}' } },
    { type: 'content_block_stop', index: 2 },
    { type: 'message_delta', delta: { stop_reason: 'tool_use', stop_sequence: null, container }, usage },
    { type: 'message_stop' },
  ] as never)

describe('a reply of which a gate changes the text', () => {
  it.each([
    ['', WHOLE, () => Response.json(DONE), false],
    [
      ', streamed',
      STREAMED,
      () => sse([{ type: 'message_start', message: DONE }, { type: 'message_stop' }] as never),
      true,
    ],
  ] as const)(
    'goes back to Claude with its signature, caller and container%s',
    async (_how, first, last, stream) => {
      const { asked, fetch } = answering(first, last)
      const client = observeAnthropic(new Anthropic({ apiKey: 'k', fetch, maxRetries: 0 }), {
        dispatcher: redacting(),
      })
      await client.beta.messages.toolRunner({
        model: 'claude-opus-5',
        max_tokens: 100,
        thread: false,
        stream,
        messages: [{ role: 'user', content: 'Whose is order 7?' }],
        tools: [
          {
            name: 'find',
            description: '',
            input_schema: { type: 'object' },
            run: () => 'found',
          },
        ],
      } as never)
      const { messages, container: used } = JSON.parse(asked[1] ?? '')
      expect(messages[1].content).toEqual([THOUGHT, { type: 'text', text: 'Of [email].' }, CALL])
      expect(used).toBe('container_1')
    },
  )

  it("goes back to Gemini with its thoughts' signatures", async () => {
    const call = { functionCall: { name: 'find', args: { id: 7 } }, thoughtSignature: 'Cs0=' }
    const answer = (parts: object[]) => () =>
      Response.json({ candidates: [{ content: { role: 'model', parts }, finishReason: 'STOP' }] })
    const { asked, fetch } = answering(
      answer([{ text: 'Of ann@shop.test.' }, call]),
      answer([{ text: 'Done.' }]),
    )
    const google = new GoogleGenAI({ apiKey: 'k', httpOptions: { fetch } as never })
    const client = observeGoogleGenAI(google, { dispatcher: redacting() })
    await client.models.generateContent({
      model: 'gemini-3.8-flash',
      contents: 'Whose is order 7?',
      config: {
        tools: [
          {
            tool: async () => ({ functionDeclarations: [{ name: 'find' }] }),
            callTool: async () => [{ functionResponse: { name: 'find', response: { output: 'found' } } }],
          },
        ],
      },
    })
    expect(JSON.parse(asked[1] ?? '').contents[1].parts).toEqual([{ text: 'Of [email].' }, call])
  })

  it('keeps the items of a response as they came', async () => {
    const reasoning = { id: 'rs_1', type: 'reasoning', summary: [], encrypted_content: 'gAAA' }
    const call = {
      ...{ id: 'fc_1', type: 'function_call', call_id: 'call_1', name: 'find', namespace: 'orders' },
      arguments: '{"id": 7}',
    }
    const message = {
      ...{ id: 'msg_1', type: 'message', role: 'assistant', status: 'completed', phase: 'commentary' },
      content: [{ type: 'output_text', text: 'Of ann@shop.test.', annotations: [] }],
    }
    const reply = {
      id: 'resp_1',
      object: 'response',
      model: 'gpt-6',
      status: 'completed',
      service_tier: 'flex',
    }
    const { fetch } = answering(() => Response.json({ ...reply, output: [reasoning, message, call], usage }))
    const client = observeOpenAI(new OpenAI({ apiKey: 'k', fetch }), { dispatcher: redacting() })
    const got = await client.responses.create({ model: 'gpt-6', input: 'Whose is order 7?' })
    const content = [{ type: 'output_text', text: 'Of [email].', annotations: [] }]
    expect(got).toMatchObject({ ...reply, usage, output: [reasoning, { ...message, content }, call] })
    expect(got.output_text).toBe('Of [email].')
  })

  it.each([false, true])(
    'goes back to a model of the AI SDK with what it wants back, streamed: %s',
    async (streams) => {
      const providerMetadata = { anthropic: { signature: 'Eq8=' } }
      const tokens = { inputTokens: { total: 9 }, outputTokens: { total: 4 } } as never
      const call = {
        type: 'tool-call' as const,
        toolCallId: 'c1',
        toolName: 'find',
        input: '{}',
        providerMetadata,
      }
      const reason = (unified: 'tool-calls' | 'stop') => ({ unified, raw: unified })
      const turn = (...content: { type: string; text?: string; providerMetadata?: object }[]) => ({
        content: content as never,
        finishReason: reason(content.length > 1 ? 'tool-calls' : 'stop'),
        usage: tokens,
        warnings: [],
      })
      const turns = [
        turn(
          { type: 'reasoning', text: 'Whose?', providerMetadata },
          { type: 'text', text: 'Of ann@shop.test.' },
          call,
        ),
        turn({ type: 'text', text: 'Done.' }),
      ]
      const chunksOf = ({ content, finishReason }: (typeof turns)[number]) => [
        ...(content as { type: string; text?: string; providerMetadata?: object }[]).flatMap<object>(
          ({ text, providerMetadata: about, ...part }, index) =>
            text === undefined
              ? [{ ...part, providerMetadata: about }]
              : [
                  { type: `${part.type}-start`, id: `${index}` },
                  { type: `${part.type}-delta`, id: `${index}`, delta: text },
                  { type: `${part.type}-end`, id: `${index}`, ...(about && { providerMetadata: about }) },
                ],
        ),
        { type: 'finish', finishReason, usage: tokens },
      ]
      const model = new MockLanguageModelV4({
        doGenerate: turns,
        doStream: turns.map((one) => ({
          stream: simulateReadableStream({ chunks: chunksOf(one) as never[] }),
        })),
      })
      const { generateText, streamText } = observeAISDK(ai, { dispatcher: redacting() })
      const tools = {
        find: ai.tool({ inputSchema: ai.jsonSchema({ type: 'object' }), execute: () => 'found' }),
      }
      const asked = { model, tools, prompt: 'Whose is order 7?', stopWhen: ai.isStepCount(2) }
      if (streams) await streamText(asked).text
      else await generateText(asked)
      const calls = streams ? model.doStreamCalls : model.doGenerateCalls
      const said = calls[1]?.prompt.find(({ role }) => role === 'assistant')
      expect(said?.content).toMatchObject([
        { type: 'reasoning', text: 'Whose?', providerOptions: providerMetadata },
        { type: 'text', text: 'Of [email].' },
        { type: 'tool-call', toolCallId: 'c1', providerOptions: providerMetadata },
      ])
    },
  )
})

describe('a reply of an agent of OpenAI of which a gate changes the text', () => {
  const REASONING = { id: 'rs_1', type: 'reasoning', summary: [], encrypted_content: 'gAAA' }
  const FOUND = {
    ...{ id: 'fc_1', type: 'function_call', call_id: 'call_1', name: 'find', status: 'completed' },
    arguments: '{"id": 7}',
  }
  const message = (text: string) => ({
    ...{ id: 'msg_1', type: 'message', role: 'assistant', status: 'completed', phase: 'commentary' },
    content: [
      {
        type: 'output_text',
        text,
        annotations: [{ type: 'url_citation', title: text, url: 'u', start_index: 0, end_index: 9 }],
        logprobs: [{ token: text }],
      },
    ],
  })
  const response = (...output: object[]) => ({
    ...{ id: 'resp_1', object: 'response', model: 'gpt-6', status: 'completed', output },
    usage: { input_tokens: 9, output_tokens: 4, total_tokens: 13 },
  })
  const TURNS = [response(REASONING, message('Of ann@shop.test.'), FOUND), response(message('Done.'))]
  const streamed = (turn: object) =>
    sse([
      { type: 'response.created', response: turn },
      { type: 'response.completed', response: turn },
    ] as never)

  async function ranOn(model: (client: OpenAI) => unknown, stream: boolean, answers: (() => Response)[]) {
    const { asked, fetch } = answering(...answers)
    const runner = observeAgents(new Runner({ tracingDisabled: true }), { dispatcher: redacting() })
    try {
      const agent = new Agent({
        name: 'support',
        model: model(new OpenAI({ apiKey: 'k', fetch, maxRetries: 0 })) as never,
        tools: [
          tool({
            name: 'find',
            description: '',
            strict: false,
            parameters: { type: 'object', properties: {}, required: [], additionalProperties: true },
            execute: () => 'found',
          }),
        ],
      })
      const asks = 'Whose is order 7?'
      const streams = stream ? await runner.run(agent, asks, { stream: true }) : undefined
      await streams?.completed
      const result = streams ?? (await runner.run(agent, asks))
      return { result, sent: JSON.parse(asked[1] ?? '') }
    } finally {
      unobserveAgents(runner)
    }
  }

  it.each([false, true])(
    'goes back with its reasoning, ids and phase, and is told with its tokens, streamed: %s',
    async (stream) => {
      const { result, sent } = await ranOn(
        (client) => new OpenAIResponsesModel(client as never, 'gpt-6'),
        stream,
        TURNS.map((turn) => () => (stream ? streamed(turn) : Response.json(turn))),
      )
      const { annotations: _cited, ...told } = sent.input[2].content[0]
      expect(told).toMatchObject({ type: 'output_text', text: 'Of [email].' })
      expect(sent.input.slice(1, 4)).toMatchObject([
        REASONING,
        { id: 'msg_1', phase: 'commentary' },
        { id: 'fc_1', call_id: 'call_1', arguments: '{"id": 7}' },
      ])
      expect(JSON.stringify(sent)).not.toContain('ann@')
      expect(JSON.stringify(result.rawResponses)).not.toContain('ann@')
      expect(result.rawResponses[0]).toMatchObject({ responseId: 'resp_1', usage: { totalTokens: 13 } })
    },
  )

  it('keeps signatures that stand beside a call of chat completions, and says nothing twice', async () => {
    const call = {
      ...{ id: 'call_1', type: 'function', function: { name: 'find', arguments: '{}' } },
      extra_content: { google: { thought_signature: 'Cs0=' } },
    }
    const turn = (message: object) => ({
      ...{ id: 'c1', object: 'chat.completion', model: 'gemini', created: 1 },
      choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', ...message } }],
    })
    const { result, sent } = await ranOn(
      (client) => new OpenAIChatCompletionsModel(client as never, 'gemini'),
      false,
      [
        () => Response.json(turn({ content: 'Of ann@shop.test.', tool_calls: [call] })),
        () => Response.json(turn({ content: 'Done.' })),
      ],
    )
    expect(JSON.stringify(sent)).toContain('Cs0=')
    expect(JSON.stringify(sent)).toContain('Of [email].')
    expect(JSON.stringify([sent, result.rawResponses])).not.toContain('ann@')
  })
})

describe('replies that gates give in the place of a model of the Responses API', () => {
  const refusing = () => {
    const dispatcher = new HookDispatcher()
    const gates: Gate[] = [{ id: 'no', point: 'beforeLlmCall', decide: () => deny('not today') }]
    dispatcher.use({ name: 'guard', gates })
    return dispatcher
  }
  it.each([false, true])('can be sent back, however many there are (streamed: %s)', async (stream) => {
    const client = observeOpenAI(new OpenAI({ apiKey: 'k', fetch: answering().fetch }), {
      dispatcher: refusing(),
    })
    const input: OpenAI.Responses.ResponseInputItem[] = []
    for (const content of ['one', 'two']) {
      input.push({ role: 'user', content })
      const asked = { model: 'gpt-5', input }
      const { output } = stream
        ? await client.responses.stream(asked).finalResponse()
        : await client.responses.create(asked)
      input.push(...(output as OpenAI.Responses.ResponseOutputMessage[]))
    }
    const ids = input.flatMap((item) => ('id' in item ? [item.id] : []))
    expect(ids).toEqual([expect.stringMatching(/^msg_[\w-]{1,60}$/), expect.anything()])
    expect(new Set(ids).size).toBe(2)
  })
})
