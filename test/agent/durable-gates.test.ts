/** What gates make of the beginning and the end of a loop that an engine keeps, whose process dies behind each record. */
import { HookDispatcher } from 'hookspan'
import { deny, type Gate, gateAt, mutate, skip } from 'hookspan/gates'
import { expect, it } from 'vitest'
import type { DurableLoop, LoopRun } from '../../src/durable/loop-run.ts'
import { DURABLE_FIELDS } from '../../src/durable/options.ts'
import { DurableRuns } from '../../src/durable/runs.ts'
import { Journal, MemoryEngine } from './durable-model/engine.ts'

const never = () => new Promise<never>(() => {})

/** How the run ends whose process dies behind each record that there is, and how one whose process does not. */
async function* outcomes(gates: Gate[], loop: (run: LoopRun, input: unknown) => Promise<unknown>) {
  for (let diesAfter = 0; diesAfter < 20; diesAfter++) {
    const journal = new Journal()
    const attempt = (dies: boolean) => {
      const died = Promise.withResolvers<'died'>()
      let records = 0
      const engine = new MemoryEngine(journal, {
        suspends: false,
        forgets: false,
        moment: async (what) => {
          if (!dies || what !== 'after a record' || records++ !== diesAfter) return
          died.resolve('died')
          await never()
        },
        wait: never,
        suspend: () => {},
        hasLost: () => false,
      })
      const dispatcher = new HookDispatcher()
      dispatcher.use({ name: 'guards', gates })
      const options = { name: 'shop', dispatcher, agent: loop as DurableLoop }
      const runs = DurableRuns.of(options, DURABLE_FIELDS, () => undefined)
      return Promise.race([runs.run(engine, 'run-1', { prompt: 'secret' }), died.promise])
    }
    const first = await attempt(true)
    yield first === 'died' ? await attempt(false) : first
    if (first !== 'died') return
  }
}

it('is given what an `onStart` gate made of the input, in each process', async () => {
  let asked = 0
  const decide = () => {
    asked++
    return mutate({ prompt: `clean ${asked}` })
  }
  let runs = 0
  for await (const outcome of outcomes([gateAt('onStart', { id: 'guard', decide })], async (run, input) => {
    await run.step((step) => step.llmCall({ model: 'm', request: {} }, async () => 'hi'))
    return (input as { prompt: string }).prompt
  })) {
    runs++
    expect(outcome).toMatchObject({ reason: 'done', value: `clean ${runs}` })
  }
  expect(runs).toBeGreaterThan(2)
  expect(asked).toBe(runs)
})

it.each([
  ['a text', 'secret', mutate({ content: 'clean' }), 'clean'],
  ['a text', 'secret', skip('clean'), 'clean'],
  ['an object', { card: 'secret' }, mutate({ content: '{"card":"***"}' }), { card: '***' }],
  ['an object', { card: 'secret' }, skip('withheld'), 'withheld'],
  ['nothing', undefined, skip('clean'), 'clean'],
])('gives what a `beforeComplete` gate made of %s', async (_what, value, decision, expected) => {
  for await (const outcome of outcomes(
    [gateAt('beforeComplete', { id: 'guard', decide: () => decision })],
    async () => value,
  )) {
    expect(outcome).toMatchObject({ reason: 'done', value: expected })
  }
})

it('ends a run that a gate stopped before its process died', async () => {
  const gates = [gateAt('beforeLlmCall', { id: 'guard', decide: () => deny('no more', { stop: true }) })]
  for await (const outcome of outcomes(gates, async (run) => {
    await run.step((step) =>
      step.llmCall({ model: 'm', request: {}, standIn: ({ content }) => content }, async () => 'hi'),
    )
    return 'said'
  })) {
    expect(outcome).toMatchObject({ reason: 'denied' })
    expect(outcome).not.toHaveProperty('value')
  }
})
