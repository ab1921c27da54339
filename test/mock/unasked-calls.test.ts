import * as ai from 'ai'
import { HookDispatcher } from 'hookspan'
import { observeAISDK } from 'hookspan/ai-sdk'
import {
  callTool,
  type MockToolsOptions,
  mock,
  mockTools,
  type ScriptedStep,
  scriptedFetch,
} from 'hookspan/mock'
import { observeOpenAI } from 'hookspan/openai'
import OpenAI from 'openai'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { scripted } from '../../examples/ai-sdk/scripted.ts'
import { thrownBy } from './support/run-tools.ts'

const refund = { tool: 'refund', input: { id: '7' } }

/** Has a tool `refund` that takes no `id`, or none of that name. */
async function askAISDK(
  dispatcher: HookDispatcher,
  name = 'refund',
  said: (string | typeof refund)[] = [refund, 'Done.'],
) {
  const { generateText } = observeAISDK(ai, { dispatcher, agentName: 'shop' })
  const inputSchema = z.object({ order: z.string() })
  const tools = {
    [name]: ai.tool({ inputSchema, execute: () => 'ran' }),
    find: ai.tool({ inputSchema: z.object({}), execute: () => 'ran' }),
  }
  const find = { tool: 'find', input: {} } as unknown as typeof refund
  await generateText({ model: scripted([find, ...said]), tools, prompt: 'go', stopWhen: ai.isStepCount(9) })
}

const afterwards = (rule = mock('*').returns({ ok: true }), options: MockToolsOptions = {}) => {
  const dispatcher = new HookDispatcher()
  return { dispatcher, mocks: mockTools(dispatcher, [rule], options) }
}

describe('a call that the SDK fails itself, before a mock is asked', () => {
  it('fails the test where a rule says what it gave, for its arguments', async () => {
    const { dispatcher, mocks } = afterwards()
    await askAISDK(dispatcher)
    expect(mocks.calls('refund')).toEqual([])
    const failure = thrownBy(() => mocks.assertUsed())
    expect(failure.code).toBe('MOCK_ARGUMENTS')
    expect(failure.message).toBe(
      'A call of "refund" breaks the tool\'s input schema.\n' +
        '  called   refund({"id":"7"})  in shop, step 1, call call_2\n' +
        '  rule     mock("*").returns({"ok":true})\n' +
        '  args.order: is required, got `undefined`\n' +
        '  args.id: is not a property of the schema, got `"7"` (string)',
    )
  })

  it('fails it where a rule is optional, and for what only the SDK can tell', async () => {
    const dispatcher = new HookDispatcher()
    const mocks = mockTools(dispatcher, [mock('refund').optional().returns(1)])
    const operation = dispatcher.startOperation({ agentName: 'shop' })
    const call = { apiName: 'refund', args: {}, failed: { error: new Error('the id is no UUID') } }
    await operation.toolCall(call, () => 'ran')
    await operation.complete()
    const { code, message } = thrownBy(() => mocks.assertUsed())
    expect(code).toBe('MOCK_ARGUMENTS')
    expect(message).toMatch(
      /^A call of "refund" failed before a mock was asked\.[\s\S]*because {2}the id is no UUID$/,
    )
  })

  it('is not told to have never been made', async () => {
    const { dispatcher, mocks } = afterwards(mock('refund').returns(1), { schemas: 'off' })
    mocks.use(mock('find').returns(1))
    await askAISDK(dispatcher)
    const { code, message } = thrownBy(() => mocks.assertUsed())
    expect(code).toBe('MOCK_UNUSED')
    expect(message).toMatch(
      /called {3}refund\(\{"id":"7"}\) {2}in shop, [^\n]*, failed before a mock was asked: Invalid input/,
    )
  })

  it('fails the test where its agent has no such tool any more', async () => {
    const { dispatcher, mocks } = afterwards()
    await askAISDK(dispatcher, 'pay')
    const { code, message } = thrownBy(() => mocks.assertUsed())
    expect(code).toBe('MOCK_UNKNOWN_TOOL')
    expect(message).toMatch(
      /^A mock is for a call of tool "refund", which its agent does not have: mock\("\*"\)/,
    )
    expect(message).toMatch(/Tools: find, pay\.$/)
  })

  it('fails it in a loop of the openai package, too', async () => {
    const { dispatcher, mocks } = afterwards()
    const steps: ScriptedStep[] = [callTool('find'), callTool('refund'), { content: 'Done.' }]
    const openai = new OpenAI({ apiKey: 'none', fetch: scriptedFetch({ steps }) })
    const tool = (name: string) => ({
      type: 'function' as const,
      function: { name, description: '', parameters: {}, parse: JSON.parse, function: () => 'ran' },
    })
    await observeOpenAI(openai, { dispatcher })
      .chat.completions.runTools({ model: 'm', messages: [], tools: [tool('find'), tool('pay')] })
      .done()
    expect(thrownBy(() => mocks.assertUsed()).code).toBe('MOCK_UNKNOWN_TOOL')
  })

  it('is no matter where no rule says what it gave', async () => {
    const { dispatcher, mocks } = afterwards(mock('find').returns(1))
    await askAISDK(dispatcher)
    mocks.assertUsed()
    const failing = afterwards(mock('refund').optional().fails('no such order'))
    failing.mocks.use(mock('find').returns(1))
    await askAISDK(failing.dispatcher)
    failing.mocks.assertUsed()
  })
})
