import { HookDispatcher } from 'hookspan'
import type { ContractSubject } from 'hookspan/adapter/contract'
import { budget } from 'hookspan/policies'
import { describe, expect, it } from 'vitest'
import { claudeAgentSubject } from './subjects/claude-agent.ts'
import { copilotSubject } from './subjects/copilot.ts'

const PARAMETERS = { type: 'object', properties: { q: { type: 'string' } }, required: ['q'] }
/** Each reply is of 5 tokens. */
const look = (q: string) => ({ toolCalls: [{ id: `call_${q}`, name: 'look', args: { q } }] })

async function ran(subject: ContractSubject, gate: ReturnType<typeof budget>): Promise<string[]> {
  const dispatcher = new HookDispatcher({ priceOf: () => 0.01 })
  dispatcher.use({ name: 'limits', gates: [gate] })
  const bodies: string[] = []
  const execute = async ({ q }: { q: string }) => {
    bodies.push(q)
    return `found ${q}`
  }
  await subject.run({
    dispatcher,
    agentName: 'support',
    prompt: 'Look.',
    tools: [{ name: 'look', description: 'Looks.', parameters: PARAMETERS, execute: execute as never }],
    replies: [look('a'), look('b'), look('c'), { content: 'done' }],
  })
  return bodies
}

describe.each([claudeAgentSubject, copilotSubject])(
  'where the model calls of $name are out of reach',
  (subject) => {
    it('limits on them are refused when the run starts', async () => {
      await expect(ran(subject, budget({ maxTokens: 6 }))).rejects.toMatchObject({ code: 'NOT_CAPABLE' })
    })

    it.each([
      ['tokens', { maxTokens: 6 }, ['a']],
      ['cost', { maxCostUsd: 0.015 }, ['a']],
      ['steps', { maxSteps: 1 }, ['a']],
      ['time', { maxDurationMs: 1 }, []],
    ])('%s are held before the tools', async (_what, limit, expected) => {
      expect(await ran(subject, budget({ ...limit, before: 'tools' }))).toEqual(expected)
    })
  },
)
