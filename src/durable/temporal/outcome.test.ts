import { expect, it } from 'vitest'
import type { DurableRun } from '../agent-run.ts'
import { fittingOutcome } from './outcome.ts'

const TOTALS = {
  steps: 0,
  llmCalls: 0,
  toolCalls: 0,
  usage: { inputTokens: 0, outputTokens: 0 },
  durationMs: 0,
}
const said = (role: string, length: number) => ({ role, content: 'é'.repeat(length / 2) })

const run = (messages: DurableRun['messages']) =>
  ({ operationId: 'run-1', reason: 'done', content: 'fin', messages, steps: 2 }) as unknown as DurableRun

it('gives what Temporal takes as it is', () => {
  const outcome = run([said('user', 1_000), said('assistant', 1_000)])
  expect(fittingOutcome(outcome, 10_000)).toBe(outcome)
})

it('gives the end of a conversation that is longer, from somebody who speaks on', () => {
  const messages = [said('user', 6_000), said('assistant', 100), said('tool', 3_000), said('assistant', 100)]
  const outcome = fittingOutcome(run(messages), 5_000) as DurableRun
  expect(outcome.messages).toEqual(messages.slice(1))
  expect(outcome).toMatchObject({ content: 'fin', omittedMessages: 1 })
  // The answer of a tool whose call is left out is, too.
  const shorter = fittingOutcome(run(messages), 4_350) as DurableRun
  expect(shorter).toMatchObject({ messages: messages.slice(3), omittedMessages: 3 })
  for (const max of [1_300, 1_500, 4_000, 4_500, 9_000]) {
    expect(JSON.stringify(fittingOutcome(run(messages), max)).length).toBeLessThan(max)
  }
})

it('refuses what is too long without its conversation', () => {
  const outcome = { operationId: 'run-1', reason: 'done', value: 'x'.repeat(9_000), totals: TOTALS } as const
  expect(() => fittingOutcome(outcome, 5_000)).toThrow(/"run-1" has ended with more than the 5000 bytes/)
})
