import { expect, it } from 'vitest'
import type { SafeCalls } from '../safe/calls.ts'
import { Lane } from './lane.ts'

// biome-ignore lint/suspicious/noExplicitAny: a reply as Lane writes it.
type Untyped = any

const apiCallId = 'c1'
const cut = [
  ['assistant.turn_start'],
  ['model.call_start'],
  ['assistant.usage', { apiCallId, finishReason: 'length' }],
  ['assistant.turn_end'],
] as const
const said = ['model.message', { message: { role: 'assistant', apiCallId, content: 'cut off he' } }] as const
const next = [['assistant.turn_start'], ['model.call_start']] as const

/** Copilot tells what a model said beside its turns, and not in one order with them. */
it.each([
  ['before the next turn', [...cut, said, ...next]],
  ['after it has begun', [...cut, next[0], said, next[1]]],
  ['with no turn behind it', [...cut, said, ['session.idle']]],
])('tells a reply that was cut off whole, in its own turn: %s', async (_, events) => {
  const told: unknown[] = []
  const settle = async ({ choices: [{ message, finish_reason: why }] }: Untyped) =>
    void told.push([message.content, why])
  const openLlmCall = () => ({ decided: Promise.resolve(), settle })
  const turns = {
    signal: undefined,
    beginStep: async (number: number) => void told.push(number),
    calls: async () => ({ openLlmCall }) as unknown as SafeCalls,
  }
  const lane = new Lane(turns, 'openai', 'm', [])
  for (const [type, data] of events as [string, object?][])
    await lane.told({ type, ...(data && { data }) } as never)
  expect(told).toEqual([0, ['cut off he', 'length'], ...(events.includes(next[0]) ? [1] : [])])
})
