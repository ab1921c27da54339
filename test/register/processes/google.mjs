import { GoogleGenAI } from '@google/genai'

const ai = new GoogleGenAI({ apiKey: 'none' })
const model = 'gemini-2.5-flash'
const chat = ai.chats.create({ model })
console.log((await chat.sendMessage({ message: 'Where is order 7?' })).text)
console.log((await chat.sendMessage({ message: 'And order 8?' })).text)
