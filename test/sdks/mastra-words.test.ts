import { HookDispatcher } from 'hookspan'
import { deny, mutate } from 'hookspan/gates'
import { observeMastra } from 'hookspan/mastra'
import { human, mock, mockTools, scriptedApprovals } from 'hookspan/mock'
import { redact, requireHuman } from 'hookspan/policies'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { scripted } from '../adapter/subjects/ai-sdk.ts'
import { eventsOf, findAll, gate } from '../support/told-events.ts'
import type { Untyped } from './support/sdks.ts'

const core = '@mastra/core'
const { Agent }: Untyped = await import(`${core}/agent`)
const { createTool }: Untyped = await import(`${core}/tools`)

/** What the model is told of the call of `name`, and how often the tool, or the agent's model, has run. */
async function told(
  name: 'wipe' | 'agent-expert',
  method: string,
  use: (dispatcher: HookDispatcher) => void,
  isBrought = false,
) {
  const dispatcher = new HookDispatcher()
  use(dispatcher)
  let ran = 0
  const wipe = createTool({
    id: 'wipe',
    description: 'Wipes.',
    inputSchema: z.object({ prompt: z.string() }),
    execute: async ({ prompt }: Untyped) => {
      ran++
      return { what: prompt }
    },
    // It wants what the tool gives.
    toModelOutput: ({ what }: Untyped) => ({ type: 'text', value: `wiped ${what.toUpperCase()}` }),
  })
  const expert = new Agent({
    id: 'expert',
    name: 'expert',
    instructions: '',
    model: scripted([{ content: 'X' }]),
  })
  const model = scripted([{ toolCalls: [{ id: 'c', name, args: { prompt: 'all' } }] }, { content: 'done' }])
  const tools = { wipe }
  const has = isBrought ? { defaultOptions: { prepareStep: () => ({ tools }) } } : { tools }
  const more = { ...has, agents: { expert } }
  const agent = observeMastra<Untyped>(new Agent({ id: 's', name: 's', instructions: '', model, ...more }), {
    dispatcher,
  })
  const result = await agent[method]('hi')
  expect(await result.text).toBe('done')
  const [, asked]: Untyped[] = [...model.doGenerateCalls, ...model.doStreamCalls]
  const [{ output }] = asked.prompt.at(-1).content
  return { output, ran }
}

const using =
  (...gates: Untyped[]) =>
  (on: HookDispatcher) =>
    void on.use({ name: 'careful', gates })

describe.each(['generate', 'stream'])('what the model is told of a call: %s()', (method) => {
  describe.each(['wipe', 'agent-expert'] as const)('of %s, which words its results itself', (name) => {
    it('is why it was denied', async () => {
      const { output, ran } = await told(name, method, using(gate('beforeToolCall', () => deny('no'))))
      expect(output.value).toEqual({ denied: true, code: 'policy_denied', reason: 'no' })
      expect(ran).toBe(0)
    })

    it('is that a human rejected it', async () => {
      const { output, ran } = await told(name, method, (on) => {
        scriptedApprovals(on, [human(name).rejects('never')])
        using(requireHuman({ match: name }))(on)
      })
      expect(output.value).toMatchObject({ rejected: true, reason: 'never' })
      expect(ran).toBe(0)
    })
  })

  it('of a tool that prepareStep brings is why it was denied', async () => {
    const { output, ran } = await told('wipe', method, using(gate('beforeToolCall', () => deny('no'))), true)
    expect([output.value, ran]).toEqual([{ denied: true, code: 'policy_denied', reason: 'no' }, 0])
  })

  it('is what stands in for what an agent gives, also where that is no text', async () => {
    const instead = { hidden: true }
    for (const use of [
      using(gate('afterToolCall', () => mutate(instead))),
      (on: HookDispatcher) => void mockTools(on, [mock('agent-expert').returns(instead)]),
    ]) {
      const { output } = await told('agent-expert', method, use)
      expect(JSON.parse(output.value)).toEqual(instead)
    }
  })
})

/** As `MCPClient` of @mastra/mcp gives it: what the model is told stands beside structured content, where nobody sees it. */
const CONTENT = Symbol.for('mastra.mcp.callToolContent')

describe.each(['generate', 'stream'])(
  'what a tool of an MCP server says beside its structured content: %s()',
  (method) => {
    const asked = async (...gates: Untyped[]) => {
      const count = createTool({
        id: 'shop_count',
        description: 'Counts.',
        inputSchema: z.object({}),
        execute: async () =>
          Object.defineProperty({ n: 3 }, CONTENT, {
            value: [{ type: 'text', text: '3, says bob@shop.example' }],
          }),
        toModelOutput: (output: Untyped) => {
          const text = output[CONTENT]?.[0].text
          return text === undefined ? { type: 'json', value: output } : { type: 'text', value: text }
        },
      })
      const dispatcher = new HookDispatcher()
      dispatcher.use({ name: 'careful', gates })
      const events = eventsOf(dispatcher)
      const model = scripted([
        { toolCalls: [{ id: 'c', name: 'shop_count', args: {} }] },
        { content: 'done' },
      ])
      const more = { model, tools: { shop_count: count } }
      const agent = observeMastra<Untyped>(new Agent({ id: 's', name: 's', instructions: '', ...more }), {
        dispatcher,
      })
      const result = await agent[method]('hi')
      expect(await result.text).toBe('done')
      const [, { prompt }]: Untyped[] = [...model.doGenerateCalls, ...model.doStreamCalls]
      const [{ payload }] = await result.toolResults
      return { told: prompt.at(-1).content[0].output, given: payload.result, events }
    }

    it('is told to hooks, and to the model as it is', async () => {
      const { told, given, events } = await asked()
      expect(told).toEqual({ type: 'text', value: '3, says bob@shop.example' })
      expect(given).toEqual({ n: 3 })
      expect(findAll(events, 'afterToolCall')).toMatchObject([
        { result: { n: 3 }, content: '3, says bob@shop.example' },
      ])
    })

    it('is decided on by gates', async () => {
      const cleaned = await asked(redact({ kinds: ['email'], in: ['toolResult'] }))
      expect([cleaned.told, cleaned.given]).toEqual([{ type: 'text', value: '3, says [email]' }, { n: 3 }])
      const changed = await asked(gate('afterToolCall', () => mutate({ n: 4 })))
      expect([changed.told, changed.given]).toEqual([{ type: 'json', value: { n: 4 } }, { n: 4 }])
    })
  },
)
