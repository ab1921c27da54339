import { AIMessage } from '@langchain/core/messages'
import { fakeModel } from '@langchain/core/testing'
import { Agent, Runner, tool } from '@openai/agents'
import { assistantMessage, functionCall, ScriptedModel } from '@openai/agents/testing'
import { HookDispatcher } from 'hookspan'
import { mutate } from 'hookspan/gates'
import { hookspanMiddleware } from 'hookspan/langchain'
import { observeAgents } from 'hookspan/openai-agents'
import { toolPolicy } from 'hookspan/policies'
import * as langchain from 'langchain'
import { expect, it } from 'vitest'
import { z } from 'zod'

const parameters = z.object({ path: z.string().trim().toLowerCase(), lines: z.number().default(9) })
const args = { path: ' /ETC/passwd' }

type Read = (given: unknown) => string

const SDKS: [string, (dispatcher: HookDispatcher, read: Read) => Promise<unknown>][] = [
  [
    'OpenAI Agents',
    (dispatcher, execute) => {
      const model = new ScriptedModel([
        [functionCall('read', args, { callId: '1' })],
        [assistantMessage('done')],
      ])
      const tools = [tool({ name: 'read', description: 'Reads.', parameters, execute })]
      const runner = observeAgents(new Runner({ tracingDisabled: true }), { dispatcher })
      return runner.run(new Agent({ name: 'a', model, tools }), 'go')
    },
  ],
  [
    'LangChain',
    (dispatcher, execute) => {
      const model = fakeModel()
        .respond(new AIMessage({ content: '', tool_calls: [{ id: '1', name: 'read', args }] }))
        .respond(new AIMessage('done'))
      const read = langchain.tool(execute, { name: 'read', description: 'Reads.', schema: parameters })
      const middleware = [hookspanMiddleware({ dispatcher })]
      return langchain.createAgent({ model, tools: [read], middleware }).invoke({ messages: 'go' })
    },
  ],
]

it.each(SDKS)(
  '%s: gates see what the model wrote, or what the tool gets where one does first what its schema does',
  async (_sdk, run) => {
    const ran: unknown[] = []
    const decided: unknown[] = []
    const read = (given: unknown) => {
      ran.push(given)
      return 'root'
    }
    const guarded = (asItRuns: boolean) => {
      const dispatcher = new HookDispatcher()
      const seen = {
        id: 'seen',
        point: 'beforeToolCall' as const,
        decide: ({ payload }: { payload: unknown }) => void decided.push(payload),
      }
      dispatcher.use({ name: 'policy', gates: [seen, toolPolicy({ denyArguments: { path: ['^/etc/'] } })] })
      const first = {
        id: 'as-it-runs',
        point: 'beforeToolCall' as const,
        match: 'read',
        priority: 0,
        decide: ({ payload }: { payload: unknown }) => mutate(parameters.parse(payload)),
      }
      if (asItRuns) dispatcher.use({ name: 'first', gates: [first] })
      return dispatcher
    }
    await run(guarded(false), read)
    expect(decided).toEqual([args])
    expect(ran).toEqual([{ path: '/etc/passwd', lines: 9 }])
    await run(guarded(true), read)
    expect(decided[1]).toEqual(ran[0])
    expect(ran).toHaveLength(1)
  },
)
