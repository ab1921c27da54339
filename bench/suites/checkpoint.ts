import type { Measurement, Suite, Variant } from '../harness/types.ts'

type Ways = typeof import('./checkpoint-ways.ts')

function variant(id: keyof Ways, title: string): Variant {
  const load = async (): Promise<Measurement> => (await import('./checkpoint-ways.ts'))[id]
  return { id, title, load }
}

export const checkpoint: Suite = {
  id: 'checkpoint',
  title: 'Saving a run on its way',
  notes: [
    'Milliseconds on the clock of each record that `execAgent({ checkpoint })` writes, two for each step: before its tool is run, and when the step has ended. A run has 100 steps, and 200 KB of messages at its end; 20 runs in each round. The model and the tool answer at once. `memory` keeps the records in a list: what hookspan itself takes.',
    'SQLite is on the disk of the machine, and syncs each record. Bytes: of all records of one run, over those of its messages.',
  ],
  unit: 'ms',
  clock: 'wall',
  rounds: 3,
  effort: { warmups: 0, batches: 1, count: 1 },
  baselines: [],
  variants: [variant('memory', 'in memory'), variant('sqlite', '`sqliteCheckpoints`')],
  aims: [
    {
      text: 'a record into SQLite, in the middle of the records',
      measure: (of) => of('sqlite'),
      atMost: 10,
      unit: 'ms',
    },
  ],
}
