import { AI_SDK_NAMES } from '../../adapters/ai-sdk/names.ts'
import type { AdapterName } from '../known-sdks.ts'

/** How an adapter is written into a program. */
export type Way =
  /** `new Client(...)` becomes `observe(new Client(...), { dispatcher })`. */
  | { readonly kind: 'object'; readonly observe: Readonly<Record<string, string>> }
  /** The object that `makes` takes gets an item in a list. */
  | {
      readonly kind: 'option'
      readonly makes: readonly string[]
      readonly option: string
      readonly item: string
    }
  /** The functions come from `observe` instead of the SDK. `module`: it takes an object that has them. */
  | {
      readonly kind: 'function'
      readonly names: readonly string[]
      readonly observe: string
      readonly takes: 'module' | 'function'
    }
  /** One line in the setup attaches every run; who starts one has to have loaded the setup. */
  | { readonly kind: 'setup'; readonly observe: string; readonly starts: readonly string[] }

export interface KnownWay {
  /** What a program writes to load it. */
  readonly from: readonly string[]
  readonly way: Way
  /** For people, where no program may do it: without imports. */
  readonly paste: string
  /** What the line attaches, and what it does not, where that is not plain. */
  readonly note?: string
}

/** One that is missing here does not compile. */
export const WAYS: Readonly<Record<AdapterName, KnownWay>> = {
  openai: {
    from: ['openai', 'groq-sdk', 'together-ai', '@cerebras/cerebras_cloud_sdk'],
    way: {
      kind: 'object',
      observe: {
        default: 'observeOpenAI',
        OpenAI: 'observeOpenAI',
        AzureOpenAI: 'observeOpenAI',
        Groq: 'observeOpenAI',
        Together: 'observeOpenAI',
        Cerebras: 'observeOpenAI',
      },
    },
    paste: 'const client = observeOpenAI(new OpenAI(), { dispatcher })',
    note: 'Model calls are seen by this. Tools that your loop runs by itself go through `step.toolCall(...)`: docs/your-own-loop.md.',
  },
  'ai-sdk': {
    from: ['ai'],
    way: {
      kind: 'function',
      names: AI_SDK_NAMES,
      observe: 'observeAISDK',
      takes: 'module',
    },
    paste: 'const { generateText } = observeAISDK(ai, { dispatcher })',
  },
  'openai-agents': {
    from: ['@openai/agents'],
    way: { kind: 'setup', observe: 'observeAgents', starts: ['run', 'Runner'] },
    paste: 'observeAgents(agents, { dispatcher }) // with: import * as agents from "@openai/agents"',
  },
  langchain: {
    from: ['langchain'],
    way: { kind: 'option', makes: ['createAgent'], option: 'middleware', item: 'hookspanMiddleware' },
    paste: 'const agent = createAgent({ model, tools, middleware: [hookspanMiddleware({ dispatcher })] })',
    note: 'Graphs of your own take `hookspanCallbacks({ dispatcher })`: docs/adapters/langchain.md.',
  },
  anthropic: {
    from: ['@anthropic-ai/sdk'],
    way: { kind: 'object', observe: { default: 'observeAnthropic', Anthropic: 'observeAnthropic' } },
    paste: 'const client = observeAnthropic(new Anthropic(), { dispatcher })',
    note: 'Model calls and tool runners are seen by this. Tools of a loop of your own go through `step.toolCall(...)`: docs/your-own-loop.md.',
  },
  'google-genai': {
    from: ['@google/genai'],
    way: { kind: 'object', observe: { GoogleGenAI: 'observeGoogleGenAI' } },
    paste: 'const client = observeGoogleGenAI(new GoogleGenAI({ apiKey }), { dispatcher })',
  },
  'claude-agent': {
    from: ['@anthropic-ai/claude-agent-sdk'],
    way: { kind: 'function', names: ['query'], observe: 'observeClaudeAgent', takes: 'function' },
    paste: 'const query = observeClaudeAgent(sdk.query, { dispatcher })',
  },
  mastra: {
    from: ['@mastra/core', '@mastra/core/agent'],
    way: { kind: 'object', observe: { Agent: 'observeMastra' } },
    paste: 'observeMastra(agent, { dispatcher })',
  },
  'google-adk': {
    from: ['@google/adk'],
    way: { kind: 'option', makes: ['InMemoryRunner', 'Runner'], option: 'plugins', item: 'hookspanPlugin' },
    paste: 'const runner = new InMemoryRunner({ agent, appName, plugins: [hookspanPlugin({ dispatcher })] })',
  },
  strands: {
    from: ['@strands-agents/sdk'],
    way: { kind: 'object', observe: { Agent: 'observeStrands' } },
    paste: 'const agent = observeStrands(new Agent({ model, tools }), { dispatcher })',
  },
  copilot: {
    from: ['@github/copilot-sdk'],
    way: { kind: 'object', observe: { CopilotClient: 'observeCopilot' } },
    paste: 'const client = observeCopilot(new CopilotClient(), { dispatcher })',
  },
  mcp: {
    from: [
      '@modelcontextprotocol/sdk/client/index.js',
      '@modelcontextprotocol/sdk/client',
      '@modelcontextprotocol/sdk/server/mcp.js',
      '@modelcontextprotocol/client',
      '@modelcontextprotocol/server',
    ],
    way: { kind: 'object', observe: { Client: 'observeMcpClient', McpServer: 'observeMcpServer' } },
    paste: 'observeMcpClient(client, { dispatcher })',
  },
}

/** What has to be imported from the adapter for it. */
export function importsOf(way: Way): readonly string[] {
  if (way.kind === 'object') return [...new Set(Object.values(way.observe))]
  return [way.kind === 'option' ? way.item : way.observe]
}
