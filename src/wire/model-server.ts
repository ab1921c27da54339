/** OpenTelemetry GenAI provider names, by the host that is called. */
const BY_HOST: readonly (readonly [RegExp, string])[] = [
  [/(^|\.)openai\.azure\.com$/, 'azure.ai.openai'],
  [/(^|\.)services\.ai\.azure\.com$/, 'azure.ai.inference'],
  [/(^|\.)anthropic\.com$/, 'anthropic'],
  [/(^|\.)deepseek\.com$/, 'deepseek'],
  [/(^|\.)groq\.com$/, 'groq'],
  [/(^|\.)mistral\.ai$/, 'mistral_ai'],
  [/(^|\.)perplexity\.ai$/, 'perplexity'],
  [/(^|\.)x\.ai$/, 'x_ai'],
  [/^generativelanguage\.googleapis\.com$/, 'gcp.gemini'],
  [/(^|-)aiplatform\.googleapis\.com$/, 'gcp.vertex_ai'],
  [/^bedrock[^/]*\.amazonaws\.com$/, 'aws.bedrock'],
]

/** Who is called, as far as a base URL tells. Compatible servers nobody has a name for count as `openai`. */
export interface ModelServer {
  readonly provider: string
  readonly serverAddress?: string
  readonly serverPort?: number
}

export function modelServer(baseURL: unknown): ModelServer {
  if (typeof baseURL !== 'string' || !URL.canParse(baseURL)) return { provider: 'openai' }
  const { hostname, port, protocol } = new URL(baseURL)
  const known = BY_HOST.find(([host]) => host.test(hostname))
  return {
    provider: known?.[1] ?? 'openai',
    serverAddress: hostname,
    serverPort: port === '' ? (protocol === 'http:' ? 80 : 443) : Number(port),
  }
}
