import { GoogleGenAI } from '@google/genai'

const wipe = {
  tool: async () => ({ functionDeclarations: [{ name: 'wipe' }] }),
  callTool: async () => [{ functionResponse: { name: 'wipe', response: { output: 'wiped' } } }],
}
const { models } = new GoogleGenAI({ apiKey: 'none' })
const { text } = await models.generateContent({
  model: 'gemini-2.5-flash',
  contents: 'Clean up.',
  config: { tools: [wipe] },
})
console.log(text)
