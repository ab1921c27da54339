import { RealtimeAgent, RealtimeSession, tool } from '@openai/agents/realtime'
import { ScriptedRealtimeTransport } from '@openai/agents/realtime/testing'
import { HookDispatcher } from 'hookspan'
import { wrapTools } from 'hookspan/adapter'
import { mock, mockTools } from 'hookspan/mock'
import { toolPolicy } from 'hookspan/policies'
import { expect, it } from 'vitest'
import { z } from 'zod'
import { activityTree } from '../../support/activity-tree.ts'

it('decides on the functions of a realtime session that are wrapped', async () => {
  const ran: string[] = []
  const dispatcher = new HookDispatcher()
  const tree = activityTree()
  dispatcher.use(tree.plugin)
  dispatcher.use({ name: 'careful', gates: [toolPolicy({ deny: ['refund'] })] })
  mockTools(dispatcher, [mock('search').returns('mocked')], { onUnmocked: 'passthrough' })
  const named = (name: string) => (args: object) => `${name} ${ran.push(name)} ${JSON.stringify(args)}`
  const bodies = { find: named('find'), refund: named('refund'), search: named('search') }
  const tools = Object.entries(wrapTools(bodies, { dispatcher, agentName: 'voice', onRefused: 'tell' })).map(
    ([name, execute]) => tool({ name, description: name, parameters: z.object({ id: z.number() }), execute }),
  )
  const transport = new ScriptedRealtimeTransport()
  const session = new RealtimeSession(new RealtimeAgent({ name: 'voice', tools }), { transport })
  const told: Record<string, string> = {}
  const connected = Promise.withResolvers<void>()

  await transport.runScenario({
    scenario: async ({ expectCall, emit }) => {
      await expectCall('connect')
      await connected.promise
      for (const name of Object.keys(bodies)) {
        const args = JSON.stringify({ id: 7 })
        emit('function_call', { type: 'function_call', name, callId: name, arguments: args, responseId: 'r' })
        const { output } = await expectCall('sendFunctionCallOutput')
        told[name] = output
      }
      await expectCall('close')
    },
    exercise: async () => {
      await session.connect({ apiKey: 'none' })
      connected.resolve()
      await expect.poll(() => Object.keys(told)).toHaveLength(3)
      session.close()
    },
  })

  expect(told).toMatchObject({ find: 'find 1 {"id":7}', search: 'mocked' })
  expect(JSON.parse(told.refund ?? '')).toMatchObject({ denied: true, code: 'tool_not_allowed' })
  expect(ran).toEqual(['find'])
  expect(tree.lines()).toEqual(
    Object.keys(bodies).flatMap((name) => ['invoke_agent voice', `  execute_tool ${name}`]),
  )
})
