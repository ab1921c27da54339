import { Agent, RunState, shellTool, tool, toolSearchTool } from '@openai/agents'
import { assistantMessage, functionCall, ScriptedModel } from '@openai/agents/testing'
import { HookDispatcher } from 'hookspan'
import { createApprovals } from 'hookspan/approval'
import { mock, mockTools } from 'hookspan/mock'
import { requireHuman, toolPolicy } from 'hookspan/policies'
import { afterEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { activityTree } from '../../support/activity-tree.ts'
import { bareRunner, letAllGo, observed } from './support.ts'

afterEach(letAllGo)

/** An agent whose only tool is found by a search of the user's own, and what that tool did. */
function searching({
  needsApproval = false,
  found = (wipe: unknown): unknown => [wipe],
  frozen = false,
} = {}) {
  const ran: string[] = []
  const wipe = tool({
    name: 'wipe',
    description: 'Wipes.',
    parameters: z.object({ what: z.string() }),
    needsApproval,
    execute: async ({ what }) => {
      ran.push(what)
      return 'wiped'
    },
  })
  const search = toolSearchTool({ execution: 'client', execute: async () => found(wipe) } as never)
  const asked = {
    type: 'tool_search_call',
    id: 's1',
    execution: 'client',
    status: 'completed',
    arguments: {},
  }
  const model = new ScriptedModel([
    [{ ...asked, callId: 's1' } as never],
    [functionCall('wipe', { what: 'all' } as never, { callId: 'c1' })],
    [assistantMessage('done')],
  ])
  const agent = new Agent({ name: 's', model, tools: [frozen ? Object.freeze(search) : search] })
  return { agent, ran }
}

const careful = () => {
  const dispatcher = new HookDispatcher()
  dispatcher.use({ name: 'careful', gates: [toolPolicy({ deny: ['wipe'] })] })
  return dispatcher
}

const ended = (run: Promise<{ finalOutput?: unknown }>) =>
  run.then(({ finalOutput }) => String(finalOutput), String)

describe('a tool that a search of the user’s own finds', () => {
  it('is told, and runs', async () => {
    const { agent, ran } = searching()
    const tree = activityTree()
    const dispatcher = new HookDispatcher()
    dispatcher.use(tree.plugin)

    expect(await ended(observed(bareRunner(), { dispatcher }).run(agent, 'hi'))).toBe('done')
    expect(ran).toEqual(['all'])
    expect(tree.lines()).toContain('    execute_tool wipe')
  })

  it.each([false, true])('does not run where it is denied (stream: %s)', async (stream) => {
    const { agent, ran } = searching({ found: (wipe) => wipe })
    const result = await observed(bareRunner(), { dispatcher: careful() }).run(agent, 'hi', {
      stream,
    } as never)
    await (result as { completed?: Promise<void> }).completed

    expect(result.finalOutput).toBe('done')
    expect(ran).toEqual([])
  })

  it('is what a mock stands in for', async () => {
    const { agent, ran } = searching()
    const dispatcher = new HookDispatcher()
    using _mocks = mockTools(dispatcher, [mock('wipe').returns('a mock')])

    expect(await ended(observed(bareRunner(), { dispatcher }).run(agent, 'hi'))).toBe('done')
    expect(ran).toEqual([])
  })

  it('does not run where it is denied in a run that goes on from its state', async () => {
    for (const read of [true, false]) {
      const { agent, ran } = searching({ needsApproval: true })
      const { state } = await bareRunner().run(agent, 'hi')
      const state2 = read ? await RunState.fromString(agent, state.toString()) : state
      for (const interruption of state2.getInterruptions()) state2.approve(interruption)
      const result = await ended(
        observed(bareRunner(), { dispatcher: careful() }).run(agent, state2 as never),
      )

      expect(result).toBe('done')
      expect(ran).toEqual([])
    }
  })

  it('ends the run where nobody could decide on it', async () => {
    const shell = shellTool({ shell: { run: () => Promise.reject(new Error('a real shell ran')) } })
    const { agent } = searching({ found: () => [shell] })
    const dispatcher = new HookDispatcher()
    dispatcher.use({ name: 'careful', gates: [toolPolicy({ deny: ['shell'] })] })
    expect(await ended(observed(bareRunner(), { dispatcher }).run(agent, 'hi'))).toMatch(
      /nobody would be asked/,
    )

    // What it finds has any name.
    for (const gate of [toolPolicy({ deny: ['wipe'] }), requireHuman({ match: 'wipe' })]) {
      const frozen = searching({ frozen: true })
      const guarded = new HookDispatcher()
      guarded.use({ name: 'careful', gates: [gate] })
      guarded.use(createApprovals())
      const run = observed(bareRunner(), { dispatcher: guarded }).run(frozen.agent, 'hi')
      expect(await ended(run)).toMatch(/nobody would be asked/)
      expect(frozen.ran).toEqual([])
    }
  })
})
