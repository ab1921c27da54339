import { tmpdir } from 'node:os'
import Anthropic from '@anthropic-ai/sdk'
import { GoogleGenAI } from '@google/genai'
import { HookDispatcher, type HookEvent } from 'hookspan'
import { observeAnthropic } from 'hookspan/anthropic'
import type { Gate } from 'hookspan/gates'
import { observeGoogleGenAI } from 'hookspan/google-genai'
import { mock, mockTools, recordEvents, type ScriptedFetch, scriptedFetch } from 'hookspan/mock'
import { observeOpenAI } from 'hookspan/openai'
import { loadConfigSync, toolPolicy } from 'hookspan/policies'
import OpenAI from 'openai'
import { describe, expect, it } from 'vitest'

type Ask = (dispatcher: HookDispatcher, fetch: ScriptedFetch) => PromiseLike<unknown>

const openai = (dispatcher: HookDispatcher, fetch: ScriptedFetch) =>
  observeOpenAI(new OpenAI({ apiKey: 'k', fetch, maxRetries: 0 }), { dispatcher })
const responses =
  (...tools: unknown[]): Ask =>
  (dispatcher, fetch) =>
    openai(dispatcher, fetch).responses.create({ model: 'm', input: 'hi', tools: tools as never })
const chat: Ask = (dispatcher, fetch) =>
  openai(dispatcher, fetch).chat.completions.create({
    model: 'm',
    messages: [{ role: 'user', content: 'hi' }],
    web_search_options: {},
  })
const anthropic =
  (more: object): Ask =>
  (dispatcher, fetch) =>
    observeAnthropic(new Anthropic({ apiKey: 'k', fetch, maxRetries: 0 }), {
      dispatcher,
    }).beta.messages.create({
      model: 'm',
      max_tokens: 10,
      messages: [{ role: 'user', content: 'hi' }],
      ...more,
    })
const google =
  (...tools: object[]): Ask =>
  (dispatcher, fetch) =>
    observeGoogleGenAI(new GoogleGenAI({ apiKey: 'k', httpOptions: { fetch } as never }), {
      dispatcher,
    }).models.generateContent({ model: 'm', contents: 'hi', config: { tools } })

const interaction =
  (...tools: object[]): Ask =>
  (dispatcher, fetch) =>
    observeGoogleGenAI(new GoogleGenAI({ apiKey: 'k', httpOptions: { fetch } as never }), {
      dispatcher,
    }).interactions.create({ model: 'm', input: 'hi', tools } as never)

const [on, off] = [{ enabled: true }, { enabled: false }]
const crm = (set: object, configuration?: object) =>
  anthropic({
    mcp_servers: [
      { type: 'url', name: 'crm', url: 'https://example.com', tool_configuration: configuration ?? null },
    ],
    tools: [{ type: 'mcp_toolset', mcp_server_name: 'crm', ...set }],
  })

const webSearch = { type: 'web_search_20250305', name: 'web_search' }
const mcp = { type: 'mcp', server_label: 'crm', server_url: 'https://example.com' }

/** How the call ended, how many requests were sent for it, and with what its operation ended. */
async function asked(ask: Ask, prepare: (dispatcher: HookDispatcher) => unknown) {
  const dispatcher = new HookDispatcher()
  using log = recordEvents(dispatcher)
  prepare(dispatcher)
  const fetch = scriptedFetch({ respond: () => ({ content: 'done' }) })
  const ended = await ask(dispatcher, fetch).then(
    () => 'answered',
    (error: Error) => error.message,
  )
  await dispatcher.drain()
  const ends = log.events.flatMap(({ hookType }) => (/^on(Complete|Error)$/.test(hookType) ? hookType : []))
  return { ended, requests: fetch.requests.length, ends }
}

const guarded = (gate: Gate) => (dispatcher: HookDispatcher) => dispatcher.use({ name: 'g', gates: [gate] })
const denying = (...deny: string[]) => guarded(toolPolicy({ deny }))

describe('a tool that the provider runs', () => {
  it.each<[string, Ask, string]>([
    ['responses: a search', responses({ type: 'web_search_preview' }), 'web_search'],
    ['responses: code', responses({ type: 'code_interpreter', container: { type: 'auto' } }), 'code_*'],
    ['responses: a tool of an MCP server', responses(mcp), 'crm/wipe'],
    ['responses: one that is allowed by its name', responses({ ...mcp, allowed_tools: ['wipe'] }), 'wipe'],
    ['chat completions: a search', chat, 'web_search'],
    ['messages: a search', anthropic({ tools: [webSearch] }), 'anthropic/web_search'],
    [
      'messages: a tool of an MCP server',
      anthropic({ mcp_servers: [{ type: 'url', name: 'crm', url: 'https://example.com' }] }),
      'crm/*',
    ],
    ['messages: one that is allowed by its name', crm({}, { allowed_tools: ['wipe'] }), 'wipe'],
    ['messages: one that a set has alone', crm({ default_config: off, configs: { wipe: on } }), 'wipe'],
    ['messages: one that a set says more of', crm({ configs: { wipe: { defer_loading: true } } }), 'wipe'],
    ['messages: any other of that set', crm({ configs: { wipe: { defer_loading: true } } }), 'crm/find'],
    ['messages: one of a set that is pinned', crm({ tools: [{ name: 'wipe' }] }), 'crm/wipe'],
    ['generateContent: a search', google({ googleSearch: {} }), 'google_search'],
    ['generateContent: a search, by its field', google({ googleSearch: {} }), 'googleSearch'],
    ['generateContent: code', google({ codeExecution: {} }), 'google/code_execution'],
    ['interactions: a search', interaction({ type: 'google_search' }), 'google_search'],
    ['interactions: a tool of an MCP server', interaction({ type: 'mcp_server', name: 'crm' }), 'crm/wipe'],
    [
      'interactions: one that is allowed by its name',
      interaction({ type: 'mcp_server', name: 'crm', allowed_tools: [{ tools: ['wipe'] }] }),
      'wipe',
    ],
  ])('is refused before anything is sent when a gate decides on it: %s', async (_name, ask, pattern) => {
    const { ended, requests, ends } = await asked(ask, denying(pattern))

    expect(ended).toMatch(/Gate "tool-policy" .* provider runs: nobody would be asked/)
    expect(requests).toBe(0)
    expect(ends).toEqual(['onError', 'onComplete'])
  })

  it.each<[string, Ask]>([
    ['responses', responses({ type: 'web_search' })],
    ['messages', anthropic({ tools: [webSearch] })],
    ['generateContent', google({ googleSearch: {} })],
  ])('is refused when it is mocked: %s', async (name, ask) => {
    const tool = name === 'generateContent' ? 'google_search' : 'web_search'
    const { ended, requests } = await asked(ask, (dispatcher) =>
      mockTools(dispatcher, [mock(tool).returns('')]),
    )

    expect(ended).toContain(
      `"${tool}" is mocked, and the agent has the tool "${tool}", which the model's provider runs`,
    )
    expect(requests).toBe(0)
  })

  it.each<[string, (dispatcher: HookDispatcher) => unknown]>([
    [
      'a hook that mocks names it',
      (dispatcher) =>
        dispatcher.use({
          name: 'dry run',
          hooks: [
            {
              id: 'search',
              type: 'beforeToolCall',
              match: 'web_*',
              mocks: true,
              handler: (event: HookEvent<'beforeToolCall'>) => event.mock({ content: '' }),
            },
          ],
        }),
    ],
    [
      'the config file mocks it',
      (dispatcher) => {
        const hooks = [{ id: 'search', type: 'mock', match: 'web_*', returns: '' }]
        dispatcher.use(loadConfigSync({ cwd: tmpdir(), userFile: false, run: { hooks } as never }).plugin)
      },
    ],
  ])('is refused when %s', async (_name, prepare) => {
    const { ended, requests } = await asked(responses({ type: 'web_search' }), prepare)

    expect(ended).toContain('"web_*" is mocked, and the agent has the tool "web_search"')
    expect(requests).toBe(0)
  })

  it.each<[string, Ask]>([
    [
      'another tool is guarded',
      responses({ type: 'web_search' }, { type: 'function', name: 'wipe', parameters: {}, strict: false }),
    ],
    ['the caller is given its calls', responses({ type: 'local_shell' }, { type: 'custom', name: 'wipe' })],
    ['the caller has it, messages', anthropic({ tools: [{ type: 'bash_20250124', name: 'bash' }] })],
    ['the caller has a set of them, messages', anthropic({ tools: [{ type: 'browser_toolset_20260801' }] })],
    ['a set does not have it', crm({ default_config: off, configs: { find: on, wipe: off } })],
    ['a set has all but it', crm({ configs: { wipe: off } })],
    ['a set is pinned without it', crm({ tools: [{ name: 'find' }] })],
    ['it is a function, generateContent', google({ functionDeclarations: [{ name: 'wipe' }] })],
    [
      'it is a function, interactions',
      interaction({ type: 'function', name: 'wipe' }, { type: 'computer_use' }),
    ],
  ])('is sent along where nobody decides on it: %s', async (_name, ask) => {
    const { ended, requests, ends } = await asked(ask, denying('wipe', 'local_shell', 'bash', 'browser*'))

    expect({ ended, requests, ends }).toEqual({ ended: 'answered', requests: 1, ends: ['onComplete'] })
  })
})

/** The bodies that come of a search. */
const SEARCHED = {
  responses: {
    object: 'response',
    status: 'completed',
    output: [
      { type: 'web_search_call', id: 'w1', status: 'completed', action: { type: 'search', query: 'x' } },
      {
        type: 'message',
        role: 'assistant',
        content: [{ type: 'output_text', text: 'done', annotations: [] }],
      },
    ],
  },
  messages: {
    type: 'message',
    role: 'assistant',
    content: [
      { type: 'server_tool_use', id: 'w1', name: 'web_search', input: { query: 'x' } },
      { type: 'web_search_tool_result', tool_use_id: 'w1', content: [] },
      { type: 'text', text: 'done' },
    ],
    stop_reason: 'end_turn',
  },
  generateContent: {
    candidates: [
      {
        content: { role: 'model', parts: [{ text: 'done' }] },
        groundingMetadata: { webSearchQueries: ['x'] },
        finishReason: 'STOP',
      },
    ],
  },
}

it.each<[keyof typeof SEARCHED, Ask, string]>([
  ['responses', responses({ type: 'web_search' }), 'web_search'],
  ['messages', anthropic({ tools: [webSearch] }), 'web_search'],
  ['generateContent', google({ googleSearch: {} }), 'google_search'],
])('is told of a single question, too, before its run ends: %s', async (name, ask, tool) => {
  const dispatcher = new HookDispatcher()
  using log = recordEvents(dispatcher)
  const raw = { body: JSON.stringify(SEARCHED[name]) }
  await ask(dispatcher, scriptedFetch({ steps: [{ raw }] }))
  await dispatcher.drain()

  const told = log.events.flatMap(({ hookType, ...event }) =>
    /ToolCall$|^onComplete$|^afterLlm/.test(hookType)
      ? [hookType, (event as { apiName?: string }).apiName ?? ''].join(' ').trim()
      : [],
  )
  expect(told).toEqual(['afterLlmCall', `beforeToolCall ${tool}`, `afterToolCall ${tool}`, 'onComplete'])
})
