import { BaseLlm, FunctionTool, InMemoryRunner, LlmAgent, LogLevel, setLogLevel } from '@google/adk'

setLogLevel(LogLevel.ERROR)
const TURNS = [[{ functionCall: { id: '1', name: 'wipe', args: { what: 'all' } } }], [{ text: 'done' }]]
class Scripted extends BaseLlm {
  async *generateContentAsync() {
    yield { content: { role: 'model', parts: TURNS.shift() ?? [] } }
  }
}
const wipe = new FunctionTool({
  name: 'wipe',
  description: 'Wipes.',
  parameters: { type: 'object', properties: { what: { type: 'string' } } },
  execute: ({ what }) => {
    console.log(`${what} is wiped`)
    return 'wiped'
  },
})
const agent = new LlmAgent({ name: 'cleaner', model: new Scripted({ model: 'scripted' }), tools: [wipe] })
const runner = new InMemoryRunner({ agent, appName: 'app' })
const newMessage = { role: 'user', parts: [{ text: 'Clean up.' }] }
for await (const { content } of runner.runEphemeral({ userId: 'u', newMessage })) {
  for (const { text } of content?.parts ?? []) if (text !== undefined) console.log(text)
}
