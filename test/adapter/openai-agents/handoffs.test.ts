import { Agent, handoff, MemorySession } from '@openai/agents'
import { HookDispatcher } from 'hookspan'
import { deny, mutate } from 'hookspan/gates'
import { afterEach, describe, expect, it } from 'vitest'
import { eventsOf, find } from '../../support/told-events.ts'
import { agentOf, bareRunner, letAllGo, observed, scripted } from './support.ts'

afterEach(letAllGo)

const answersIn = (items: unknown) =>
  (items as { type?: string; output?: unknown }[]).flatMap(({ type, output }) =>
    type === 'function_call_result' ? [output] : [],
  )

function watched(decide: () => ReturnType<typeof mutate | typeof deny>, point = 'afterToolCall' as const) {
  const dispatcher = new HookDispatcher()
  dispatcher.use({ name: 'guard', gates: [{ id: 'its', point, match: 'transfer_to_*', decide }] })
  return { events: eventsOf(dispatcher), runner: observed(bareRunner(), { dispatcher }) }
}

describe('a handoff whose result a gate changes', () => {
  it.each([false, true])('is made, and told as the gate has it (streamed: %s)', async (stream) => {
    const { events, runner } = watched(() => mutate('over to a colleague'))
    const model = scripted('billed', 'billed')
    const seenByFilter: unknown[] = []
    const inputFilter: Parameters<typeof handoff>[1] = {
      inputFilter: (data) => {
        seenByFilter.push(...answersIn(data.newItems.map(({ rawItem }) => rawItem)))
        return data
      },
    }
    for (const filtered of [false, true]) {
      const session = new MemorySession()
      const billing = new Agent({ name: 'billing', model })
      const to = filtered ? handoff(billing, inputFilter) : billing
      const triage = agentOf({
        name: 'triage',
        model: scripted([['transfer_to_billing', {}]]),
        handoffs: [to],
      })

      const result = await runner.run(triage, 'hi', { session, stream: stream as never })
      await (result as { completed?: Promise<void> }).completed

      const told = [{ type: 'text', text: 'over to a colleague' }]
      expect(result.lastAgent?.name).toBe('billing')
      expect(find(events, 'afterToolCall')).toMatchObject({ content: 'over to a colleague' })
      expect(answersIn(model.lastCall?.request.input)).toEqual(told)
      expect(answersIn(result.history)).toEqual(told)
      expect(answersIn(await session.getItems())).toEqual(told)
      expect(seenByFilter).toEqual(filtered ? told : [])
    }
  })
})

it('a handoff that was refused stays so in the state that an error carries', async () => {
  const { runner } = watched(() => deny('closed today'))
  const model = scripted([['transfer_to_billing', {}]])
  const triage = agentOf({ model, handoffs: [agentOf({ name: 'billing', model })] })

  const { state } = (await runner.run(triage, 'hi', { maxTurns: 1 }).catch((error: unknown) => error)) as {
    state: { _generatedItems: { rawItem: unknown }[] }
  }

  expect(JSON.stringify(answersIn(state._generatedItems.map(({ rawItem }) => rawItem)))).toContain(
    'closed today',
  )
})
