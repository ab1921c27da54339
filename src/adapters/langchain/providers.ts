/** Whose model it is in the conventions' words, or else as LangChain names it (`ls_provider`), by that and what else says so. */
export function providerNamed(own: string | undefined, ...more: readonly unknown[]): string {
  const said = [own, ...more].join(' ').toLowerCase()
  return PROVIDERS.find(([word]) => word.test(said))?.[1] ?? own ?? 'unknown'
}

/** Models of others are made out of OpenAI's, and of what is Vertex' LangChain says Google, too. */
const PROVIDERS: readonly (readonly [RegExp, string])[] = [
  [/azure/, 'azure.ai.openai'],
  [/anthropic/, 'anthropic'],
  [/vertex/, 'gcp.vertex_ai'],
  [/google|gemini/, 'gcp.gemini'],
  [/bedrock/, 'aws.bedrock'],
  [/mistral/, 'mistral_ai'],
  [/groq/, 'groq'],
  [/cohere/, 'cohere'],
  [/deepseek/, 'deepseek'],
  [/\bxai\b/, 'x_ai'],
  [/openai/, 'openai'],
]
