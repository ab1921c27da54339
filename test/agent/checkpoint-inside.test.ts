/** Calls that the code of a tool makes by itself, in a run that is saved: each record of it is gone on from. */
import { HookDispatcher } from 'hookspan'
import { currentCalls } from 'hookspan/adapter'
import { type Agent, type AgentTool, execAgent, resumeAgent } from 'hookspan/agent'
import { expect, it } from 'vitest'
import { statelessModel } from '../support/stateless-model.ts'
import { eventsOf } from '../support/told-events.ts'
import { KeptRuns } from './kept-runs.ts'

const ID = 'run-1'
const turns = async (count: number) => {
  for (let i = 0; i < count; i++) await new Promise((resolve) => setImmediate(resolve))
}

const tool = (name: string, execute: AgentTool['execute']): AgentTool => ({ name, execute })

/** Two tools at once, one of which makes two calls in itself. */
const agent: Agent = {
  name: 'shop',
  model: 'stateless',
  // Its beginning is saved while the other one is in a call of its own.
  gates: [
    {
      id: 'slow',
      point: 'beforeToolCall',
      decide: async ({ apiName }) => {
        if (apiName === 'beside') await turns(4)
        return undefined
      },
    },
  ],
  tools: [
    tool('outer', async () => {
      for (const apiName of ['first', 'second'])
        await currentCalls()?.toolCall({ apiName, args: {} }, () => turns(8))
      await turns(8)
      return 'done'
    }),
    tool('beside', () => turns(1)),
    tool('later', () => 'done'),
  ],
}
const client = statelessModel((messages) => {
  const told = messages.filter(({ role }) => role === 'tool').length
  const call = (name: string) => ({ id: name, name, args: {} })
  if (told === 0) return { calls: [call('outer'), call('beside')] }
  return told === 2 ? { calls: [call('later')] } : { content: 'done' }
})
const shared = { agent, client, operationId: ID, priceOf: () => 0 }

const endsIn = (events: ReturnType<typeof eventsOf>) =>
  events.flatMap((event) =>
    event.hookType === 'afterToolCall' || event.hookType === 'onToolCallError' ? [event.apiName] : [],
  )

it('tells the end of each once, whichever record its run goes on from', async () => {
  const dispatcher = new HookDispatcher()
  const events = eventsOf(dispatcher)
  const checkpoint = new KeptRuns()
  const records: string[] = []
  const told: string[][] = []
  checkpoint.onAppend = ({ record }) => {
    records.push(record)
    told.push(endsIn(events))
  }
  await execAgent({ ...shared, prompt: 'go', checkpoint, dispatcher })
  expect(endsIn(events).toSorted()).toEqual(['beside', 'first', 'later', 'outer', 'second'])
  for (const [at, before] of told.entries()) {
    const next = new HookDispatcher()
    const after = eventsOf(next)
    const store = KeptRuns.after(records.slice(0, at + 1), ID)
    const run = await resumeAgent({ ...shared, checkpoint: store, dispatcher: next })
    const where = `after record ${at + 1} of ${records.length}`
    expect([where, run.status]).toEqual([where, 'done'])
    const inside = ['first', 'second']
    const again = endsIn(after).filter((name) => inside.includes(name) && before.includes(name))
    expect([where, again]).toEqual([where, []])
  }
})
