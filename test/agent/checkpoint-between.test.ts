import { type CheckpointWrite, execAgent, resumeAgent } from 'hookspan/agent'
import type { Gate } from 'hookspan/gates'
import { expect, it } from 'vitest'
import { statelessModel } from '../support/stateless-model.ts'
import { KeptRuns } from './kept-runs.ts'

const ID = 'run-1'

/** Keeps a record only once it is let to, as a store that is slow. */
class SlowStore extends KeptRuns {
  readonly kept: string[] = []
  hold: Promise<void> | undefined
  waiting = false

  override async append(operationId: string, token: string, write: CheckpointWrite) {
    if (this.hold !== undefined) {
      this.waiting = true
      await this.hold
    }
    await super.append(operationId, token, write)
    this.kept.push(write.record)
  }
}

const client = statelessModel((messages) => {
  const told = messages.filter(({ role }) => role === 'tool').map(({ content }) => String(content))
  if (told.length > 0) return { content: told.join(' | ') }
  return { calls: ['a', 'b', 'c'].map((name) => ({ id: name, name, args: {} })) }
})

const agentOf = (ran: string[], working: Promise<void> = Promise.resolve()) => ({
  name: 'three',
  model: 'stateless',
  tools: ['a', 'b', 'c'].map((name) => ({
    name,
    execute: async () => {
      ran.push(name)
      if (name === 'a') await working
      return `${name} done`
    },
  })),
})

/**
 * Tool `a` has returned, the loop does not have its result yet, and the record of another call is written. Its call was begun: in
 * no record may it look as if it were not.
 */
it.each(Array.from({ length: 41 }, (_, index) => index - 20))(
  'has a call whose tool has returned in each record, when another call is saved %i microtasks off',
  async (turns) => {
    const store = new SlowStore()
    const [b, c, working, held] = Array.from({ length: 4 }, () => Promise.withResolvers<void>()) as [
      PromiseWithResolvers<void>,
      PromiseWithResolvers<void>,
      PromiseWithResolvers<void>,
      PromiseWithResolvers<void>,
    ]
    const waits: Gate = {
      id: 'waits',
      point: 'beforeToolCall',
      async decide({ apiName }) {
        if (apiName === 'b') await b.promise
        if (apiName === 'c') await c.promise
      },
    }
    const ran: string[] = []
    const run = execAgent({
      agent: agentOf(ran, working.promise),
      client,
      prompt: 'go',
      gates: [waits],
      checkpoint: store,
      operationId: ID,
      priceOf: () => 0,
    })
    await expect.poll(() => ran).toEqual(['a'])
    const begun = store.kept.length
    store.hold = held.promise
    b.resolve()
    await expect.poll(() => store.waiting).toBe(true)
    c.resolve()
    await new Promise((resolve) => setImmediate(resolve))
    // One of them first, by so many turns of the queue of microtasks: somewhere between lies what is meant.
    if (turns < 0) held.resolve()
    else working.resolve()
    for (let turn = Math.abs(turns); turn > 0; turn--) await undefined
    held.resolve()
    working.resolve()
    expect((await run).content).toBe('a done | b done | c done')

    for (let at = begun; at <= store.kept.length; at++) {
      const again: string[] = []
      const kept = KeptRuns.after(store.kept.slice(0, at), ID)
      const { content } = await resumeAgent({
        agent: agentOf(again),
        client,
        gates: [{ ...waits, decide: () => {} }],
        checkpoint: kept,
        operationId: ID,
        priceOf: () => 0,
      })
      expect([at, again.filter((name) => name === 'a')]).toEqual([at, []])
      expect(content).toMatch(/^(a done|\{.*execution_unknown)/)
    }
  },
)
