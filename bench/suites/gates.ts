import type { Suite, Variant, Workload } from '../harness/types.ts'

/** Calls that one model turn asks for, so that the loop around them weighs little. */
export const CALLS_PER_TURN = 50

const own = (name: keyof typeof import('./gates-ways.ts')) => async (): Promise<Workload> =>
  (await import('./gates-ways.ts'))[name]()

/** By an address, because the main type check runs without the peers. */
const PEERS = new URL('../peers/gates.ts', import.meta.url).href
const peer = (name: string) => async (): Promise<Workload> =>
  ((await import(PEERS)) as Record<string, () => Workload>)[name]?.() as Workload

const STEP = 'a tool call'
const AGENT = 'a tool call within a whole agent'

const variants: Variant[] = [
  { id: 'bare', title: 'the function alone', group: STEP, load: own('bare') },
  { id: 'step-0', title: '**hookspan** `step.toolCall`, no gate', group: STEP, load: own('step0') },
  { id: 'step-1', title: '**hookspan**, one gate', group: STEP, load: own('step1') },
  { id: 'step-5', title: '**hookspan**, five gates', group: STEP, load: own('step5') },
  { id: 'agent-0', title: '**hookspan** `execAgent`, no gate', group: AGENT, load: own('agent0') },
  { id: 'agent-1', title: '**hookspan**, one gate', group: AGENT, load: own('agent1') },
  { id: 'agent-5', title: '**hookspan**, five gates', group: AGENT, load: own('agent5') },
  { id: 'openai-0', title: '`@openai/agents`', group: AGENT, peer: true, load: peer('openaiAgents0') },
  { id: 'openai-1', title: 'one tool guardrail', group: AGENT, peer: true, load: peer('openaiAgents1') },
  { id: 'openai-5', title: 'five tool guardrails', group: AGENT, peer: true, load: peer('openaiAgents5') },
  { id: 'langchain-0', title: '`langchain`', group: AGENT, peer: true, load: peer('langchain0') },
  { id: 'langchain-1', title: 'one `wrapToolCall`', group: AGENT, peer: true, load: peer('langchain1') },
  { id: 'langchain-5', title: 'five `wrapToolCall`', group: AGENT, peer: true, load: peer('langchain5') },
]

export const gates: Suite = {
  id: 'gates',
  title: 'Gates on a tool call',
  notes: [
    `Microseconds per call of an asynchronous tool. The gates are asynchronous functions of this process that let every call through; they run one after the other. The second table runs a whole agent in which the model asks for ${CALLS_PER_TURN} calls in one turn and then ends. Each framework is compared with itself without a guard. A gate of hookspan gets a copy of the arguments and a time limit, and its decision is recorded; LangChain's and OpenAI's guards get neither.`,
  ],
  unit: 'us',
  clock: 'wall',
  rounds: 5,
  effort: { warmups: 3, batches: 15, count: 1_000 },
  baselines: [
    { title: 'x the function alone', of: (id) => (/^(bare|step)/.test(id) ? 'bare' : undefined) },
    { title: 'x without a guard', of: (id) => (id === 'bare' ? undefined : id.replace(/\d$/, '0')) },
  ],
  variants,
  aims: [],
}
