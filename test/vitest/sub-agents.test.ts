import { HookDispatcher, type ParentOperation } from 'hookspan'
import { currentCalls } from 'hookspan/adapter'
import { type Agent, type AgentTool, execAgent } from 'hookspan/agent'
import { deny, requireApproval } from 'hookspan/gates'
import {
  callTool,
  type ModelStep,
  matchTrajectory,
  readTrajectory,
  recordEvents,
  scriptedModel,
} from 'hookspan/mock'
import { expect as check } from 'hookspan/vitest'
import { describe, expect, it } from 'vitest'

const refund: AgentTool = { name: 'refund', execute: () => 'paid' }
const find: AgentTool = { name: 'find', execute: () => 'found' }
const clerk = { name: 'clerk', model: 'm', description: 'pays', tools: [refund] }
const desk = { name: 'desk', model: 'm', description: 'sends to the clerk', subAgents: [clerk] }
const boss = { name: 'boss', model: 'm', tools: [find], subAgents: [desk] }

const sends: readonly ModelStep[] = [
  callTool('find'),
  callTool('desk', { instruction: 'pay' }),
  callTool('clerk', { instruction: 'pay' }),
  callTool('refund', { amount: 7 }),
  ...['paid', 'sent'],
]

/** The boss asks the desk, and this the clerk, who refunds. */
async function run(dispatcher: HookDispatcher, agent: Agent = boss, steps: readonly ModelStep[] = sends) {
  using client = scriptedModel([...steps, 'done'])
  const done = await execAgent({ agent, prompt: 'x', dispatcher, client })
  expect(done.status).toBe('done')
  return done
}

const messageOf = (act: () => void): string => {
  try {
    act()
  } catch (error) {
    return (error as Error).message
  }
  return 'nothing was wrong'
}

describe('what must not happen in a run', () => {
  it('must not happen in its sub-agents either, and whose call it was is told', async () => {
    const dispatcher = new HookDispatcher()
    using _log = recordEvents(dispatcher)
    const boss = await run(dispatcher)
    const forbidden = matchTrajectory(boss, ['find', 'desk'], { forbidden: ['ref*'] })
    expect(forbidden).toMatchObject({
      pass: false,
      problems: ['forbidden call: "refund" was called by clerk'],
    })
    const most = matchTrajectory(boss, ['find', 'desk'], { maxCalls: { '*': 2, refund: 0 } })
    expect(most.problems).toEqual([
      'too many calls: 4 calls (2 by boss, 1 by desk, 1 by clerk), at most 2 allowed',
      'too many calls: 1 calls of "refund" (1 by clerk), at most 0 allowed',
    ])
    const told = 'refund({"amount":7}) [completed] by clerk'
    expect(messageOf(() => check(boss).not.toHaveCalledTool('refund'))).toContain(told)
    expect(messageOf(() => check(boss).toHaveCalledTool('refund', {}, { times: 0 }))).toContain(told)
    expect(messageOf(() => check(boss).not.toMatchTrajectory(['refund'], { mode: 'superset' }))).toContain(
      'by clerk',
    )
  })

  it('is what the agent that is named must not do, where one is', async () => {
    const dispatcher = new HookDispatcher()
    using _log = recordEvents(dispatcher)
    const done = await run(dispatcher)
    check(done).not.toHaveCalledTool('refund', {}, { agent: 'boss' })
    expect(() => check(done).not.toHaveCalledTool('refund', {}, { agent: 'clerk' })).toThrow('found 1')
    check(readTrajectory(done)).toMatchTrajectory(['find', 'desk'], { forbidden: ['refund'], maxCalls: 2 })
  })

  it('leaves what a run must do to its own agent', async () => {
    const dispatcher = new HookDispatcher()
    using _log = recordEvents(dispatcher)
    const done = await run(dispatcher)
    check(done).toMatchTrajectory(['find', 'desk'], { forbidden: ['wipe'], maxCalls: 4 })
    expect(() => check(done).toHaveCalledTool('refund')).toThrow('found 0')
    check(done).not.toMatchTrajectory(['find', 'desk', 'clerk'])
    check(done).not.toHaveCalledTool('wipe')
  })

  it('is what gates and humans were asked about in its sub-agents, too', async () => {
    const dispatcher = new HookDispatcher()
    using _log = recordEvents(dispatcher)
    const decide = () => requireApproval({})
    dispatcher.use({
      name: 'ask',
      gates: [{ id: 'ask', point: 'beforeToolCall', match: 'refund', decide }],
      approver: { requestApproval: async () => ({ decision: 'reject', approver: 'anna', reason: 'no' }) },
    })
    const done = await run(dispatcher)
    expect(() => check(done).not.toHaveAskedHuman('refund')).toThrow('Expected nobody to be asked')
    expect(() => check(done).toHaveAskedHuman('*', { times: 0 })).toThrow('found 1')
    expect(messageOf(() => check(done).not.toHaveBeenDenied())).toContain('by clerk')
    check(done).not.toHaveBeenDenied('refund', { code: 'policy_denied' })
    check(done).not.toHaveAskedHuman('find')
  })

  it('is told by the runs of its sub-agents where nobody has recorded them', async () => {
    const dispatcher = new HookDispatcher()
    const decide = () => deny('no', { code: 'not_here' })
    dispatcher.use({
      name: 'no',
      gates: [{ id: 'no', point: 'beforeToolCall', match: 'refund', decide }],
    })
    const done = await run(dispatcher)
    expect(messageOf(() => check(done).not.toHaveCalledTool('refund'))).toContain('by clerk')
    expect(messageOf(() => check(done).not.toHaveBeenDenied('refund'))).toContain('by clerk')
    expect(matchTrajectory(done, ['find', 'desk'], { maxCalls: 3 }).problems).toEqual([
      'too many calls: 4 calls (2 by boss, 1 by desk, 1 by clerk), at most 3 allowed',
    ])
    check(done).toMatchTrajectory(['find', 'desk'], { forbidden: ['wipe'] })
    check(done).not.toHaveBeenDenied('find')
    check(done).not.toHaveCalledTool('refund', {}, { agent: 'boss' })
    check(readTrajectory(done)).not.toHaveCalledTool('refund')
    const alone = await run(dispatcher, { name: 'boss', model: 'm', tools: [find] }, [callTool('find')])
    check(alone).toMatchTrajectory(['find'], { forbidden: ['refund'] })
    check(alone).not.toHaveBeenDenied()
  })

  it('is not said of a run in which a tool began an agent that nobody has recorded', async () => {
    const dispatcher = new HookDispatcher()
    const asks = (parent: ParentOperation) => {
      using client = scriptedModel([callTool('refund'), 'paid'])
      return execAgent({ agent: clerk, prompt: 'x', dispatcher, client, parent })
    }
    const call = { agentName: 'clerk', instruction: 'x' }
    const ask: AgentTool = {
      name: 'ask',
      execute: async () => (await currentCalls()?.callAgent(call, asks))?.content,
    }
    const done = await run(dispatcher, { name: 'boss', model: 'm', tools: [ask] }, [callTool('ask')])
    for (const judge of [
      () => check(done).not.toHaveCalledTool('refund'),
      () => check(done).not.toHaveBeenDenied(),
      () => check(done).toMatchTrajectory(['ask'], { forbidden: ['refund'] }),
      () => matchTrajectory(done, ['ask'], { maxCalls: 2 }),
    ]) {
      expect(judge).toThrow('nobody has recorded it from its beginning')
    }
    check(done).toMatchTrajectory(['ask'])
    check(readTrajectory(done)).not.toHaveCalledTool('refund')
  })

  it('is what an agent does that a tool begins, where it says so', async () => {
    const dispatcher = new HookDispatcher()
    using _log = recordEvents(dispatcher)
    const asks = async (parent?: ParentOperation) => {
      using client = scriptedModel([callTool('refund'), 'paid'])
      const options = { agent: clerk, prompt: 'x', dispatcher, client }
      return execAgent(parent === undefined ? options : { ...options, parent })
    }
    const bossWith = (execute: () => unknown): Agent => ({
      ...{ name: 'boss', model: 'm' },
      tools: [{ name: 'ask', execute }],
    })
    const call = { agentName: 'clerk', instruction: 'x' }
    const below = bossWith(async () => (await currentCalls()?.callAgent(call, asks))?.content)
    const done = await run(dispatcher, below, [callTool('ask')])
    expect(() => check(done).not.toHaveCalledTool('refund')).toThrow('by clerk')
    const beside = bossWith(async () => (await asks()).content)
    check(await run(dispatcher, beside, [callTool('ask')])).not.toHaveCalledTool('refund')
  })
})
