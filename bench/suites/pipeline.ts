import type { Aim, Suite } from '../harness/types.ts'
import { AGES, atEachAge, sibling, type Way, wayOf } from './ages.ts'

const own = async () => (await import('./pipeline-own.ts')).ways
/** By an address, because the main type check runs without the peers. */
const PEERS = new URL('../peers/pipeline.ts', import.meta.url).href
const peers = async () => (await import(PEERS)).ways as typeof import('./pipeline-own.ts').ways

const WAYS: readonly Way[] = [
  { id: 'bare', title: 'no tracing' },
  { id: 'hand-json', title: 'spans by hand, exporter for JSON' },
  { id: 'hand-protobuf', title: 'spans by hand, exporter for protobuf' },
  { id: 'hookspan', title: '**hookspan** `startTracing`, `observeOpenAI`' },
  { id: 'hand-json-content', title: 'spans by hand, content, exporter for JSON' },
  { id: 'hand-protobuf-content', title: 'spans by hand, content, exporter for protobuf' },
  { id: 'hookspan-content', title: '**hookspan** `startTracing`, `observeOpenAI`, content' },
  { id: 'hookspan-json', title: '**hookspan**, `protocol: http/json`' },
  { id: 'hookspan-json-content', title: '**hookspan**, `protocol: http/json`, content' },
  { id: 'langfuse', title: 'Langfuse `observeOpenAI`, its processor', peer: true },
  { id: 'langfuse-observations', title: 'the same, observations for agent and tools', peer: true },
]

type Of = (id: string) => number | undefined

const HAND = ['hand-json', 'hand-protobuf']
const HAND_CONTENT = ['hand-json-content', 'hand-protobuf-content']

function over(of: Of, id: string): number {
  return (of(id) ?? Number.NaN) - (of(sibling(id, 'bare')) ?? Number.NaN)
}

function aimsAt({ id: age, title }: (typeof AGES)[number]): Aim[] {
  const atMost = (way: string, others: readonly string[], text: string): Aim => ({
    text: `${title}: ${text}`,
    measure: (of) =>
      over(of, `${age}/${way}`) / Math.min(...others.map((other) => over(of, `${age}/${other}`))),
    atMost: 1,
    unit: 'x',
  })
  return [
    atMost('hookspan', HAND, 'CPU over bare, over the better of the two by hand'),
    atMost('hookspan-content', HAND_CONTENT, 'the same with content'),
    atMost('hookspan-content', ['langfuse-observations'], 'with content, over Langfuse with observations'),
  ]
}

export const pipeline: Suite = {
  id: 'pipeline',
  title: 'The whole pipeline: a run, its spans, and sending them',
  notes: [
    'Microseconds of processor time per run of ten turns (the run of the suite above), all that the process of the agent does for it: until every span has been taken by a collector, which is another process on the same machine. The collector counts: every variant must have sent every span of every run.',
    "hookspan: `startTracing({ endpoint })`, `observeOpenAI(client)`. By hand: the same 34 spans with the same attributes, by name and type, which the suite checks, on `NodeSDK` with a `BatchSpanProcessor` and one of OpenTelemetry's two exporters over HTTP, all as they come. Langfuse always captures content; with observations it makes 24 spans.",
    'After each run the event loop turns once, so that batches go out while runs go on; 100 runs are waited for together, 300 in a young process.',
  ],
  unit: 'us',
  clock: 'cpu',
  rounds: 5,
  effort: { warmups: 20, batches: 12, count: 100 },
  over: { title: 'over bare', of: (id) => sibling(id, 'bare') },
  baselines: [
    {
      title: 'x by hand, JSON, over bare',
      of: (id) => baselineOf(id, 'hand-json'),
      floor: (id) => sibling(id, 'bare'),
    },
    {
      title: 'x by hand, protobuf, over bare',
      of: (id) => baselineOf(id, 'hand-protobuf'),
      floor: (id) => sibling(id, 'bare'),
    },
  ],
  variants: atEachAge(WAYS, own, peers),
  aims: AGES.flatMap(aimsAt),
  sameProof: AGES.flatMap(({ id: age }) =>
    ['spansPerRun', 'agentSpan', 'stepSpan', 'chatSpan', 'toolSpan'].flatMap((key) => [
      { key, ids: ['hookspan', ...HAND].map((way) => `${age}/${way}`) },
      { key, ids: ['hookspan-content', ...HAND_CONTENT].map((way) => `${age}/${way}`) },
    ]),
  ),
}

/** Content is compared with content. */
function baselineOf(id: string, hand: string): string | undefined {
  const way = wayOf(id)
  if (way === 'bare') return undefined
  const content = way.endsWith('-content') || way.startsWith('langfuse')
  return sibling(id, content ? `${hand}-content` : hand)
}
