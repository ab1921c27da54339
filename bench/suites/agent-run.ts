import type { Suite, Variant, Workload } from '../harness/types.ts'

type Ways = Readonly<Record<string, () => Workload | Promise<Workload>>>

const own = async (): Promise<Ways> => (await import('./agent-run-own.ts')).ways
/** By an address, because the main type check runs without the peers. */
const PEERS = new URL('../peers/agent-run.ts', import.meta.url).href
const peers = async (): Promise<Ways> => (await import(PEERS)).ways

function variant(id: string, title: string, peer = false): Variant {
  const load = async () => {
    const way = (await (peer ? peers() : own()))[id]
    if (way === undefined) throw new Error(`No way "${id}".`)
    return way()
  }
  return { id, title, load, ...(peer && { peer }) }
}

const variants: readonly Variant[] = [
  variant('bare', 'no tracing'),
  variant('hand', 'spans by hand'),
  variant('hand-steps', 'spans by hand, steps too'),
  variant('hookspan', '**hookspan** `observeOpenAI`, `stepSpans: false`'),
  variant('hookspan-steps', '**hookspan** `observeOpenAI`'),
  variant('exec-agent', '**hookspan** `execAgent`, `stepSpans: false`'),
  variant('exec-agent-steps', '**hookspan** `execAgent`'),
  variant('hand-content', 'spans by hand, content'),
  variant('hookspan-content', '**hookspan** `observeOpenAI`, `stepSpans: false`, content'),
  variant('hookspan-steps-content', '**hookspan** `observeOpenAI`, content'),
  variant('openinference-hidden', 'OpenInference, inputs and outputs hidden', true),
  variant('openinference', 'OpenInference', true),
  variant('traceloop-no-content', 'Traceloop, no content', true),
  variant('traceloop', 'Traceloop', true),
  variant('langfuse', 'Langfuse `observeOpenAI`', true),
  variant('langfuse-observations', 'Langfuse `observeOpenAI`, observations for agent and tools', true),
  variant('ai-off', 'AI SDK, no telemetry', true),
  variant('ai-no-content', 'AI SDK telemetry, no content', true),
  variant('ai', 'AI SDK telemetry', true),
]

/** Without any tracing. */
function bareOf(id: string): string {
  return id.startsWith('ai') ? 'ai-off' : 'bare'
}

/** By hand, with the same content. */
function handOf(id: string): string | undefined {
  if (id === bareOf(id)) return undefined
  const content = ['openinference', 'traceloop', 'langfuse', 'langfuse-observations', 'ai'].includes(id)
  return content || (id.endsWith('-content') && !id.endsWith('no-content')) ? 'hand-content' : 'hand'
}

function over(of: (id: string) => number | undefined, id: string): number {
  return (of(id) ?? Number.NaN) - (of(bareOf(id)) ?? Number.NaN)
}

function atMostHand(id: string, hand: string, text: string) {
  return {
    text: `${text}: CPU over bare, over that of spans by hand`,
    measure: (of: (id: string) => number | undefined) => over(of, id) / over(of, hand),
    atMost: 1.25,
    unit: 'x',
  }
}

/** `many`: spans per run of ours; a library that makes no fewer must cost no less. */
function belowLibrary(id: string, library: string, text: string) {
  return {
    text,
    measure: (of: (id: string) => number | undefined) => over(of, id) / over(of, library),
    atMost: 1,
    unit: 'x',
  }
}

export const agentRun: Suite = {
  id: 'agent-run',
  title: 'An agent run of ten turns',
  notes: [
    'Microseconds of processor time per run (all threads, garbage collection included): 10 model calls by the `openai` client to an endpoint in the same process, 13 tool calls, some in parallel, results of about 1 KB. "Over bare" is what is left when the same loop without tracing is subtracted; the AI SDK has a loop and a client of its own, so telemetry off is subtracted there.',
    'All end their spans in OpenTelemetry SDK 3 with a processor that counts and drops; Langfuse has its own processor before it, as its users do. Content: messages, arguments and results as JSON on the spans. The ratio compares with spans by hand of the same content.',
    'Spans by hand carry the same attributes, by name and type, as those of `observeOpenAI`, which the suite checks; neither records metrics, as no meter provider is set up. `execAgent` writes the price of each call and the description of each tool, too.',
    'Measured after 4,000 runs: until then the compiler still works on what runs, on more of it where there is more code.',
    'Differences below about 50 us per run are noise.',
  ],
  unit: 'us',
  clock: 'cpu',
  rounds: 5,
  effort: { warmups: 40, batches: 20, count: 100 },
  over: { title: 'over bare', of: bareOf },
  baselines: [{ title: 'x by hand, over bare', of: handOf, floor: bareOf }],
  variants,
  aims: [
    atMostHand('hookspan', 'hand', '24 spans, `observeOpenAI`'),
    atMostHand('hookspan-steps', 'hand-steps', '34 spans, `observeOpenAI`'),
    atMostHand('hookspan-content', 'hand-content', '24 spans, `observeOpenAI`, content'),
    atMostHand('exec-agent', 'hand', '24 spans, `execAgent`'),
    belowLibrary('hookspan-content', 'langfuse-observations', 'below Langfuse with as many spans'),
    belowLibrary('hookspan-steps', 'ai-no-content', 'below AI SDK telemetry without content'),
    belowLibrary('hookspan-steps-content', 'ai', 'below AI SDK telemetry with content'),
  ],
  sameProof: [
    ...['agentSpan', 'chatSpan', 'toolSpan'].flatMap((key) => [
      { key, ids: ['hand', 'hand-steps', 'hookspan', 'hookspan-steps'] },
      { key, ids: ['hand-content', 'hookspan-content', 'hookspan-steps-content'] },
    ]),
  ],
}
