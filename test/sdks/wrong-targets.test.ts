import { HookDispatcher } from 'hookspan'
import { observeClaudeAgent } from 'hookspan/claude-agent'
import { observeCopilot } from 'hookspan/copilot'
import { hookspanPlugin } from 'hookspan/google-adk'
import { observeMastra, unobserveMastra } from 'hookspan/mastra'
import { observeStrands } from 'hookspan/strands'
import { expect, it } from 'vitest'
import { scripted } from '../adapter/subjects/ai-sdk.ts'
import { refuseAlike } from '../adapter/wrong-targets.ts'
import { eventsOf, findAll } from '../support/told-events.ts'
import type { Untyped } from './support/sdks.ts'

const NAMES = ['@strands-agents/sdk', '@github/copilot-sdk', '@anthropic-ai/claude-agent-sdk', '@google/adk']
const [strands, copilot, claude, adk]: Untyped[] = await Promise.all(NAMES.map((name) => import(name)))
const MASTRA = ['@mastra/core', '@mastra/core/agent', '@mastra/core/workflows']
const [mastra, { Agent, ...agents }, workflows]: Untyped[] = await Promise.all(
  MASTRA.map((name) => import(name)),
)

const agentOf = (id: string) =>
  new Agent({ id, name: id, instructions: '', model: scripted([{ content: `${id} is done` }]) })
const support = agentOf('support')
const mastraOf = (more: object) => new mastra.Mastra({ logger: false, ...more })
const inputSchema = { type: 'object' }
const workflow = workflows.createWorkflow({ id: 'w', inputSchema, outputSchema: inputSchema })
const strandsAgent = new strands.Agent({ printer: false, model: {} })

refuseAlike({
  observeMastra: {
    observe: observeMastra,
    wants: /^Expected the first argument of observeMastra to be an Agent of @mastra\/core/,
    given: {
      'a Mastra': [
        mastraOf({ agents: { support } }),
        /the class Mastra\. Observe each of its agents: for \(const agent of Object\.values\(mastra\.listAgents\(\)\)\)/,
      ],
      'a workflow': [
        workflow,
        /the class Workflow\. Observe the agents that have it, or that its steps call/,
      ],
      'a list': [[support], /got a list\. Call observeMastra for each/],
      'the class': [Agent, /the class Agent\. Hand over an object of it: new Agent\(\)/],
      'the module': [agents, /got (a module|an object with)/],
      'what an agent is made with': [{ id: 'a', model: 'm' }, /an object with `id`, `model`/],
      'an agent of another SDK': [strandsAgent, /the class Agent/],
    },
  },
  observeStrands: {
    observe: observeStrands,
    wants: /^Expected the first argument of observeStrands to be an Agent of @strands-agents\/sdk/,
    given: {
      'the class': [strands.Agent, /new Agent\(\)/],
      'the module': [strands, /got a module/],
      'a list': [[strandsAgent], /got a list/],
      'a graph': [
        new strands.Graph({ nodes: [strandsAgent], edges: [], maxSteps: 5 }),
        /the class Graph\. Observe each of its agents/,
      ],
      'a swarm': [
        new strands.Swarm({ nodes: [strandsAgent], maxSteps: 5 }),
        /the class Swarm\. Observe each/,
      ],
      'an agent of another SDK': [support, /the class Agent/],
    },
  },
  observeCopilot: {
    observe: observeCopilot,
    wants: /^Expected the first argument of observeCopilot to be a CopilotClient/,
    given: {
      'the class': [copilot.CopilotClient, /new CopilotClient\(\)/],
      'the module': [copilot, /got a module/],
    },
  },
  observeClaudeAgent: {
    observe: observeClaudeAgent,
    wants: /^Expected the first argument of observeClaudeAgent to be the function `query` of @anthropic-ai/,
    given: {
      'the module': [claude, /got a module/],
      'a class of it': [claude.AbortError, /the class/],
    },
  },
})

it('hookspanPlugin refuses an agent, and a misspelt key', () => {
  const agent = new adk.LlmAgent({ name: 'a', model: 'm' })
  expect(() => hookspanPlugin(agent)).toThrow('hookspanPlugin needs a `dispatcher`')
  const options = { dispatcher: new HookDispatcher(), agentname: 'a' }
  expect(() => hookspanPlugin(options as never)).toThrow('Did you mean `agentName`?')
})

it('what is observed already is refused with other options, and else the same', () => {
  const dispatcher = new HookDispatcher()
  const query: Untyped = observeClaudeAgent(claude.query, { dispatcher, agentName: 'a' })
  expect(observeClaudeAgent(query, { dispatcher })).toBe(query)
  expect(() => observeClaudeAgent(query, { dispatcher, agentName: 'b' })).toThrow(
    'This query is observed with another `agentName`. Give observeClaudeAgent the one of the SDK.',
  )
  const client = observeCopilot(new copilot.CopilotClient({ logLevel: 'error' }), {
    dispatcher,
    agentName: 'a',
  })
  expect(observeCopilot(client, { dispatcher })).toBe(client)
  expect(() => observeCopilot(client, { dispatcher, sdkSpans: 'nest' })).toThrow(
    'This client is observed with another `sdkSpans`. Call unobserveCopilot() on it first.',
  )
})

it('an agent that a Mastra gives by its key or its id is the one, observed once however often, in two of them', async () => {
  const dispatcher = new HookDispatcher()
  const events = eventsOf(dispatcher)
  const agent = agentOf('shared')
  const [one, two] = [mastraOf({ agents: { byKey: agent } }), mastraOf({ agents: { other: agent } })]
  for (const got of [one.getAgent('byKey'), one.getAgentById('shared'), two.getAgent('other')]) {
    expect(observeMastra(got, { dispatcher })).toBe(agent)
  }
  for (const got of Object.values<Untyped>(one.listAgents())) observeMastra(got, { dispatcher })
  expect((await two.getAgent('other').generate('go')).text).toBe('shared is done')
  await dispatcher.drain()
  expect(findAll(events, 'onStart').map(({ agentName }) => agentName)).toEqual(['shared'])
  expect(findAll(events, 'beforeLlmCall')).toHaveLength(1)
  expect(() => observeMastra(one.getAgent('byKey'), { dispatcher: new HookDispatcher() })).toThrow(
    'This agent is observed by another dispatcher',
  )
  unobserveMastra(agent)
})
