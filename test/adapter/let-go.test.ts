import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { type ActivityScope, HookDispatcher } from 'hookspan'
import type { ContractRun, ContractSubject } from 'hookspan/adapter/contract'
import { describe, expect, it } from 'vitest'
import { SUBJECTS } from './subjects/index.ts'

setFlagsFromString('--expose-gc')
const gc: () => void = runInNewContext('gc')

const RUNS = 5
const CALL = { toolCalls: [{ id: 'call_1', name: 'search', args: { q: 'wool' } }] }
const DONE = { content: 'a b c d' }

const WAYS: Readonly<Record<string, Pick<ContractRun, 'replies' | 'stream'>>> = {
  'at once': { replies: [CALL, DONE] },
  'as a stream that is read': { stream: 'read', replies: [CALL, DONE] },
  'as a stream that breaks': { stream: 'read', replies: [{ ...DONE, broken: true }] },
  'as a stream that is left': { stream: 'abandon', replies: [DONE] },
  'without a model': { replies: [] },
}

/** What hookspan still holds of runs that are over, in whatever way. */
async function heldOf(
  subject: ContractSubject,
  how: Pick<ContractRun, 'replies' | 'stream'>,
  { signal }: Pick<ContractRun, 'signal'>,
) {
  const made: WeakRef<ActivityScope>[] = []
  const dispatcher = new HookDispatcher({ onHookError: () => {} })
  dispatcher.use({
    name: 'watch',
    instrument: {
      start() {
        const scope: ActivityScope = { run: (fn) => fn(), end: () => {} }
        made.push(new WeakRef(scope))
        return scope
      },
    },
  })
  const search = {
    ...{ name: 'search', description: 'Searches.' },
    parameters: { type: 'object', properties: { q: { type: 'string' } }, required: ['q'] },
    execute: async () => 'found',
  }
  for (let i = 0; i < RUNS; i++) {
    const run = {
      ...{ dispatcher, agentName: 'contract', prompt: 'go', tools: [search] },
      ...(signal && { signal }),
    }
    await subject.run({ ...run, ...how }).catch(() => {})
  }
  await dispatcher.drain()
  expect(made.length).toBeGreaterThan(RUNS)
  return () => {
    gc()
    return made.filter((scope) => scope.deref() !== undefined).length
  }
}

describe.each(Object.entries(WAYS))(
  'runs of a signal that outlives them, answered %s, are let go of',
  (_, how) => {
    const asked = SUBJECTS.filter(({ readsItself }) => how.stream !== 'abandon' || !readsItself)
      // It goes on reading, bare as well, and holds on to whatever reads beside it.
      .filter(({ name }) => how.stream !== 'abandon' || name !== 'ai-sdk')

    it.each(asked.map((subject) => [subject.name, subject] as const))('%s', async (_name, subject) => {
      // Of a program, for as long as it runs.
      const { signal } = new AbortController()
      const count = await heldOf(subject, how, { signal })
      await expect.poll(count, { timeout: 20_000, interval: 20 }).toBe(0)
      expect(signal.aborted).toBe(false)
    })
  },
)

describe('runs without a signal are let go of', () => {
  // Those of LangChain on Node 22, too (test/package/oldest-node.test.ts): a promise holds there what each AsyncLocalStorage had.
  it.each(SUBJECTS.map((subject) => [subject.name, subject] as const))('%s', async (_name, subject) => {
    const count = await heldOf(subject, { replies: [CALL, DONE] }, {})
    await expect.poll(count, { timeout: 20_000, interval: 20 }).toBe(0)
  })
})
