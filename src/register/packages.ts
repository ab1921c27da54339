import { AI_SDK_NAMES } from '../adapters/ai-sdk/names.ts'

/** A package that the program may load, and what is to be done with it. */
export type KnownPackage =
  /** Its exports are handed over once they are there. `replaced`: those of them that the program gets others for. */
  | { readonly how: 'attach'; readonly replaced?: readonly string[] }
  /** Those exports of it run tools where no adapter is. It is said of each that is used, and none is where guards are to hold. */
  | {
      readonly how: 'refuse'
      readonly replaced: readonly string[]
      /** Functions of them that make one, too. */
      readonly makers?: readonly string[]
      readonly instead: string
    }
  | { readonly how: 'tell'; readonly instead: string }

/** Over a socket a model is asked, and says which tools it wants, where no client is asked for a reply. */
const socket = (name: string): KnownPackage => ({
  how: 'refuse',
  replaced: [name],
  makers: ['create', 'azure'],
  instead: 'hookspan knows the requests of a client',
})

/** By what a program writes to load them. */
export const PACKAGES: Readonly<Record<string, KnownPackage>> = {
  openai: { how: 'attach' },
  'openai/client': { how: 'attach' },
  'openai/helpers/responses-tool-runner': { how: 'attach', replaced: ['ResponsesToolRunner'] },
  'openai/helpers/decisions-tool-runner': {
    how: 'refuse',
    replaced: ['DecisionsToolRunner'],
    instead: 'hookspan does not know decisions',
  },
  'openai/resources/responses/ws': socket('ResponsesWS'),
  'openai/resources/beta/responses/ws': socket('ResponsesWS'),
  'openai/realtime/ws': socket('OpenAIRealtimeWS'),
  'openai/realtime/websocket': socket('OpenAIRealtimeWebSocket'),
  'openai/beta/realtime/ws': socket('OpenAIRealtimeWS'),
  'openai/beta/realtime/websocket': socket('OpenAIRealtimeWebSocket'),
  'openai/resources/live/ws': socket('LiveWS'),
  'openai/resources/live/sideband/ws': socket('SidebandWS'),
  'openai/resources/live/forks/ws': socket('ForksWS'),
  'groq-sdk': { how: 'attach' },
  'together-ai': { how: 'attach' },
  '@cerebras/cerebras_cloud_sdk': { how: 'attach' },
  '@anthropic-ai/sdk': { how: 'attach' },
  '@anthropic-ai/sdk/client': { how: 'attach' },
  '@anthropic-ai/sdk/helpers/beta/environments': {
    how: 'refuse',
    replaced: ['SessionToolRunner', 'EnvironmentWorker'],
    instead:
      'hookspan knows beta.sessions.events.toolRunner() and beta.environments.work.worker() of a client',
  },
  '@openai/agents-core': { how: 'attach' },
  '@openai/agents-realtime': {
    how: 'refuse',
    replaced: ['RealtimeSession'],
    instead: 'hookspan knows the runs of a Runner',
  },
  ai: { how: 'attach', replaced: AI_SDK_NAMES },
  '@ai-sdk/workflow': {
    how: 'refuse',
    replaced: ['WorkflowAgent'],
    instead: 'hookspan knows ToolLoopAgent and the functions of ai',
  },
  '@workflow/ai/agent': {
    how: 'refuse',
    replaced: ['DurableAgent'],
    instead: 'hookspan knows ToolLoopAgent and the functions of ai',
  },
  langchain: { how: 'attach', replaced: ['createAgent'] },
  '@google/genai': { how: 'attach', replaced: ['GoogleGenAI'] },
  '@modelcontextprotocol/sdk/client': { how: 'attach', replaced: ['Client'] },
  '@modelcontextprotocol/sdk/client/index.js': { how: 'attach', replaced: ['Client'] },
  '@modelcontextprotocol/sdk/server': { how: 'attach', replaced: ['Server'] },
  '@modelcontextprotocol/sdk/server/index.js': { how: 'attach', replaced: ['Server'] },
  '@modelcontextprotocol/sdk/server/mcp.js': { how: 'attach', replaced: ['McpServer'] },
  '@modelcontextprotocol/client': { how: 'attach', replaced: ['Client'] },
  '@modelcontextprotocol/server': { how: 'attach', replaced: ['McpServer', 'Server'] },
  '@anthropic-ai/claude-agent-sdk': { how: 'attach', replaced: ['query', 'startup', 'prewarm'] },
  '@mastra/core/agent': { how: 'attach' },
  '@mastra/core/workflows': { how: 'attach' },
  '@mastra/core/workflows/evented': { how: 'attach' },
  '@strands-agents/sdk': { how: 'attach' },
  '@google/adk': { how: 'attach', replaced: ['Runner', 'InMemoryRunner'] },
  '@langchain/langgraph/prebuilt': {
    how: 'refuse',
    replaced: ['ToolNode', 'createReactAgent'],
    instead: 'hookspan knows createAgent() of langchain',
  },
  '@langchain/langgraph': { how: 'tell', instead: 'hand hookspanCallbacks() to graphs of your own' },
  '@github/copilot-sdk': { how: 'attach', replaced: ['CopilotClient'] },
}

/**
 * What asks models where no adapter is, and may run tools as well. It is said of each that the program loads, or that a package
 * does which is none of an attached SDK's.
 */
export const UNKNOWN: ReadonlySet<string> = new Set([
  '@aws-sdk/client-bedrock-runtime',
  '@ax-llm/ax',
  '@azure-rest/ai-inference',
  '@genkit-ai/google-genai',
  '@genkit-ai/googleai',
  '@genkit-ai/vertexai',
  '@google-cloud/vertexai',
  '@google/generative-ai',
  '@huggingface/inference',
  '@inngest/agent-kit',
  '@lmstudio/sdk',
  '@mistralai/mistralai',
  '@openrouter/agent',
  '@openrouter/sdk',
  '@xsai/generate-text',
  '@xsai/stream-text',
  'cohere-ai',
  'node-llama-cpp',
  'ollama',
  'portkey-ai',
  'replicate',
  'token.js',
  'xsai',
])
