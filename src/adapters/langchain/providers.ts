/** In the conventions' words, whom a name of LangChain's means; undefined where they have none for it. */
export function providerNamed(from: string): string | undefined {
  return PROVIDERS.find(([word]) => word.test(from.toLowerCase()))?.[1]
}

const PROVIDERS: readonly (readonly [RegExp, string])[] = [
  [/azure/, 'azure.ai.openai'],
  [/openai/, 'openai'],
  [/anthropic/, 'anthropic'],
  [/vertex/, 'gcp.vertex_ai'],
  [/google|gemini/, 'gcp.gemini'],
  [/bedrock/, 'aws.bedrock'],
  [/mistral/, 'mistral_ai'],
  [/groq/, 'groq'],
  [/cohere/, 'cohere'],
  [/deepseek/, 'deepseek'],
]
