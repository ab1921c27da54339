import { describe, expect, it } from 'vitest'
import type { AdapterName } from '../known-sdks.ts'
import { applyEdits, diffOf } from './edits.ts'
import { parseSource } from './parse.ts'
import { rewrite } from './rewrite.ts'

function rewritten(file: string, text: string, adapters: AdapterName[], setup = './hookspan.setup.mjs') {
  const done = rewrite(file, parseSource(file, text), adapters, setup)
  return { ...done, text: applyEdits(text, done.edits) }
}

const lines = (...text: string[]) => `${text.join('\n')}\n`

const CASES: [string, string, AdapterName, string, string][] = [
  [
    'a client that is made',
    'a.mjs',
    'openai',
    lines("import OpenAI from 'openai' // the client", '', 'const client = new OpenAI({ apiKey })'),
    lines(
      "import OpenAI from 'openai' // the client",
      "import { observeOpenAI } from 'hookspan/openai'",
      "import { dispatcher } from './hookspan.setup.mjs'",
      '',
      'const client = observeOpenAI(new OpenAI({ apiKey }), { dispatcher })',
    ),
  ],
  [
    'types, semicolons, double quotes, and a `dispatcher` of its own',
    'a.ts',
    'anthropic',
    lines(
      'import Anthropic, { type ClientOptions } from "@anthropic-ai/sdk";',
      'interface Made { dispatcher: string; name: "größe" }',
      'export const make = (options: ClientOptions): Anthropic => new Anthropic(options) as Anthropic;',
    ),
    lines(
      'import Anthropic, { type ClientOptions } from "@anthropic-ai/sdk";',
      'import { observeAnthropic } from "hookspan/anthropic";',
      'import { dispatcher as dispatcher2 } from "./hookspan.setup.mjs";',
      'interface Made { dispatcher: string; name: "größe" }',
      'export const make = (options: ClientOptions): Anthropic => observeAnthropic(new Anthropic(options), { dispatcher: dispatcher2 }) as Anthropic;',
    ),
  ],
  [
    'what is required',
    'a.cjs',
    'openai',
    lines(
      "'use strict'",
      "const fs = require('node:fs')",
      "const { OpenAI } = require('openai')",
      'new OpenAI()',
    ),
    lines(
      "'use strict'",
      "const fs = require('node:fs')",
      "const { observeOpenAI } = require('hookspan/openai')",
      "const { dispatcher } = require('./hookspan.setup.mjs')",
      "const { OpenAI } = require('openai')",
      'observeOpenAI(new OpenAI(), { dispatcher })',
    ),
  ],
  [
    'a member of the whole',
    'a.mjs',
    'google-genai',
    lines("import * as google from '@google/genai'", 'export default new google.GoogleGenAI({})'),
    lines(
      "import * as google from '@google/genai'",
      "import { observeGoogleGenAI } from 'hookspan/google-genai'",
      "import { dispatcher } from './hookspan.setup.mjs'",
      'export default observeGoogleGenAI(new google.GoogleGenAI({}), { dispatcher })',
    ),
  ],
  [
    'functions, under the names that the file uses',
    'a.ts',
    'ai-sdk',
    lines(
      "import { generateText, type ModelMessage, streamText as stream, tool } from 'ai'",
      "import { z } from 'zod'",
      'const said: ModelMessage[] = []',
      'await generateText({ messages: said })',
    ),
    lines(
      "import { generateText as sdkGenerateText, type ModelMessage, streamText as sdkStreamText, tool } from 'ai'",
      "import { z } from 'zod'",
      "import { observeAISDK } from 'hookspan/ai-sdk'",
      "import { dispatcher } from './hookspan.setup.mjs'",
      '',
      'const { generateText, streamText: stream } = observeAISDK({ generateText: sdkGenerateText, streamText: sdkStreamText }, { dispatcher })',
      'const said: ModelMessage[] = []',
      'await generateText({ messages: said })',
    ),
  ],
  [
    'functions that are required',
    'a.cjs',
    'ai-sdk',
    lines("const { generateText, tool } = require('ai')", 'generateText({})'),
    lines(
      "const { observeAISDK } = require('hookspan/ai-sdk')",
      "const { dispatcher } = require('./hookspan.setup.mjs')",
      "const { generateText, tool } = observeAISDK(require('ai'), { dispatcher })",
      'generateText({})',
    ),
  ],
  [
    'a function that an adapter takes alone',
    'a.mjs',
    'claude-agent',
    lines("import { query } from '@anthropic-ai/claude-agent-sdk'", "query({ prompt: 'hi' })"),
    lines(
      "import { query as sdkQuery } from '@anthropic-ai/claude-agent-sdk'",
      "import { observeClaudeAgent } from 'hookspan/claude-agent'",
      "import { dispatcher } from './hookspan.setup.mjs'",
      '',
      'const query = observeClaudeAgent(sdkQuery, { dispatcher })',
      "query({ prompt: 'hi' })",
    ),
  ],
  [
    'a middleware before all others',
    'a.mjs',
    'langchain',
    lines("import { createAgent } from 'langchain'", 'createAgent({ model, middleware: [retry()] })'),
    lines(
      "import { createAgent } from 'langchain'",
      "import { hookspanMiddleware } from 'hookspan/langchain'",
      "import { dispatcher } from './hookspan.setup.mjs'",
      'createAgent({ model, middleware: [hookspanMiddleware({ dispatcher }), retry()] })',
    ),
  ],
  [
    'a plugin where there was none, in an object of several lines',
    'a.mjs',
    'google-adk',
    lines("import { InMemoryRunner } from '@google/adk'", 'new InMemoryRunner({', '  agent,', '})'),
    lines(
      "import { InMemoryRunner } from '@google/adk'",
      "import { hookspanPlugin } from 'hookspan/google-adk'",
      "import { dispatcher } from './hookspan.setup.mjs'",
      'new InMemoryRunner({',
      '  plugins: [hookspanPlugin({ dispatcher })],',
      '  agent,',
      '})',
    ),
  ],
  [
    'agents of Mastra, one in another',
    'a.mts',
    'mastra',
    lines(
      "import { Agent } from '@mastra/core/agent'",
      'export const agent = new Agent<string>({ agents: { one: new Agent({}) } })',
    ),
    lines(
      "import { Agent } from '@mastra/core/agent'",
      "import { observeMastra } from 'hookspan/mastra'",
      "import { dispatcher } from './hookspan.setup.mjs'",
      'export const agent = observeMastra(new Agent<string>({ agents: { one: observeMastra(new Agent({}), { dispatcher }) } }), { dispatcher })',
    ),
  ],
  [
    'agents of Strands',
    'a.mjs',
    'strands',
    lines("import { Agent } from '@strands-agents/sdk'", 'export default new Agent'),
    lines(
      "import { Agent } from '@strands-agents/sdk'",
      "import { observeStrands } from 'hookspan/strands'",
      "import { dispatcher } from './hookspan.setup.mjs'",
      'export default observeStrands(new Agent, { dispatcher })',
    ),
  ],
  [
    'both sides of MCP',
    'a.mjs',
    'mcp',
    lines(
      "import { Client } from '@modelcontextprotocol/sdk/client/index.js'",
      "import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'",
      'export const both = [new Client({}), new McpServer({})]',
    ),
    lines(
      "import { Client } from '@modelcontextprotocol/sdk/client/index.js'",
      "import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'",
      "import { observeMcpClient, observeMcpServer } from 'hookspan/mcp'",
      "import { dispatcher } from './hookspan.setup.mjs'",
      'export const both = [observeMcpClient(new Client({}), { dispatcher }), observeMcpServer(new McpServer({}), { dispatcher })]',
    ),
  ],
  [
    'who starts runs that the setup attaches',
    'a.mjs',
    'openai-agents',
    lines("import { Agent, run } from '@openai/agents'", "run(new Agent({}), 'hi')"),
    lines(
      "import { Agent, run } from '@openai/agents'",
      "import './hookspan.setup.mjs'",
      "run(new Agent({}), 'hi')",
    ),
  ],
  [
    'types that are imported behind all else',
    'a.ts',
    'ai-sdk',
    lines(
      "import { generateText } from 'ai'",
      '// what it logs',
      "import type { Logger } from './logger'",
      'import type {',
      '  Order,',
      "} from './order'",
      '',
      'export const ask = (log: Logger, order: Order) => generateText({ log, order })',
    ),
    lines(
      "import { generateText as sdkGenerateText } from 'ai'",
      '// what it logs',
      "import type { Logger } from './logger'",
      'import type {',
      '  Order,',
      "} from './order'",
      "import { observeAISDK } from 'hookspan/ai-sdk'",
      "import { dispatcher } from './hookspan.setup.mjs'",
      '',
      'const { generateText } = observeAISDK({ generateText: sdkGenerateText }, { dispatcher })',
      '',
      'export const ask = (log: Logger, order: Order) => generateText({ log, order })',
    ),
  ],
  [
    'a service with decorators, and fields that its constructor declares',
    'a.service.ts',
    'openai',
    lines(
      "import { Injectable } from '@nestjs/common'",
      "import OpenAI from 'openai'",
      '@Injectable() @Audited({ as: `@x (` })',
      'export class Chat {',
      '  @Prop private readonly client = new OpenAI()',
      "  constructor(@Inject('orders') private readonly orders: Orders, protected log = /[@(]/) {}",
      "  @Post('/chat/:id')",
      '  async ask(@Param("id") id: string, @Body() { text }: Question) {',
      '    return this.client.responses.create({ model: "gpt-4o", input: text })',
      '  }',
      '}',
    ),
    lines(
      "import { Injectable } from '@nestjs/common'",
      "import OpenAI from 'openai'",
      "import { observeOpenAI } from 'hookspan/openai'",
      "import { dispatcher } from './hookspan.setup.mjs'",
      '@Injectable() @Audited({ as: `@x (` })',
      'export class Chat {',
      '  @Prop private readonly client = observeOpenAI(new OpenAI(), { dispatcher })',
      "  constructor(@Inject('orders') private readonly orders: Orders, protected log = /[@(]/) {}",
      "  @Post('/chat/:id')",
      '  async ask(@Param("id") id: string, @Body() { text }: Question) {',
      '    return this.client.responses.create({ model: "gpt-4o", input: text })',
      '  }',
      '}',
    ),
  ],
]

describe('a file of the project', () => {
  it.each(CASES)('is attached: %s', (_what, file, adapter, before, after) => {
    const first = rewritten(file, before, [adapter])
    expect(first.unsafe).toEqual([])
    expect(first.text).toBe(after)

    // And once only.
    const second = rewritten(file, after, [adapter])
    expect([second.edits, second.attached, second.unsafe]).toEqual([[], [adapter], []])
  })

  it('keeps the line ends of the file', () => {
    const { text } = rewritten('a.mjs', "import OpenAI from 'openai'\r\nnew OpenAI()\r\n", ['openai'])
    expect(text.replaceAll('\r\n', '')).not.toContain('\n')
  })

  it('is left alone where it only names the SDK', () => {
    const text = lines("import OpenAI from 'openai'", 'export const isOne = (x) => x instanceof OpenAI')
    expect(rewritten('a.mjs', text, ['openai'])).toMatchObject({ edits: [], unsafe: [], attached: [] })
  })

  it.each<[string, string, AdapterName, string, string]>([
    [
      'bound twice',
      'a.mjs',
      'openai',
      "import OpenAI from 'openai'\nfunction f(OpenAI) { new OpenAI() }\n",
      '`OpenAI` is bound twice in it',
    ],
    [
      'a whole',
      'a.mjs',
      'ai-sdk',
      "import * as ai from 'ai'\nai.generateText({})\n",
      'all of the SDK is one name in it, `ai`',
    ],
    [
      'a type',
      'a.ts',
      'ai-sdk',
      "import { ToolLoopAgent } from 'ai'\nlet a: ToolLoopAgent\n",
      '`ToolLoopAgent` is used as a type in it',
    ],
    [
      'used early',
      'a.mjs',
      'ai-sdk',
      "import { embed } from 'ai'\nembed({})\nimport 'x'\n",
      '`embed` is used before its last import',
    ],
    [
      'spread',
      'a.mjs',
      'langchain',
      "import { createAgent } from 'langchain'\ncreateAgent({ ...given })\n",
      'what it spreads may have a `middleware` of its own',
    ],
    [
      'a list elsewhere',
      'a.mjs',
      'langchain',
      "import { createAgent } from 'langchain'\ncreateAgent({ middleware })\n",
      'its `middleware` is written elsewhere',
    ],
    [
      'options elsewhere',
      'a.mjs',
      'langchain',
      "import { createAgent } from 'langchain'\ncreateAgent(given)\n",
      'what `createAgent` takes is written elsewhere',
    ],
    [
      'calls of another SDK',
      'a.mjs',
      'mcp',
      "import { Client } from '@modelcontextprotocol/client'\nmcpToTool(new Client({}))\n",
      'another SDK calls the tools of its client, which would show twice',
    ],
    [
      'a function that is required',
      'a.cjs',
      'claude-agent',
      "const { query } = require('@anthropic-ai/claude-agent-sdk')\n",
      'it is loaded by `require()`',
    ],
  ])('is left alone where an edit may be wrong: %s', (_what, file, adapter, text, why) => {
    expect(rewritten(file, text, [adapter])).toMatchObject({ edits: [], unsafe: [{ adapter, why }] })
  })

  it.each([
    ['a.tsx', 'export {}', 'JSX is not edited'],
    ['a.js', 'const = 1', /cannot be read as JavaScript/],
    ['a.ts', 'enum A { B }', /syntax that is not only types/],
  ])('is not read when nobody can do it: %s', (file, text, why) => {
    expect(() => parseSource(file, text)).toThrow(why)
  })
})

it('shows what changes with the lines around it, as a patch', () => {
  const before = lines(...Array.from({ length: 12 }, (_, index) => `line ${index + 1}`))
  const at = (text: string) => before.indexOf(text)
  const edits = [
    { start: at('line 2') + 6, end: at('line 2') + 6, text: '\nmore' },
    { start: at('line 11'), end: at('line 11') + 4, text: 'LINE' },
  ]
  expect(diffOf('a.txt', before, edits).split('\n')).toEqual([
    '--- a/a.txt',
    '+++ b/a.txt',
    '@@ -1,5 +1,6 @@',
    ' line 1',
    ' line 2',
    '+more',
    ' line 3',
    ' line 4',
    ' line 5',
    '@@ -8,5 +9,5 @@',
    ' line 8',
    ' line 9',
    ' line 10',
    '-line 11',
    '+LINE 11',
    ' line 12',
  ])
})
