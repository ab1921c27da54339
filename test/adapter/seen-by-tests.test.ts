import { AIMessage, HumanMessage } from '@langchain/core/messages'
import { fakeModel } from '@langchain/core/testing'
import { MemorySaver } from '@langchain/langgraph'
import * as agents from '@openai/agents'
import { assistantMessage, functionCall, ScriptedModel } from '@openai/agents/testing'
import * as ai from 'ai'
import { observeAISDK } from 'hookspan/ai-sdk'
import { hookspanMiddleware } from 'hookspan/langchain'
import { mock } from 'hookspan/mock'
import { observeAgents } from 'hookspan/openai-agents'
import { expect, test } from 'hookspan/vitest'
import { createAgent, humanInTheLoopMiddleware, tool } from 'langchain'
import { z } from 'zod'
import { scripted } from '../../examples/ai-sdk/scripted.ts'

const schema = z.object({ id: z.string() })

test('a human whom the AI SDK asks itself is asked, and the call is none yet', async ({
  dispatcher,
  mocks,
  trace,
}) => {
  const { generateText, tool } = observeAISDK(ai, { dispatcher })
  const { content } = await generateText({
    model: scripted([{ tool: 'refund', input: { id: '7' } }]),
    tools: { refund: tool({ inputSchema: schema, needsApproval: true, execute: () => 'paid' }) },
    prompt: 'Refund order 7.',
  })
  expect(content.map(({ type }) => type)).toContain('tool-approval-request')
  expect(mocks.calls('refund')).toEqual([])
  expect(trace).toHaveAskedHuman('refund', { times: 1 })
})

test('a human whom LangChain asks itself is asked, and the call is none yet', async ({
  dispatcher,
  mocks,
  trace,
}) => {
  const agent = createAgent({
    model: fakeModel()
      .respondWithTools([{ name: 'refund', args: { id: '7' }, id: '1' }])
      .respond(new AIMessage('done')),
    tools: [tool(() => 'paid', { name: 'refund', description: 'Refunds an order.', schema })],
    middleware: [
      hookspanMiddleware({ dispatcher }),
      humanInTheLoopMiddleware({ interruptOn: { refund: true } }),
    ],
    checkpointer: new MemorySaver(),
  })
  const input = { messages: [new HumanMessage('Refund order 7.')] }
  const result = await agent.invoke(input, { configurable: { thread_id: '7' } })
  expect(result).toHaveProperty('__interrupt__')
  expect(mocks.calls('refund')).toEqual([])
  expect(trace).toHaveAskedHuman('refund', { times: 1 })
})

test('what is called after a handoff is called by the agent of the run', async ({
  dispatcher,
  mocks,
  trace,
}) => {
  mocks.use(mock('support > find').optional().returns('x'), mock('triage > find').returns('shipped'))
  const find = agents.tool({
    ...{ name: 'find', description: 'Finds an order.', parameters: schema },
    execute: () => 'real',
  })
  const support = new agents.Agent({
    name: 'support',
    model: new ScriptedModel([
      [functionCall('find', { id: '7' }, { callId: '2' })],
      [assistantMessage('It is shipped.')],
    ]),
    tools: [find],
  })
  const triage = new agents.Agent({
    name: 'triage',
    model: new ScriptedModel([[functionCall('transfer_to_support', {}, { callId: '1' })]]),
    handoffs: [support],
  })
  const runner = observeAgents(new agents.Runner({ tracingDisabled: true }), { dispatcher })
  await runner.run(triage, 'Where is order 7?')
  expect(trace).toMatchTrajectory(['transfer_to_support', { name: 'find', agent: 'triage' }])
})

test('a default of an argument is seen on the AI SDK, and not where the tool itself fills it in', async ({
  dispatcher,
  mocks,
}) => {
  mocks.use(mock('find').returns('shipped'))
  const withDefault = z.object({ id: z.string(), limit: z.number().default(10) })
  const observed = observeAISDK(ai, { dispatcher })
  await observed.generateText({
    model: scripted([{ tool: 'find', input: { id: '7' } }, 'done']),
    tools: { find: observed.tool({ inputSchema: withDefault, execute: () => 'real' }) },
    prompt: 'Where is order 7?',
    stopWhen: ai.isStepCount(3),
  })
  const agent = createAgent({
    model: fakeModel()
      .respondWithTools([{ name: 'find', args: { id: '7' }, id: '1' }])
      .respond(new AIMessage('done')),
    tools: [tool(() => 'real', { name: 'find', description: 'Finds an order.', schema: withDefault })],
    middleware: [hookspanMiddleware({ dispatcher })],
  })
  await agent.invoke({ messages: [new HumanMessage('Where is order 7?')] })
  expect(mocks.calls('find').map(({ args }) => args)).toEqual([{ id: '7', limit: 10 }, { id: '7' }])
})

test('a mock for any tool answers for a sub-agent, too', async ({ dispatcher, mocks }) => {
  mocks.use(mock('*').returns('found'))
  const researcher = new agents.Agent({ name: 'researcher', model: new ScriptedModel([]) })
  const boss = new agents.Agent({
    name: 'boss',
    model: new ScriptedModel([
      [functionCall('researcher', { input: 'x' }, { callId: '1' })],
      [assistantMessage('done')],
    ]),
    tools: [researcher.asTool({ toolName: 'researcher', toolDescription: 'Finds things.' })],
  })
  await observeAgents(new agents.Runner({ tracingDisabled: true }), { dispatcher }).run(boss, 'x')
  expect(mocks.calls()).toMatchObject([{ apiName: 'researcher', answeredBy: 'mock' }])
})
