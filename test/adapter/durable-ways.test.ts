/** Ways in which SDKs run tools that no loop of turns names: in a durable loop, whose process dies behind each record of it. */
import { Agent, tool as agentsTool, Runner, toolSearchTool } from '@openai/agents'
import { assistantMessage, functionCall, ScriptedModel } from '@openai/agents/testing'
import * as ai from 'ai'
import { HookDispatcher, type HookEvent } from 'hookspan'
import { observeAISDK } from 'hookspan/ai-sdk'
import { createApprovals, memoryStore } from 'hookspan/approval'
import { observeAgents, unobserveAgents } from 'hookspan/openai-agents'
import { requireHuman } from 'hookspan/policies'
import { expect, it } from 'vitest'
import { z } from 'zod'
import type { DurableLoop } from '../../src/durable/loop-run.ts'
import { DURABLE_FIELDS, type DurableAgentOptions } from '../../src/durable/options.ts'
import { DurableRuns } from '../../src/durable/runs.ts'
import { Journal, MemoryEngine } from '../agent/durable-model/engine.ts'
import { scripted } from './subjects/ai-sdk.ts'

interface Attempt {
  readonly dispatcher: HookDispatcher
  readonly signal: AbortSignal
  /** How many of its model's replies are kept. */
  readonly asked: number
  readonly ran: string[]
}

type Way = (attempt: Attempt) => Promise<string>

/** A tool that calls another one by itself. */
const toolCallers: Way = async ({ dispatcher, signal, asked, ran }) => {
  const search = ai.tool({
    inputSchema: z.object({ q: z.string() }),
    execute: async ({ q }) => {
      ran.push(`search ${q}`)
      return `found ${q}`
    },
  })
  const inputSchema = z.object({})
  const code = ai.experimental_toolCaller(ai.tool({ inputSchema } as never), {
    type: 'local',
    bind: ({ search: bound }) =>
      ai.tool({
        inputSchema,
        execute: async (_input, options) => {
          ran.push('code')
          const nested = bound as unknown as { execute(input: unknown, options: unknown): Promise<string> }
          const ask = (q: string) => nested.execute({ q }, options).catch(String)
          return [await ask('a'), await ask('b')].join(', ')
        },
      }),
  })
  const call = { toolCalls: [{ id: 'c1', name: 'code', args: {} }] }
  const { text } = await observeAISDK(ai, { dispatcher }).generateText({
    model: scripted([call, { content: 'done' }].slice(asked)),
    prompt: 'hi',
    tools: { search, code },
    experimental_toolCallers: { search: ['code'] },
    stopWhen: ai.isStepCount(5),
    abortSignal: signal,
  } as never)
  return text
}

/** A tool that a search of the user's own finds. */
const toolSearch: Way = async ({ dispatcher, signal, asked, ran }) => {
  const search = agentsTool({
    name: 'search',
    description: 'Searches.',
    parameters: z.object({ q: z.string() }),
    execute: async ({ q }) => {
      ran.push(`search ${q}`)
      return 'found'
    },
  })
  const finds = toolSearchTool({
    execution: 'client',
    execute: async () => {
      ran.push('finds')
      return [search]
    },
  } as never)
  const found = {
    type: 'tool_search_call',
    id: 's1',
    execution: 'client',
    status: 'completed',
    arguments: {},
  }
  const model = new ScriptedModel(
    [
      [{ ...found, callId: 's1' } as never],
      [functionCall('search', { q: 'a' } as never, { callId: 'c1' })],
      [assistantMessage('done')],
    ].slice(asked),
  )
  const runner = observeAgents(new Runner({ tracingDisabled: true }), { dispatcher })
  try {
    const agent = new Agent({ name: 's', model, tools: [finds] })
    return String((await runner.run(agent, 'hi', { signal })).finalOutput)
  } finally {
    unobserveAgents(runner)
  }
}

const never = () => new Promise<never>(() => {})

it.each([
  ['a tool that calls others', toolCallers, false],
  ['a tool that calls others, about which a human is asked', toolCallers, true],
  ['a tool that is found', toolSearch, false],
  ['a tool that is found, about which a human is asked', toolSearch, true],
] as const)(
  '%s goes on behind whatever was kept',
  async (_name, way, asks) => {
    for (let diesAfter = 0; diesAfter < 40; diesAfter++) {
      const journal = new Journal()
      const store = memoryStore()
      const events: HookEvent[] = []
      const ran: string[] = []

      const attempt = async (dies: boolean) => {
        const dispatcher = new HookDispatcher()
        const approvals = createApprovals({ store, mode: 'park' })
        dispatcher.use(approvals)
        if (asks) dispatcher.use({ name: 'asks', gates: [requireHuman({ match: 'search' })] })
        const handler = (event: HookEvent) => void events.push(event)
        for (const type of ['afterLlmCall', 'onComplete'] as const) {
          dispatcher.use({ name: type, hooks: [{ id: type, type, handler }] } as never)
        }
        const over = Promise.withResolvers<'died'>()
        let records = 0
        const engine = new MemoryEngine(journal, {
          suspends: false,
          forgets: false,
          moment: async (what) => {
            if (!dies || what !== 'after a record' || records++ !== diesAfter) return
            over.resolve('died')
            await never()
          },
          wait: async () => {
            for (const { request } of await approvals.list({ status: 'pending' }))
              await approvals.respond(request.id, { decision: 'approve', approver: 'ines' })
          },
          suspend: () => {},
          hasLost: () => false,
        })
        const agent: DurableLoop = ({ signal }) => {
          const asked = events.filter(({ hookType }) => hookType === 'afterLlmCall').length
          return way({ dispatcher, signal, asked, ran })
        }
        const runs = DurableRuns.of(
          { name: 'support', dispatcher, agent } as unknown as DurableAgentOptions,
          DURABLE_FIELDS,
          () => undefined,
        )
        const run = runs.run(engine, 'run-1', { prompt: 'go' })
        return Promise.race([run, over.promise])
      }

      const first = await attempt(true)
      const last = first === 'died' ? await attempt(false) : first
      const where = `died after record ${diesAfter}`
      expect(last, where).toMatchObject({ reason: 'done', value: 'done' })
      const once = ran.filter((what) => what !== 'finds')
      expect([where, new Set(once).size]).toEqual([where, once.length])
      if (first !== 'died') {
        // What calls from inside of a tool cannot leave it for a human, and is refused.
        expect(ran.includes('search a')).toBe(!(asks && way === toolCallers))
        expect((await store.list()).filter(({ status }) => status === 'pending')).toEqual([])
        expect(diesAfter).toBeGreaterThan(3)
        return
      }
    }
    throw new Error('It has no end.')
  },
  30_000,
)
