import { setTimeout as later } from 'node:timers/promises'
import { HookDispatcher } from 'hookspan'
import { createApprovals, memoryStore } from 'hookspan/approval'
import { observeMastra } from 'hookspan/mastra'
import { requireHuman } from 'hookspan/policies'
import { expect, it } from 'vitest'
import { z } from 'zod'
import { scripted } from '../adapter/subjects/ai-sdk.ts'
import { settled } from '../support/seen-by-caller.ts'
import { eventsOf, findAll } from '../support/told-events.ts'
import type { Untyped } from './support/sdks.ts'

const core = '@mastra/core'
const names = ['/agent', '/storage', '/tools', ''].map((path) => `${core}${path}`)
const sdk: Untyped = Object.assign({}, ...(await Promise.all(names.map((name) => import(name)))))

/** Who asks about `wipe`, and how it is answered while `look` is still at work. */
const ASKED: Record<string, [requireApproval: boolean, answer: (agent: Untyped, runId: string) => Untyped]> =
  {
    Mastra: [true, (agent, runId) => agent.approveToolCall({ runId, toolCallId: 'a' })],
    'our gate': [false, (agent, runId) => agent.resumeStream({}, { runId })],
  }

/** Of a stream Mastra begins a tool while it reads the reply, also beside one that a human is asked about. */
it.each(Object.entries(ASKED).flatMap(([who, how]) => [0, 1_300].map((ms) => [who, ms, how] as const)))(
  'a tool at work while %s asks about another one of its reply is told as it ends, after %d ms',
  async (who, ms, [requireApproval, answer]) => {
    const ran: string[] = []
    const toolOf = (id: string, more: object, body: () => Promise<unknown>) =>
      sdk.createTool({
        id,
        description: id,
        inputSchema: z.object({}),
        execute: async () => {
          await body()
          ran.push(id)
          return `${id}: done`
        },
        ...more,
      })
    const tools = {
      wipe: toolOf('wipe', { requireApproval }, async () => {}),
      look: toolOf('look', {}, () => later(ms)),
    }
    const toolCalls = [
      { id: 'a', name: 'wipe', args: {} },
      { id: 'b', name: 'look', args: {} },
    ]
    const dispatcher = new HookDispatcher()
    const approvals = createApprovals({ store: memoryStore(), mode: 'park' })
    dispatcher.use(approvals)
    if (who !== 'Mastra') dispatcher.use({ name: 'careful', gates: [requireHuman({ match: 'wipe' })] })
    const events = eventsOf(dispatcher)
    const model = scripted([{ toolCalls }, { content: 'done' }])
    const agent = observeMastra<Untyped>(
      new sdk.Agent({ id: 's', name: 's', instructions: '', model, tools }),
      {
        dispatcher,
      },
    )
    new sdk.Mastra({ agents: { s: agent }, storage: new sdk.InMemoryStore(), logger: false })

    const stream = await agent.stream('hi')
    for await (const _ of stream.fullStream);
    for (const { request } of await approvals.list({ status: 'pending' })) {
      const { id, argsDigest } = request
      await approvals.respond(id, { decision: 'approve', approver: 'ann', argsDigest })
    }
    const rest = await answer(agent, stream.runId)
    for await (const _ of rest.fullStream);
    await settled(dispatcher)
    await dispatcher.drain()

    expect(await rest.text).toBe('done')
    expect(ran.sort()).toEqual(['look', 'wipe'])
    expect(findAll(events, 'onToolCallError')).toEqual([])
    expect(findAll(events, 'afterToolCall').map(({ apiName, result }) => [apiName, result])).toEqual(
      expect.arrayContaining([
        ['look', 'look: done'],
        ['wipe', 'wipe: done'],
      ]),
    )
    expect(findAll(events, 'onStart')).toHaveLength(1)
    expect(findAll(events, 'onComplete')).toHaveLength(1)
  },
)
