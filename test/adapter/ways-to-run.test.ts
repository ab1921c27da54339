import { readdirSync } from 'node:fs'
import Anthropic from '@anthropic-ai/sdk'
import { GoogleGenAI } from '@google/genai'
import { Client as Client2 } from '@modelcontextprotocol/client'
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js'
import { Agent, Runner } from '@openai/agents'
import { ToolLoopAgent } from 'ai'
import OpenAI from 'openai'
import { expect, it } from 'vitest'
import { surfaceOf } from '../support/sdk-surface.ts'

/** What the client has beside its settings. */
const partsOf = (client: object) =>
  Object.fromEntries(
    Object.entries(client)
      .filter(([, part]) => typeof part === 'object' && part !== null && part.constructor !== Object)
      .map(([name]) => [name, () => {}]),
  )

const helpersOf = (name: string) =>
  Object.fromEntries(
    readdirSync(`node_modules/${name}/helpers`, { recursive: true, encoding: 'utf8' })
      .filter((file) => /^[^.]+\.d\.ts$/.test(file))
      .map((file) => [file.replace(/\.d\.ts$/, ''), () => {}]),
  )

it('of the SDKs are those that were looked at: each is observed, or its page says that it is not (`vitest -u` writes the list)', async () => {
  const anthropic = new Anthropic({ apiKey: 'k' })
  const openai = new OpenAI({ apiKey: 'k' })
  const google = new GoogleGenAI({ apiKey: 'k' })
  const client = new Client1({ name: 'x', version: '1' })
  const surface = surfaceOf({
    openai: partsOf(openai),
    'openai, chat.completions': openai.chat.completions.constructor,
    'openai, responses': openai.responses.constructor,
    'openai, helpers': helpersOf('openai'),
    anthropic: partsOf(anthropic),
    'anthropic, beta': partsOf(anthropic.beta),
    'anthropic, messages': anthropic.messages.constructor,
    'anthropic, beta.messages': anthropic.beta.messages.constructor,
    'anthropic, helpers': helpersOf('@anthropic-ai/sdk'),
    google: partsOf(google),
    'google, models': google.models.constructor,
    'mcp 1, Client': Client1,
    'mcp 1, tasks': client.experimental.tasks.constructor,
    'mcp 2, Client': Client2,
    'openai-agents, Agent': Agent,
    'openai-agents, Runner': Runner,
    'ai, ToolLoopAgent': ToolLoopAgent,
  })

  await expect(surface).toMatchFileSnapshot('ways-to-run.txt')
})
