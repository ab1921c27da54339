import type { Aim, Suite } from '../harness/types.ts'
import { AGES, atEachAge, sibling, type Way, wayOf } from './ages.ts'

const own = async () => (await import('./agent-run-own.ts')).ways
/** By an address, because the main type check runs without the peers. */
const PEERS = new URL('../peers/agent-run.ts', import.meta.url).href
const peers = async () => (await import(PEERS)).ways as typeof import('./agent-run-own.ts').ways

const WAYS: readonly Way[] = [
  { id: 'bare', title: 'no tracing' },
  { id: 'hand', title: 'spans by hand' },
  { id: 'hand-steps', title: 'spans by hand, steps too' },
  { id: 'hookspan', title: '**hookspan** `observeOpenAI`, `stepSpans: false`' },
  { id: 'hookspan-steps', title: '**hookspan** `observeOpenAI`' },
  { id: 'exec-agent', title: '**hookspan** `execAgent`, `stepSpans: false`' },
  { id: 'exec-agent-steps', title: '**hookspan** `execAgent`' },
  { id: 'hand-content', title: 'spans by hand, content' },
  { id: 'hookspan-content', title: '**hookspan** `observeOpenAI`, `stepSpans: false`, content' },
  { id: 'hookspan-steps-content', title: '**hookspan** `observeOpenAI`, content' },
  { id: 'openinference-hidden', title: 'OpenInference, inputs and outputs hidden', peer: true },
  { id: 'openinference', title: 'OpenInference', peer: true },
  { id: 'traceloop-no-content', title: 'Traceloop, no content', peer: true },
  { id: 'traceloop', title: 'Traceloop', peer: true },
  { id: 'langfuse', title: 'Langfuse `observeOpenAI`', peer: true },
  {
    id: 'langfuse-observations',
    title: 'Langfuse `observeOpenAI`, observations for agent and tools',
    peer: true,
  },
  { id: 'ai-off', title: 'AI SDK, no telemetry', peer: true },
  { id: 'ai-no-content', title: 'AI SDK telemetry, no content', peer: true },
  { id: 'ai', title: 'AI SDK telemetry', peer: true },
]

type Of = (id: string) => number | undefined

/** Without any tracing. */
function bareOf(id: string): string {
  return sibling(id, wayOf(id).startsWith('ai') ? 'ai-off' : 'bare')
}

/** By hand, with the same content. */
function handOf(id: string): string | undefined {
  const way = wayOf(id)
  if (id === bareOf(id)) return undefined
  const content = ['openinference', 'traceloop', 'langfuse', 'langfuse-observations', 'ai'].includes(way)
  return sibling(
    id,
    content || (way.endsWith('-content') && !way.endsWith('no-content')) ? 'hand-content' : 'hand',
  )
}

function over(of: Of, id: string): number {
  return (of(id) ?? Number.NaN) - (of(bareOf(id)) ?? Number.NaN)
}

function aimsAt({ id: age, title }: (typeof AGES)[number]): Aim[] {
  const atMost = (way: string, other: string, atMost: number, text: string): Aim => ({
    text: `${title}: ${text}`,
    measure: (of) => over(of, `${age}/${way}`) / over(of, `${age}/${other}`),
    atMost,
    unit: 'x',
  })
  const overHand = 'CPU over bare, over that of spans by hand'
  return [
    atMost('hookspan', 'hand', 1.25, `24 spans, \`observeOpenAI\`: ${overHand}`),
    atMost('hookspan-steps', 'hand-steps', 1.25, `34 spans, \`observeOpenAI\`: ${overHand}`),
    atMost('hookspan-content', 'hand-content', 1.25, `24 spans, \`observeOpenAI\`, content: ${overHand}`),
    atMost('exec-agent', 'hand', 1.25, `24 spans, \`execAgent\`: ${overHand}`),
    // A library that makes no more spans must cost no less.
    atMost('hookspan-content', 'langfuse-observations', 1, 'below Langfuse with as many spans'),
    atMost('hookspan-steps', 'ai-no-content', 1, 'below AI SDK telemetry without content'),
    atMost('hookspan-steps-content', 'ai', 1, 'below AI SDK telemetry with content'),
  ]
}

export const agentRun: Suite = {
  id: 'agent-run',
  title: 'An agent run of ten turns',
  notes: [
    'Microseconds of processor time per run (all threads, garbage collection included): 10 model calls by the `openai` client to an endpoint in the same process, 13 tool calls, some in parallel, results of about 1 KB. "Over bare" is what is left when the same loop without tracing is subtracted; the AI SDK has a loop and a client of its own, so telemetry off is subtracted there.',
    'All end their spans in OpenTelemetry SDK 3 with a processor that counts and drops; Langfuse has its own processor before it, as its users do. Content: messages, arguments and results as JSON on the spans. The ratio compares with spans by hand of the same content.',
    'Spans by hand carry the same attributes, by name and type, as those of `observeOpenAI`, which the suite checks; neither records metrics, as no meter provider is set up. `execAgent` writes the price of each call and the description of each tool, too.',
    'In a young process the compiler still works on what runs, on more of it where there is more code. Differences below about 50 us per run are noise.',
  ],
  unit: 'us',
  clock: 'cpu',
  rounds: 3,
  effort: { warmups: 20, batches: 12, count: 100 },
  over: { title: 'over bare', of: bareOf },
  baselines: [{ title: 'x by hand, over bare', of: handOf, floor: bareOf }],
  variants: atEachAge(WAYS, own, peers),
  aims: AGES.flatMap(aimsAt),
  sameProof: AGES.flatMap(({ id: age }) =>
    ['agentSpan', 'chatSpan', 'toolSpan'].flatMap((key) => [
      { key, ids: ['hand', 'hand-steps', 'hookspan', 'hookspan-steps'].map((way) => `${age}/${way}`) },
      {
        key,
        ids: ['hand-content', 'hookspan-content', 'hookspan-steps-content'].map((way) => `${age}/${way}`),
      },
    ]),
  ),
}
