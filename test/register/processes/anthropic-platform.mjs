// As @anthropic-ai/bedrock-sdk, -vertex-sdk and -foundry-sdk are built: on the file of the client, not on the package's entry.
const [, , kind] = process.argv
if (kind === 'entry-first') await import('@anthropic-ai/sdk')
const { Anthropic, BaseAnthropic } = await import('@anthropic-ai/sdk/client')
const { Beta, Messages } = await import('@anthropic-ai/sdk/resources/index')
if (kind === 'entry-last') await import('@anthropic-ai/sdk')

class Bedrock extends BaseAnthropic {
  messages = new Messages(this)
  beta = new Beta(this)
}
class Foundry extends Anthropic {}
const wipe = {
  name: 'wipe',
  input_schema: { type: 'object', properties: { what: { type: 'string' } } },
  run: async ({ what }) => {
    console.log(`${what} is wiped`)
    return 'wiped'
  },
}
const request = {
  model: 'claude-opus-4-6',
  max_tokens: 100,
  messages: [{ role: 'user', content: 'Clean up.' }],
}
for (const Client of [Bedrock, Foundry]) {
  const client = new Client({ apiKey: 'none' })
  await client.messages.create({ ...request, messages: [{ role: 'user', content: 'Hello.' }] })
  await client.beta.messages.toolRunner({ ...request, tools: [wipe], max_iterations: 1 })
}
