import { GoogleGenAI } from '@google/genai'

const ai = new GoogleGenAI({ apiKey: 'none' })
const model = 'gemini-2.5-flash'
const first = await ai.interactions.create({ model, input: 'Where is order 7?' })
console.log(first.output_text)
const second = await ai.interactions.create({
  model,
  input: 'And order 8?',
  previous_interaction_id: first.id,
  stream: true,
})
for await (const event of second) {
  if (event.event_type === 'step.delta' && event.delta.type === 'text') process.stdout.write(event.delta.text)
}
