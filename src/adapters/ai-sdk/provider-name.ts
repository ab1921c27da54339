/** OpenTelemetry's names for what the SDK's providers call themselves. */
const NAMES: readonly (readonly [RegExp, string])[] = [
  [/^azure/, 'azure.ai.openai'],
  [/^openai/, 'openai'],
  [/^(vertex|google\.vertex)/, 'gcp.vertex_ai'],
  [/^google/, 'gcp.gemini'],
  [/^(amazon-)?bedrock/, 'aws.bedrock'],
  [/^anthropic/, 'anthropic'],
  [/^mistral/, 'mistral_ai'],
  [/^xai/, 'x_ai'],
  [/^moonshot/, 'moonshot_ai'],
  [/^together/, 'together'],
]

/** @param provider as models say it: `openai.chat`, `anthropic.messages`, `google.generative-ai`, ... */
export function providerName(provider: unknown): string {
  if (typeof provider !== 'string' || provider === '') return 'unknown'
  const known = NAMES.find(([word]) => word.test(provider))?.[1]
  return known ?? (provider.split('.')[0] || provider)
}
