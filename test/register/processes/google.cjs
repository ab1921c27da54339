const { GoogleGenAI } = require('@google/genai')

const ai = new GoogleGenAI({ apiKey: 'none' })
const model = 'gemini-2.5-flash'
ai.models
  .generateContent({ model, contents: 'Where is order 7?' })
  .then(({ text }) => console.log(text, ai instanceof GoogleGenAI))
