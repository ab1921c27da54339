/** A package that the program may load, and what is to be done with it. */
export type KnownPackage =
  /** Its exports are handed over once they are there. `replaced`: those of them that the program gets others for. */
  | { readonly how: 'attach'; readonly replaced?: readonly string[] }
  | { readonly how: 'tell'; readonly instead: string }

const BY_HAND = 'attach it in your code'

/** By what a program writes to load them. */
export const PACKAGES: Readonly<Record<string, KnownPackage>> = {
  openai: { how: 'attach' },
  '@anthropic-ai/sdk': { how: 'attach' },
  '@openai/agents-core': { how: 'attach' },
  ai: {
    how: 'attach',
    replaced: [
      'generateText',
      'streamText',
      'generateObject',
      'streamObject',
      'embed',
      'embedMany',
      'ToolLoopAgent',
      'Experimental_Agent',
    ],
  },
  langchain: { how: 'attach', replaced: ['createAgent'] },
  '@google/genai': { how: 'attach', replaced: ['GoogleGenAI'] },
  '@modelcontextprotocol/sdk/client/index.js': { how: 'attach', replaced: ['Client'] },
  '@modelcontextprotocol/sdk/server/mcp.js': { how: 'attach', replaced: ['McpServer'] },
  '@modelcontextprotocol/client': { how: 'attach', replaced: ['Client'] },
  '@modelcontextprotocol/server': { how: 'attach', replaced: ['McpServer'] },
  '@langchain/langgraph': { how: 'tell', instead: 'hand hookspanCallbacks() to graphs of your own' },
  '@google/adk': { how: 'tell', instead: BY_HAND },
  '@mastra/core': { how: 'tell', instead: BY_HAND },
  '@strands-agents/sdk': { how: 'tell', instead: BY_HAND },
  '@anthropic-ai/claude-agent-sdk': { how: 'tell', instead: BY_HAND },
  '@github/copilot-sdk': { how: 'tell', instead: BY_HAND },
}
