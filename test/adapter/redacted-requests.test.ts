import { type BaseMessage, HumanMessage, SystemMessage } from '@langchain/core/messages'
import { FakeChatModel } from '@langchain/core/utils/testing'
import { Agent, OpenAIProvider, Runner } from '@openai/agents'
import { HookDispatcher } from 'hookspan'
import { hookspanMiddleware } from 'hookspan/langchain'
import { scriptedFetch } from 'hookspan/mock'
import { observeOpenAI } from 'hookspan/openai'
import { observeAgents } from 'hookspan/openai-agents'
import { redact } from 'hookspan/policies'
import { createAgent } from 'langchain'
import OpenAI from 'openai'
import { describe, expect, it } from 'vitest'

const MAIL = 'bob@example.org'

function cleaning(): HookDispatcher {
  const dispatcher = new HookDispatcher()
  dispatcher.use({ name: 'careful', gates: [redact({ in: ['modelInput'] })] })
  return dispatcher
}

describe('what a model is asked, cleaned by redact', () => {
  /** Keeps what the model itself is given. */
  class Asked extends FakeChatModel {
    readonly asked: BaseMessage[] = []

    override bindTools(): this {
      return this
    }

    override async _generate(...[messages, options, manager]: Parameters<FakeChatModel['_generate']>) {
      this.asked.push(...messages)
      return super._generate(messages, options, manager)
    }
  }

  it.each([
    ['a text', `Write to ${MAIL}.`],
    ['a message', new SystemMessage(`Write to ${MAIL}.`)],
    [
      'parts, whose settings stay',
      new SystemMessage({ content: [{ type: 'text', text: MAIL, cache_control: { type: 'ephemeral' } }] }),
    ],
  ])('in LangChain the system prompt is, given as %s', async (_what, systemPrompt) => {
    const model = new Asked({})
    const middleware = [hookspanMiddleware({ dispatcher: cleaning(), agentName: 'a' })]
    const agent = createAgent({ model, tools: [], systemPrompt, middleware })
    await agent.invoke({ messages: [new HumanMessage(`I am ${MAIL}.`)] })
    const asked = JSON.stringify(model.asked.map(({ type, content }) => ({ type, content })))
    expect(asked).not.toContain(MAIL)
    expect(asked.match(/\[email\]/g)).toHaveLength(2)
    expect(asked.includes('cache_control')).toBe(JSON.stringify(systemPrompt).includes('cache_control'))
  })

  it('in the Agents SDK the variables of a stored prompt are', async () => {
    const fetch = scriptedFetch({ steps: [{ content: 'done' }] })
    const openAIClient = new OpenAI({ apiKey: 'k', fetch }) as never
    const modelProvider = new OpenAIProvider({ openAIClient, useResponses: true })
    const runner = observeAgents(new Runner({ modelProvider, tracingDisabled: true }), {
      dispatcher: cleaning(),
    })
    const prompt = { promptId: 'pmpt_1', version: '2', variables: { customer: MAIL } }
    await runner.run(new Agent({ name: 'a', model: 'gpt-4o', prompt }), 'go')
    expect(fetch.requests[0]?.body).toMatchObject({
      prompt: { id: 'pmpt_1', version: '2', variables: { customer: '[email]' } },
    })
  })

  it('of OpenAI’s client a predicted text and a suffix are', async () => {
    const bodies: object[] = []
    const fetch: typeof globalThis.fetch = async (_url, init) => {
      bodies.push(JSON.parse(String(init?.body)))
      return Response.json({ choices: [] })
    }
    const client = observeOpenAI(new OpenAI({ apiKey: 'k', fetch }), { dispatcher: cleaning() })
    const messages = [{ role: 'user' as const, content: 'go' }]
    await client.chat.completions.create({
      model: 'm',
      messages,
      prediction: { type: 'content', content: MAIL },
    })
    await client.completions.create({ model: 'm', prompt: 'go', suffix: MAIL })
    expect(bodies).toMatchObject([{ prediction: { content: '[email]' } }, { suffix: '[email]' }])
  })
})
