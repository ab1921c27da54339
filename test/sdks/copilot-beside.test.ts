import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { HookDispatcher } from 'hookspan'
import { observeCopilot } from 'hookspan/copilot'
import { mock, mockTools } from 'hookspan/mock'
import { toolPolicy } from 'hookspan/policies'
import { expect, it } from 'vitest'
import { activityTree } from '../support/activity-tree.ts'
import { configOf, scriptedCopilot, startClient } from './subjects/copilot.ts'
import type { Untyped } from './support/sdks.ts'

/** An agent that is started beside the session's own, with no prompt, asks for a tool. */
async function besides(dispatcher: HookDispatcher, call: (home: string) => object, more: object = {}) {
  const ran: unknown[] = []
  const tree = activityTree()
  dispatcher.use(tree.plugin)
  const copilot = await startClient()
  const server = await scriptedCopilot({
    contract: [
      { content: 'hello' },
      { toolCalls: [{ id: 'c1', ...call(copilot.home) }] },
      { content: 'done' },
    ] as Untyped,
  })
  const wipe = {
    name: 'wipe',
    description: 'Wipes.',
    parameters: { type: 'object', properties: { what: { type: 'string' } } },
    handler: async ({ what }: Untyped) => {
      ran.push(what)
      return 'wiped'
    },
  }
  try {
    observeCopilot(copilot.client, { dispatcher })
    const session = await copilot.client.createSession({
      ...configOf(server.baseURL, 'contract', [wipe]),
      workingDirectory: copilot.home,
      customAgents: [{ name: 'expert', prompt: 'Help.', tools: ['wipe', 'bash'], model: 'contract' }],
      ...more,
    })
    await session.sendAndWait('hi')
    const over = new Promise<void>((resolve) => {
      session.on(({ type }: Untyped) => {
        if (type === 'subagent.completed' || type === 'subagent.failed') resolve()
      })
    })
    const agent = { agentType: 'expert', name: 'x', description: 'x', model: 'contract' }
    await session.rpc.tasks.startAgent({ ...agent, prompt: 'Wipe it.' })
    await expect.poll(() => server.requests.length, { timeout: 20_000 }).toBeGreaterThan(2)
    await over
    // The agent's second. Copilot may ask the session's own model once more, that the agent is over.
    const answer = JSON.stringify(server.requests[2]?.body)
    await session.disconnect()
    return { ran, tree: tree.lines(), answer, made: existsSync(join(copilot.home, 'made.txt')) }
  } finally {
    await server.close()
    await copilot.stop()
  }
}

const wiping = () => ({ name: 'wipe', args: { what: 'all' } })
const making = (home: string) => ({
  name: 'bash',
  args: { command: `touch ${join(home, 'made.txt')}`, description: 'Makes it.', mode: 'sync' },
})
const careful = { name: 'careful', gates: [toolPolicy({ deny: ['wipe', 'bash'] })] }

it('a tool that an agent beside the session asks for is a run of its own', async () => {
  const { ran, tree } = await besides(new HookDispatcher(), wiping)
  expect(ran[0]).toBe('all')
  expect(tree).toContain('  execute_tool wipe')
}, 60_000)

it('and does not run where it is denied or mocked', async () => {
  const denying = new HookDispatcher()
  denying.use(careful)
  const denied = await besides(denying, wiping)
  expect(denied.ran).toEqual([])
  expect(denied.answer).toContain('tool_not_allowed')

  const mocking = new HookDispatcher()
  mockTools(mocking).use(mock('wipe').returns('a mock'))
  const mocked = await besides(mocking, wiping)
  expect(mocked.ran).toEqual([])
  expect(mocked.answer).toContain('a mock')
}, 60_000)

it("one of Copilot's own is refused where somebody was to decide on it", async () => {
  const builtIn = { availableTools: ['wipe', 'bash'] }
  expect((await besides(new HookDispatcher(), making, builtIn)).made).toBe(true)

  const dispatcher = new HookDispatcher()
  dispatcher.use(careful)
  const { made, answer } = await besides(dispatcher, making, builtIn)
  expect(made).toBe(false)
  expect(answer).toContain('No run is under way')
}, 60_000)
