import Anthropic, * as anthropicModule from '@anthropic-ai/sdk'
import * as genai from '@google/genai'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import * as agents from '@openai/agents'
import * as ai from 'ai'
import { HookDispatcher } from 'hookspan'
import { observeAISDK } from 'hookspan/ai-sdk'
import { observeAnthropic } from 'hookspan/anthropic'
import { observeGoogleGenAI } from 'hookspan/google-genai'
import { hookspanMiddleware } from 'hookspan/langchain'
import { observeMcpClient, observeMcpServer } from 'hookspan/mcp'
import { observeOpenAI } from 'hookspan/openai'
import { observeAgents } from 'hookspan/openai-agents'
import { createAgent } from 'langchain'
import OpenAI, * as openaiModule from 'openai'
import { expect, it } from 'vitest'
import { refuseAlike, SECRET } from './wrong-targets.ts'

const openai = new OpenAI({ apiKey: SECRET })
const anthropic = new Anthropic({ apiKey: SECRET })
const google = new genai.GoogleGenAI({ apiKey: SECRET })
const client = new Client({ name: 'c', version: '1' })
const server = new McpServer({ name: 's', version: '1' })

refuseAlike({
  observeOpenAI: {
    observe: observeOpenAI,
    wants: /^Expected the first argument of observeOpenAI to be a client of the openai package/,
    given: {
      'the class': [OpenAI, /got the class OpenAI\. Hand over an object of it: new OpenAI\(\)/],
      'the module': [openaiModule, /got a module/],
      'what makes one': [() => openai, /\(function\)/],
      'a part of one': [openai.chat.completions, /the class Completions/],
      'the client of another SDK': [anthropic, /the class Anthropic/],
      'a list': [[openai], /got a list/],
    },
  },
  observeAnthropic: {
    observe: observeAnthropic,
    wants:
      /^Expected the first argument of observeAnthropic to be a client of the @anthropic-ai\/sdk package/,
    given: {
      'the class': [Anthropic, /new Anthropic\(\)/],
      'the module': [anthropicModule, /got a module/],
      'a part of one': [anthropic.messages, /the class Messages/],
      'the client of another SDK': [openai, /the class OpenAI/],
    },
  },
  observeGoogleGenAI: {
    observe: observeGoogleGenAI,
    wants: /^Expected the first argument of observeGoogleGenAI to be a GoogleGenAI of @google\/genai/,
    given: {
      'the class': [genai.GoogleGenAI, /new GoogleGenAI\(\)/],
      'the module': [genai, /got a module/],
      'a part of one': [google.models, /the class Models/],
      'a chat of one': [google.chats.create({ model: 'm' }), /the class Chat/],
      'the client of another SDK': [openai, /the class OpenAI/],
    },
  },
  observeAISDK: {
    observe: observeAISDK,
    wants:
      /^Expected the first argument of observeAISDK to be the ai package \(`import \* as ai`\), or an object/,
    given: {
      'one of its functions': [ai.generateText, /function generateText/],
      'the class of agents': [ai.ToolLoopAgent, /the class ToolLoopAgent/],
      'an agent': [new ai.ToolLoopAgent({ model: 'm' }), /an object of the class ToolLoopAgent/],
      'what is imported later': [import('ai'), /got a promise\. Await it first/],
    },
  },
  observeAgents: {
    observe: observeAgents,
    wants:
      /^Expected the first argument of observeAgents to be a Runner of @openai\/agents, or the module itself/,
    given: {
      'an agent': [new agents.Agent({ name: 'a' }), /an object of the class Agent/],
      'the class': [agents.Runner, /new Runner\(\)/],
      'the function that runs': [agents.run, /function run/],
      'a list': [[new agents.Runner()], /got a list/],
    },
  },
  observeMcpClient: {
    observe: observeMcpClient,
    wants: /^Expected the first argument of observeMcpClient to be a Client of @modelcontextprotocol/,
    given: {
      'the class': [Client, /new Client\(\)/],
      'a server': [server, /the class McpServer/],
      'a server below': [server.server, /the class Server/],
    },
  },
  observeMcpServer: {
    observe: observeMcpServer,
    wants: /^Expected the first argument of observeMcpServer to be an McpServer or a Server of the MCP SDK/,
    given: {
      'the class': [McpServer, /new McpServer\(\)/],
      'a client': [client, /the class Client/],
    },
  },
})

it('hookspanMiddleware refuses an agent: it is one of the things that an agent is made with', () => {
  const agent = createAgent({ model: 'openai:m', tools: [] })
  expect(() => hookspanMiddleware(agent as never)).toThrow('hookspanMiddleware needs a `dispatcher`')
})

it('functions of the AI SDK that are observed already are refused with other options, and else the same', () => {
  const dispatcher = new HookDispatcher()
  const observed = observeAISDK(ai, { dispatcher, agentName: 'shop' })
  expect(observeAISDK(observed, { dispatcher })).toBe(observed)
  expect(observeAISDK(observed, { dispatcher, agentName: 'shop', sdkSpans: 'omit' })).toBe(observed)
  const other = 'Give observeAISDK the ai package itself.'
  expect(() => observeAISDK(observed, { dispatcher, agentName: 'other' })).toThrow(
    `These functions are observed with another \`agentName\`. ${other}`,
  )
  expect(() => observeAISDK(observed, { dispatcher, sdkSpans: 'nest' })).toThrow('another `sdkSpans`')
  expect(() => observeAISDK(observed, { dispatcher: new HookDispatcher() })).toThrow(
    `These functions are observed by another dispatcher. ${other}`,
  )
})
