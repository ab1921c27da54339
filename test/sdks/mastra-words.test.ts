import { HookDispatcher } from 'hookspan'
import { deny, mutate } from 'hookspan/gates'
import { observeMastra } from 'hookspan/mastra'
import { human, mock, mockTools, scriptedApprovals } from 'hookspan/mock'
import { requireHuman } from 'hookspan/policies'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { scripted } from '../adapter/subjects/ai-sdk.ts'
import { gate } from '../support/told-events.ts'
import type { Untyped } from './support/sdks.ts'

const core = '@mastra/core'
const { Agent }: Untyped = await import(`${core}/agent`)
const { createTool }: Untyped = await import(`${core}/tools`)

/** What the model is told of the call of `name`, and how often the tool, or the agent's model, has run. */
async function told(
  name: 'wipe' | 'agent-expert',
  method: string,
  use: (dispatcher: HookDispatcher) => void,
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
  const more = { tools: { wipe }, agents: { expert } }
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
