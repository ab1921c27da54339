import { HookDispatcher } from 'hookspan'
import { observeMastra } from 'hookspan/mastra'
import { toolPolicy } from 'hookspan/policies'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { scripted } from '../adapter/subjects/ai-sdk.ts'
import { settled } from '../support/seen-by-caller.ts'
import { eventsOf, findAll } from '../support/told-events.ts'
import type { Untyped } from './support/sdks.ts'

const core = '@mastra/core'
const names = ['/agent', '/storage', '/tools', ''].map((path) => `${core}${path}`)
const sdk: Untyped = Object.assign({}, ...(await Promise.all(names.map((name) => import(name)))))

/** A tool as `MCPClient` of @mastra/mcp makes it, which comes with the agent or is brought along for a step. */
const WAYS: Record<string, (tools: object) => object> = {
  'of the agent': (tools) => ({ tools }),
  'that prepareStep brings': (tools) => ({ defaultOptions: { prepareStep: () => ({ tools }) } }),
}

describe.each(Object.entries(WAYS))('what Mastra asks about a tool of an MCP server %s', (_name, has) => {
  const asked = async (approved: boolean, gates: Untyped[] = []) => {
    const ran: unknown[] = []
    const orders_drop = sdk.createTool({
      id: 'orders_drop',
      description: 'Drops.',
      inputSchema: z.object({ what: z.string() }),
      execute: async ({ what }: Untyped) => ran.push(what),
      requireApproval: true,
    })
    orders_drop.mcpMetadata = { serverName: 'orders', serverVersion: '1.0.0' }
    const toolCalls = [{ id: 'c', name: 'orders_drop', args: { what: 'all' } }]
    const model = scripted([{ toolCalls }, { content: 'done' }])
    const dispatcher = new HookDispatcher()
    dispatcher.use({ name: 'careful', gates })
    const events = eventsOf(dispatcher)
    const agent = observeMastra<Untyped>(
      new sdk.Agent({ id: 's', name: 's', instructions: '', model, ...has({ orders_drop }) }),
      { dispatcher },
    )
    new sdk.Mastra({ agents: { s: agent }, storage: new sdk.InMemoryStore(), logger: false })
    const { runId, finishReason } = await agent.generate('hi')
    expect(finishReason).toBe('suspended')
    const answer = approved ? 'approveToolCallGenerate' : 'declineToolCallGenerate'
    expect((await agent[answer]({ runId, toolCallId: 'c' })).text).toBe('done')
    await settled(dispatcher)
    await dispatcher.drain()
    return { ran, events }
  }

  it.each([true, false])('is about one of that server, where it is answered with %s', async (approved) => {
    const { ran, events } = await asked(approved)
    expect(ran).toEqual(approved ? ['all'] : [])
    expect(findAll(events, 'beforeHumanIntervention')).toMatchObject([
      { pendingTools: [{ identifier: 'orders', apiName: 'orders_drop' }] },
    ])
    expect(findAll(events, 'afterToolCall')).toMatchObject([
      { source: 'mcp', identifier: 'orders', apiName: 'orders_drop' },
    ])
  })

  it('is not told as a question where a gate denies it by its server', async () => {
    const { ran, events } = await asked(true, [toolPolicy({ deny: ['orders/*'] })])
    expect(ran).toEqual([])
    expect(findAll(events, 'beforeHumanIntervention')).toEqual([])
    expect(findAll(events, 'afterToolCall')).toMatchObject([{ outcome: 'denied', identifier: 'orders' }])
  })
})
