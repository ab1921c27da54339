/**
 * Provider names by the host that is called: those of the OpenTelemetry GenAI conventions, and the names under which
 * the others are known where there is none.
 */
const BY_HOST: readonly (readonly [RegExp, string])[] = [
  [/\.(openai|cognitiveservices)\.azure\.(com|us|cn)$/, 'azure.ai.openai'],
  [
    /(\.services\.ai|\.models\.ai|(^|\.)inference\.ai)\.azure\.com$|^models\.github\.ai$/,
    'azure.ai.inference',
  ],
  [/(^|\.)anthropic\.com$/, 'anthropic'],
  [/(^|\.)cerebras\.ai$/, 'cerebras'],
  [/(^|\.)cohere\.(com|ai)$/, 'cohere'],
  [/(^|\.)deepseek\.com$/, 'deepseek'],
  [/(^|\.)fireworks\.ai$/, 'fireworks'],
  [/(^|\.)groq\.com$/, 'groq'],
  [/(^|\.)huggingface\.(co|cloud)$/, 'huggingface'],
  [/\.ml\.cloud\.ibm\.com$/, 'ibm.watsonx.ai'],
  [/(^|\.)mistral\.ai$/, 'mistral_ai'],
  [/(^|\.)moonshot\.(ai|cn)$/, 'moonshot_ai'],
  [/(^|\.)openrouter\.ai$/, 'openrouter'],
  [/(^|\.)perplexity\.ai$/, 'perplexity'],
  [/(^|\.)together\.(ai|xyz)$/, 'together'],
  // As it is named by the AI SDK, whose it is.
  [/^ai-gateway\.vercel\.sh$/, 'gateway'],
  [/(^|\.)x\.ai$/, 'x_ai'],
  [/(^|\.)(z\.ai|bigmodel\.cn)$/, 'zai'],
  [/^generativelanguage\.googleapis\.com$/, 'gcp.gemini'],
  [/(^|-|\.)aiplatform(\.[\w-]+\.rep)?\.googleapis\.com$/, 'gcp.vertex_ai'],
  [/^bedrock[\w-]*\.[\w.-]+\.(amazonaws\.com(\.cn)?|api\.aws)$/, 'aws.bedrock'],
]

/** Who is called, as far as a base URL tells. Compatible servers nobody has a name for count as `openai`. */
export interface ModelServer {
  readonly provider: string
  readonly serverAddress?: string
  readonly serverPort?: number
}

export function modelServer(baseURL: unknown): ModelServer {
  if (typeof baseURL !== 'string' || !URL.canParse(baseURL)) return { provider: 'openai' }
  const { hostname, port, protocol, pathname } = new URL(baseURL)
  const known = BY_HOST.find(([host]) => host.test(hostname))?.[1] ?? 'openai'
  // Azure's Foundry speaks both: OpenAI's API has a path of its own.
  const foundry = known === 'azure.ai.inference' && pathname.startsWith('/openai')
  return {
    provider: foundry ? 'azure.ai.openai' : known,
    serverAddress: hostname,
    serverPort: port === '' ? (protocol === 'http:' ? 80 : 443) : Number(port),
  }
}
