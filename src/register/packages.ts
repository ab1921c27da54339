import { AI_SDK_NAMES } from '../adapters/ai-sdk/names.ts'

/** A package that the program may load, and what is to be done with it. */
export type KnownPackage =
  /** Its exports are handed over once they are there. `replaced`: those of them that the program gets others for. */
  | { readonly how: 'attach'; readonly replaced?: readonly string[] }
  | { readonly how: 'tell'; readonly instead: string }

/** By what a program writes to load them. */
export const PACKAGES: Readonly<Record<string, KnownPackage>> = {
  openai: { how: 'attach' },
  '@anthropic-ai/sdk': { how: 'attach' },
  '@openai/agents-core': { how: 'attach' },
  ai: { how: 'attach', replaced: AI_SDK_NAMES },
  langchain: { how: 'attach', replaced: ['createAgent'] },
  '@google/genai': { how: 'attach', replaced: ['GoogleGenAI'] },
  '@modelcontextprotocol/sdk/client': { how: 'attach', replaced: ['Client'] },
  '@modelcontextprotocol/sdk/client/index.js': { how: 'attach', replaced: ['Client'] },
  '@modelcontextprotocol/sdk/server/mcp.js': { how: 'attach', replaced: ['McpServer'] },
  '@modelcontextprotocol/client': { how: 'attach', replaced: ['Client'] },
  '@modelcontextprotocol/server': { how: 'attach', replaced: ['McpServer'] },
  '@anthropic-ai/claude-agent-sdk': { how: 'attach', replaced: ['query', 'startup', 'prewarm'] },
  '@mastra/core/agent': { how: 'attach' },
  '@strands-agents/sdk': { how: 'attach' },
  '@google/adk': { how: 'attach', replaced: ['Runner', 'InMemoryRunner'] },
  '@langchain/langgraph': { how: 'tell', instead: 'hand hookspanCallbacks() to graphs of your own' },
  '@github/copilot-sdk': { how: 'attach', replaced: ['CopilotClient'] },
}
