const { BaseLlm, InMemoryRunner, LlmAgent, LogLevel, Runner, setLogLevel } = require('@google/adk')

setLogLevel(LogLevel.ERROR)
class Scripted extends BaseLlm {
  async *generateContentAsync() {
    yield { content: { role: 'model', parts: [{ text: 'done' }] } }
  }
}
const agent = new LlmAgent({ name: 'cleaner', model: new Scripted({ model: 'scripted' }) })
const runner = new InMemoryRunner({ agent, appName: 'app' })
const newMessage = { role: 'user', parts: [{ text: 'Clean up.' }] }
async function main() {
  for await (const { content } of runner.runEphemeral({ userId: 'u', newMessage })) {
    for (const { text } of content?.parts ?? [])
      if (text !== undefined) console.log(text, runner instanceof Runner)
  }
}
main()
