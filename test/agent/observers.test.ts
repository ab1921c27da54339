import { HookDispatcher } from 'hookspan'
import { type Agent, type AgentRun, type AgentTool, execAgent } from 'hookspan/agent'
import { expect, it } from 'vitest'
import { MISBEHAVING } from '../core/misbehaving.ts'
import { failures, type Handler, hooksOfEveryType, turn } from '../core/support.ts'
import { statelessModel } from '../support/stateless-model.ts'

const tool = (name: string, execute: AgentTool['execute'], more: Partial<AgentTool> = {}): AgentTool => ({
  name,
  parameters: { type: 'object' },
  execute,
  ...more,
})
const researcher: Agent = {
  name: 'researcher',
  model: 'stateless',
  tools: [tool('look', async () => turn().then(() => ({ found: ['a', 'b'] })))],
}
const support: Agent = {
  name: 'support',
  model: 'stateless',
  subAgents: [researcher],
  tools: [
    tool('slow', async () => {
      await turn()
      return 'slow'
    }),
    tool('fast', () => ({ text: 'fast' })),
    tool('fails', () => Promise.reject(new TypeError('no such city'))),
    tool('asks', (args) => args, { needsApproval: true }),
  ],
}

/** What the model answers to the n-th message of a conversation. */
const call = (id: string, name: string, args: object = {}) => ({ id, name, args })
const TURNS = [
  { calls: [call('1', 'slow'), call('2', 'fast'), call('2', 'fails')] },
  { calls: [call('3', 'asks', { sum: 5 }), call('4', 'researcher', { instruction: 'Find it.' })] },
  { content: 'Done.' },
]

/** One run of an agent that does what agents do, what the model was told on the way, and what came of it. */
async function runWith(handler?: (dispatcher: HookDispatcher) => Handler) {
  const told: unknown[] = []
  const client = statelessModel((messages, asked) => {
    told.push(messages)
    const answered = messages.filter(({ role }) => role === 'assistant').length
    if (asked.tools?.length === 1)
      return answered === 0 ? { calls: [call('l', 'look')] } : { content: 'It is b.' }
    return TURNS[answered] ?? { content: 'Too far.' }
  })
  const dispatcher = new HookDispatcher({ mockTimeoutMs: 5, ...failures() })
  const run: AgentRun = await execAgent({
    agent: support,
    prompt: 'go',
    client,
    dispatcher,
    operationId: 'run',
    priceOf: () => 0.01,
    approver: async () => ({ decision: 'edit', args: { sum: 1 } }),
    ...(handler && { hooks: hooksOfEveryType(handler(dispatcher), { timeoutMs: 50 }) }),
  })
  return { told, run }
}

it.each(Object.entries(MISBEHAVING))(
  'a hook whose handler %s leaves what the model is told, the answer and the costs of a run as they are',
  async (_name, make) => {
    const bare = await runWith()
    expect(bare.run).toMatchObject({ status: 'done', content: 'Done.', steps: 3 })
    expect(bare.told).toHaveLength(5)

    expect(await runWith(make)).toEqual(bare)
  },
)
