/** The packages that an adapter attaches to, and the adapter's subpath. `doctor` and `init` walk this list. */
export const KNOWN_SDKS = [
  ['openai', 'openai'],
  ['groq-sdk', 'openai'],
  ['together-ai', 'openai'],
  ['@cerebras/cerebras_cloud_sdk', 'openai'],
  ['ai', 'ai-sdk'],
  ['@openai/agents', 'openai-agents'],
  ['langchain', 'langchain'],
  ['@anthropic-ai/sdk', 'anthropic'],
  ['@google/genai', 'google-genai'],
  ['@anthropic-ai/claude-agent-sdk', 'claude-agent'],
  ['@mastra/core', 'mastra'],
  ['@google/adk', 'google-adk'],
  ['@github/copilot-sdk', 'copilot'],
  ['@strands-agents/sdk', 'strands'],
  ['@modelcontextprotocol/sdk', 'mcp'],
  ['@modelcontextprotocol/client', 'mcp'],
  ['@modelcontextprotocol/server', 'mcp'],
] as const

export type AdapterName = (typeof KNOWN_SDKS)[number][1]
