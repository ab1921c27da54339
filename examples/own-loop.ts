/** Your own loop on the `openai` client, with every moment of it as an event and a span. */
import { HookDispatcher } from 'hookspan'
import { scriptedFetch } from 'hookspan/mock'
import OpenAI from 'openai'

// A scripted model, so that this runs without a key. Take it out to talk to the real one.
const fetch = scriptedFetch({
  steps: [
    { toolCalls: [{ id: 'call_1', name: 'get_weather', arguments: { city: 'Berlin' } }] },
    { content: 'It is 7 °C in Berlin.' },
  ],
})
const client = new OpenAI({ apiKey: 'none', fetch })

const tools: OpenAI.ChatCompletionTool[] = [
  { type: 'function', function: { name: 'get_weather', parameters: { type: 'object' } } },
]
const dispatcher = new HookDispatcher()

async function answer(question: string): Promise<string> {
  const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: question }]
  const op = dispatcher.startOperation({ agentName: 'weather' })
  try {
    for (;;) {
      const message = await op.step(async (step) => {
        const request = { model: 'gpt-4o', messages, tools }
        const reply = await step.llmCall({ model: 'gpt-4o', request }, () =>
          client.chat.completions.create(request),
        )
        const { message } = reply.choices[0]!
        messages.push(message)
        for (const call of message.tool_calls ?? []) {
          if (call.type !== 'function') continue
          const args = JSON.parse(call.function.arguments)
          const outcome = await step.toolCall(
            { toolCallId: call.id, apiName: call.function.name, args },
            getWeather,
          )
          messages.push(outcome.toToolMessage())
        }
        return message
      })
      if (!message.tool_calls?.length) {
        await op.complete({ content: message.content ?? '' })
        return message.content ?? ''
      }
    }
  } catch (error) {
    await op.fail(error)
    throw error
  }
}

function getWeather({ city }: { city: string }) {
  return { city, tempC: 7 }
}

dispatcher.use({
  name: 'console',
  hooks: [
    {
      id: 'llm',
      type: 'afterLlmCall',
      handler: (event) => console.log('model  ', event.response.finishReasons?.[0]),
    },
    {
      id: 'tool',
      type: 'afterToolCall',
      handler: (event) => console.log('tool   ', event.apiName, event.content),
    },
  ],
})
console.log('answer ', await answer('How warm is it in Berlin?'))
