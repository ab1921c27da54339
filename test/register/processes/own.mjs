// Attaches what it uses by itself.
import { GoogleGenAI } from '@google/genai'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import * as agents from '@openai/agents'
import * as ai from 'ai'
import { MockLanguageModelV4 } from 'ai/test'
import { HookDispatcher } from 'hookspan'
import { observeAISDK } from 'hookspan/ai-sdk'
import { observeGoogleGenAI } from 'hookspan/google-genai'
import { observeMcpClient, observeMcpServer } from 'hookspan/mcp'
import { observeAgents } from 'hookspan/openai-agents'

const dispatcher = new HookDispatcher()
const heard = []
const hook = (type) => ({ id: type, type, handler: () => heard.push(type) })
dispatcher.use({ name: 'own', hooks: [hook('onStart'), hook('beforeLlmCall')] })

const { generateText } = observeAISDK(ai, { dispatcher })
const tokens = { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0, text: 1, reasoning: 0 }
const model = new MockLanguageModelV4({
  doGenerate: async () => ({
    content: [{ type: 'text', text: 'hi' }],
    finishReason: { unified: 'stop', raw: '' },
    usage: { inputTokens: tokens, outputTokens: tokens },
    warnings: [],
  }),
})
await generateText({ model, prompt: 'hi' })
console.log('ai:', heard.splice(0).join())

observeMcpClient(new Client({ name: 'c', version: '1' }), { dispatcher })
observeMcpServer(new McpServer({ name: 's', version: '1' }), { dispatcher })
observeAgents(agents, { dispatcher })

const httpOptions = { baseUrl: process.env.OPENAI_BASE_URL.replace(/\/v1$/, '') }
const google = observeGoogleGenAI(new GoogleGenAI({ apiKey: 'none', httpOptions }), { dispatcher })
await google.models.generateContent({ model: 'gemini-2.5-flash', contents: 'hi' })
console.log('google:', heard.splice(0).join())
