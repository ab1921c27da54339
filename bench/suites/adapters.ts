import type { Aim, Effort, Suite, Variant } from '../harness/types.ts'

const own = async () => (await import('./adapters-ways.ts')).ways
/** By an address, because the main type check runs without the peers. */
const PEERS = new URL('../peers/adapters.ts', import.meta.url).href
const peers = async () => (await import(PEERS)).ways as Awaited<ReturnType<typeof own>>

/** Spans that hookspan makes of a run. */
const SPANS = 34

interface Other {
  readonly id: string
  readonly title: string
  readonly peer?: boolean
  /** How many it makes, where it makes fewer: then a span is compared with a span. */
  readonly fewer?: number
}

interface Sdk {
  readonly id: string
  readonly title: string
  /** What its users take for tracing alone, by id and title. */
  readonly others: readonly Other[]
  /** Runs that are waited for together. */
  readonly count: number
}

const SDKS: readonly Sdk[] = [
  {
    id: 'ai-sdk',
    title: 'AI SDK, `generateText`',
    others: [{ id: 'otel', title: '`@ai-sdk/otel`' }],
    count: 50,
  },
  {
    id: 'openai-agents',
    title: 'OpenAI Agents, `runner.run`',
    others: [{ id: 'own-tracing', title: "the SDK's own tracing" }],
    count: 50,
  },
  {
    id: 'langchain',
    title: 'LangChain, `createAgent`',
    others: [{ id: 'openinference', title: 'OpenInference, inputs and outputs hidden', peer: true }],
    count: 20,
  },
  {
    id: 'anthropic',
    title: 'Anthropic, `toolRunner`',
    others: [
      { id: 'own-tracing', title: "the SDK's own spans", fewer: 24 },
      { id: 'openinference', title: 'OpenInference, inputs and outputs hidden', peer: true, fewer: 10 },
    ],
    count: 50,
  },
]

const OURS = [
  { id: 'observe', title: '**hookspan**, observing' },
  { id: 'gate', title: '**hookspan**, one gate on tools' },
  { id: 'mock', title: '**hookspan**, the tool mocked by one rule' },
]

function variantsOf({ id: sdk, title: group, others, count }: Sdk): Variant[] {
  const effort: Effort = { warmups: 8, batches: 8, count }
  const all: Other[] = [{ id: 'bare', title: 'no tracing' }, ...OURS, ...others]
  return all.map(({ id: way, title, peer }: Other) => ({
    id: `${sdk}/${way}`,
    title,
    group,
    effort,
    ...(peer && { peer }),
    load: async () => {
      const found = (peer ? await peers() : await own())[`${sdk}/${way}`]
      if (found === undefined) throw new Error(`No way "${sdk}/${way}".`)
      return found()
    },
  }))
}

const bareOf = (id: string) => `${id.split('/')[0]}/bare`
const otherOf = (id: string) => {
  const sdk = SDKS.find((one) => one.id === id.split('/')[0])
  const [other] = sdk?.others ?? []
  return id.endsWith('/bare') || other === undefined ? undefined : `${sdk?.id}/${other.id}`
}

function aimOf({ id, title, others }: Sdk): Aim[] {
  const over = (of: (id: string) => number | undefined, way: string) =>
    (of(`${id}/${way}`) ?? Number.NaN) - (of(`${id}/bare`) ?? Number.NaN)
  return others.map(({ id: other, title: named, fewer = SPANS }) => ({
    text: `${title}: CPU over bare${fewer < SPANS ? ' and span' : ''}, over that of ${named}`,
    measure: (of) => over(of, 'observe') / SPANS / (over(of, other) / fewer),
    atMost: 1,
    unit: 'x',
  }))
}

export const adapters: Suite = {
  id: 'adapters',
  title: 'Agents of other SDKs',
  notes: [
    'Microseconds of processor time per run of ten turns with 13 tool calls, by the loop that each SDK brings along, on a model in the same process. All that the process does for it counts, until every span has been taken by a collector, which is another process on the same machine and counts what comes. Nobody records content.',
    '"Over bare" is what is left when the same run without tracing is subtracted. The proof in bench/results says how many spans each made of a run: OpenInference makes one for each node of LangGraph, and for Anthropic one for each model call and none for tools.',
  ],
  unit: 'us',
  clock: 'cpu',
  rounds: 3,
  effort: { warmups: 8, batches: 8, count: 50 },
  over: { title: 'over bare', of: bareOf },
  baselines: [{ title: 'x for tracing alone, over bare', of: otherOf, floor: bareOf }],
  variants: SDKS.flatMap(variantsOf),
  aims: SDKS.flatMap(aimOf),
}
