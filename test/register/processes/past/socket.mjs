import { GoogleGenAI } from '@google/genai'
import OpenAI from 'openai'
import { OpenAIRealtimeWebSocket } from 'openai/realtime/websocket'
import { OpenAIRealtimeWS } from 'openai/realtime/ws'
import { LiveWS } from 'openai/resources/live/ws'
import { ResponsesWS } from 'openai/resources/responses/ws'

// Nobody listens at the other end: what counts is that one is made.
const client = new OpenAI()
const make = {
  ResponsesWS: () => new ResponsesWS(client),
  OpenAIRealtimeWS: () => OpenAIRealtimeWS.create(client, { model: 'gpt-realtime' }),
  OpenAIRealtimeWebSocket: () => new OpenAIRealtimeWebSocket({ model: 'gpt-realtime' }, client),
  LiveWS: () => new LiveWS(client),
  'a live session': () =>
    new GoogleGenAI({ apiKey: 'none' }).live.connect({ model: 'gemini-live', callbacks: { onmessage() {} } }),
}[process.argv[2]]

// That nobody answers is no matter.
const made = Promise.resolve(make()).catch((error) => {
  if (error.code === 'NOT_CAPABLE') throw error
})
const socket = await Promise.race([made, new Promise((resolve) => setTimeout(resolve, 100))])
socket?.on?.('error', () => {})
console.log('made')
process.exit(0)
