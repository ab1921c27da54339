import type { Measurement, Suite, Variant } from '../harness/types.ts'
import { HTTP_AT_ONCE, HTTP_CALLS } from './amounts.ts'

type Ways = typeof import('./http-gate-ways.ts')

function variant(id: keyof Ways, title: string): Variant {
  const load = async (): Promise<Measurement> => (await import('./http-gate-ways.ts'))[id]
  return { id, title, load }
}

const ratio = (of: (id: string) => number | undefined, id: string) =>
  (of('request') ?? Number.NaN) / (of(id) ?? Number.NaN)

export const httpGate: Suite = {
  id: 'http-gate',
  title: 'Decisions over HTTP',
  notes: [
    `${HTTP_AT_ONCE.toLocaleString('en')} tool calls at once, ${HTTP_CALLS.toLocaleString('en')} in all, each of which asks a server of this machine (a process of its own) over connections that are kept, 256 at most. Milliseconds are those of one call, its wait for a connection included: with so many at once they follow from the throughput. A warm-up of ${(HTTP_CALLS / 4).toLocaleString('en')} calls goes before.`,
    '`node:http` is the same POST of the same JSON through an agent with the same options, its answer parsed. What it does not have: a tool call, a guard against private addresses, a time limit, a limit of size, a trace context, a check of the decision, an end that is closed.',
  ],
  unit: 'per second',
  clock: 'wall',
  rounds: 5,
  effort: { warmups: 0, batches: 1, count: HTTP_CALLS },
  baselines: [],
  variants: [
    variant('request', '`node:http` alone'),
    variant('fetchAlone', '`fetch` alone'),
    variant('unsigned', '**hookspan** `httpGate`'),
    variant('signed', '**hookspan** `httpGate`, signed'),
  ],
  aims: [
    {
      text: 'decisions a second of `node:http`, over those of `httpGate`',
      measure: (of) => ratio(of, 'unsigned'),
      atMost: 2,
      unit: 'x',
    },
    {
      text: 'the same, signed',
      measure: (of) => ratio(of, 'signed'),
      atMost: 2,
      unit: 'x',
    },
  ],
}
