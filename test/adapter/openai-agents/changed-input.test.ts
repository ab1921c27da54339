import { Agent, type AgentInputItem, OpenAIProvider, Runner } from '@openai/agents'
import { HookDispatcher } from 'hookspan'
import { type Gate, mutate } from 'hookspan/gates'
import { scriptedFetch } from 'hookspan/mock'
import { observeAgents } from 'hookspan/openai-agents'
import { redact } from 'hookspan/policies'
import OpenAI from 'openai'
import { describe, expect, it } from 'vitest'

const MAIL = 'bob@example.org'

const SIGNED = { google: { thought_signature: 'Eq8=' } }

type Body = Record<string, unknown>

/** What the SDK sends of a conversation under a gate that changes it. */
async function sent(input: object[], { gate = redact({ in: ['modelInput'] }), useResponses = true } = {}) {
  const dispatcher = new HookDispatcher()
  dispatcher.use({ name: 'careful', gates: [gate] })
  const fetch = scriptedFetch({ steps: [{ content: 'done' }] })
  const openAIClient = new OpenAI({ apiKey: 'k', fetch }) as never
  const modelProvider = new OpenAIProvider({ openAIClient, useResponses })
  const runner = observeAgents(new Runner({ modelProvider, tracingDisabled: true }), { dispatcher })
  await runner.run(new Agent({ name: 'a', model: 'gpt-5' }), input as AgentInputItem[])
  const body = fetch.requests[0]?.body as Body
  return (useResponses ? body.input : body.messages) as Body[]
}

function user(text: string, providerData = {}) {
  return { role: 'user', content: [{ type: 'input_text', text, providerData }] }
}

describe('a request that a gate changes', () => {
  it('keeps of its items what only the provider reads', async () => {
    const input = await sent([
      user(`I am ${MAIL}.`, { cache_control: { type: 'ephemeral' } }),
      {
        type: 'reasoning',
        id: 'rs_1',
        content: [{ type: 'input_text', text: `Ask ${MAIL}.` }],
        providerData: { encrypted_content: 'gAAA' },
      },
      {
        ...{ type: 'function_call', id: 'fc_1', callId: 'c1', name: 'look', status: 'completed' },
        arguments: `{"q":"${MAIL}"}`,
        providerData: { extra_content: SIGNED },
      },
      {
        ...{ type: 'function_call_result', callId: 'c1', name: 'look', status: 'completed' },
        output: { type: 'text', text: `${MAIL} is known` },
        caller: { type: 'program', callerId: 'p1' },
        providerData: { cache_control: { type: 'ephemeral' } },
      },
    ])

    expect(JSON.stringify(input)).not.toContain(MAIL)
    expect(input).toMatchObject([
      { content: [{ type: 'input_text', text: 'I am [email].', cache_control: { type: 'ephemeral' } }] },
      { id: 'rs_1', summary: [{ type: 'summary_text', text: 'Ask [email].' }], encrypted_content: 'gAAA' },
      { call_id: 'c1', arguments: '{"q":"[email]"}', extra_content: SIGNED },
      { output: '[email] is known', caller: { caller_id: 'p1' }, cache_control: { type: 'ephemeral' } },
    ])
  })

  it('cleans the calls that the provider has run, and what the SDK does not know', async () => {
    const found = { type: 'file_search_call', id: 'fs_1', queries: ['who'], results: [{ text: MAIL }] }
    const input = await sent([
      { type: 'hosted_tool_call', name: 'file_search_call', status: 'completed', providerData: found },
      { type: 'unknown', id: 'x_1', providerData: { type: 'news', text: MAIL } },
    ])
    expect(input).toMatchObject([
      { type: 'file_search_call', status: 'completed', queries: ['who'], results: [{ text: '[email]' }] },
      { type: 'news', id: 'x_1', text: '[email]' },
    ])
  })

  it('does not say once more beside a text what was taken out', async () => {
    const args = `{"to":"${MAIL}"}`
    const calls = [{ id: 'c1', type: 'function', function: { name: 'write', arguments: args } }]
    const said = { type: 'output_text', text: 'Writing.', providerData: { tool_calls: calls, seen: true } }
    const call = { type: 'function_call', callId: 'c1', name: 'write', arguments: args, status: 'completed' }
    const result = {
      ...{ type: 'function_call_result', callId: 'c1', name: 'write', status: 'completed' },
      output: { type: 'text', text: 'sent' },
    }
    const conversation = [
      user('Write.'),
      { type: 'message', role: 'assistant', status: 'completed', content: [said] },
      { ...call, providerData: { type: 'function', extra_content: SIGNED } },
      result,
    ]
    const messages = await sent(conversation, { useResponses: false })
    expect(JSON.stringify(messages)).not.toContain(MAIL)
    expect(messages[1]).toMatchObject({
      content: [{ type: 'text', text: 'Writing.', seen: true }],
      tool_calls: [{ id: 'c1', function: { arguments: '{"to":"[email]"}' }, extra_content: SIGNED }],
    })

    const trim: Gate = {
      id: 'trim',
      point: 'beforeLlmCall',
      decide: ({ payload }) => mutate({ input: (payload as { input: object[] }).input.slice(0, 2) }),
    }
    expect(JSON.stringify(await sent(conversation, { useResponses: false, gate: trim }))).not.toContain(MAIL)
  })

  it('finds an item again where others are gone', async () => {
    const last: Gate = {
      id: 'last',
      point: 'beforeLlmCall',
      decide: ({ payload }) => {
        const { input } = JSON.parse(JSON.stringify(payload).replaceAll(MAIL, '***'))
        return mutate({ input: input.slice(1) })
      },
    }
    const thought = {
      ...{ type: 'reasoning', id: 'rs_1', providerData: { encrypted_content: 'gAAA' } },
      content: [{ type: 'input_text', text: MAIL }],
    }
    expect(await sent([user('Hi.'), thought], { gate: last })).toMatchObject([
      { id: 'rs_1', summary: [{ text: '***' }], encrypted_content: 'gAAA' },
    ])
  })
})
