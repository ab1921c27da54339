import type { Measurement, Suite, Variant } from '../harness/types.ts'

type Ways = typeof import('./heap-ways.ts')

function variant(id: keyof Ways, title: string, group: string): Variant {
  const load = async (): Promise<Measurement> => (await import('./heap-ways.ts'))[id]
  return { id, title, group, load }
}

const FINISHED = 'Bytes retained per finished operation, over 100,000 operations'
const OPEN = 'Bytes per open operation, 100,000 open at once'

export const heap: Suite = {
  id: 'heap',
  title: 'Memory',
  notes: [
    'Heap in use after collections, divided by 100,000. Each finished operation had a step with a model call and a tool call; 20,000 run before the first measurement. Open operations are started and left so.',
  ],
  unit: 'bytes',
  clock: 'cpu',
  rounds: 3,
  effort: { warmups: 0, batches: 1, count: 1 },
  baselines: [],
  variants: [
    variant('finished', 'operations, two hooks each', FINISHED),
    variant('finishedTraced', 'the same, traced', FINISHED),
    variant('unregistered', '`register`, `dispatch` three times, `unregister`', FINISHED),
    variant('openPlain', 'an operation', OPEN),
    variant('openWithHooks', 'an operation with two hooks of its own', OPEN),
    variant('openInStep', 'an operation in a step, in a tool call', OPEN),
    variant('openTraced', 'an operation, traced', OPEN),
    variant('openSpan', 'a span of the SDK alone, with the same attributes', OPEN),
    variant('openEmitter', 'an `EventEmitter` with two listeners', OPEN),
  ],
  aims: (['finished', 'finishedTraced', 'unregistered'] as const).map((id) => ({
    text: `bytes retained per operation (${id})`,
    measure: (of: (id: string) => number | undefined) => of(id),
    // Less than what one object takes: what is measured below is the heap's own noise.
    atMost: 8,
    unit: 'bytes',
  })),
}
