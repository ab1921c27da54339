import type { Suite, Variant, Workload } from '../harness/types.ts'
import { CALLS_PER_TURN } from './amounts.ts'

const own = (name: keyof typeof import('./mocked-call-ways.ts')) => async (): Promise<Workload> =>
  (await import('./mocked-call-ways.ts'))[name]()

/** By an address, because the main type check runs without the peers. */
const PEERS = new URL('../peers/mocked-call.ts', import.meta.url).href
const peer = (name: string) => async (): Promise<Workload> =>
  ((await import(PEERS)) as Record<string, () => Workload>)[name]?.() as Workload

const variants: Variant[] = [
  { id: 'bare', title: 'the function alone', load: own('bare') },
  { id: 'step', title: '**hookspan** `step.toolCall`, a rule by name', load: own('byName') },
  { id: 'step-when', title: '**hookspan** `step.toolCall`, a rule by arguments', load: own('byArguments') },
  {
    id: 'step-schema',
    title: '**hookspan** `step.toolCall`, with input and output schema',
    load: own('withSchema'),
  },
  { id: 'agent', title: '**hookspan** `execAgent`, scripted model', load: own('wholeAgent') },
  {
    id: 'openai-agents',
    title: '`@openai/agents`, `invoke` replaced, `ScriptedModel`',
    peer: true,
    load: peer('openaiAgents'),
  },
  { id: 'langchain', title: '`langchain`, `wrapToolCall`, `fakeModel`', peer: true, load: peer('langchain') },
]

export const mockedCall: Suite = {
  id: 'mocked-call',
  title: 'One mocked tool call',
  notes: [
    `Microseconds per mocked call. The last three run a whole agent in which the model asks for ${CALLS_PER_TURN} calls in one turn and then ends; the time of the run is divided by the calls. Each uses the seam that its framework offers: LangChain's makes no tool callbacks for a mocked call; hookspan's and OpenAI's go through hooks and spans as a real call does.`,
  ],
  unit: 'us',
  clock: 'wall',
  rounds: 5,
  effort: { warmups: 3, batches: 15, count: 1_000 },
  baselines: [
    { title: 'x the function alone', of: () => 'bare' },
    {
      title: 'x hookspan execAgent',
      of: (id) => (['openai-agents', 'langchain'].includes(id) ? 'agent' : undefined),
    },
  ],
  variants,
  aims: [],
  sameProof: [{ key: 'answered', ids: variants.map(({ id }) => id) }],
}
