import type { Effort, Suite, Variant, Workload } from '../harness/types.ts'
import { CALLS_PER_TURN } from './amounts.ts'

const own = (name: keyof typeof import('./gates-ways.ts')) => async (): Promise<Workload> =>
  (await import('./gates-ways.ts'))[name]()

/** By an address, because the main type check runs without the peers. */
const PEERS = new URL('../peers/gates.ts', import.meta.url).href
const peer = (name: string) => async (): Promise<Workload> =>
  ((await import(PEERS)) as Record<string, () => Workload>)[name]?.() as Workload

/** Of a call that takes a microsecond. */
const SHORT: Effort = { warmups: 5, batches: 25, count: 20_000 }

const STEP = 'a tool call'
const AGENT = 'a tool call within a whole agent'

const step = { group: STEP, effort: SHORT }

const variants: Variant[] = [
  { id: 'bare', title: 'the function alone', ...step, load: own('bare') },
  { id: 'step-cut', title: '**hookspan**, its questions for gates cut out', ...step, load: own('stepCut') },
  { id: 'step-0', title: '**hookspan** `step.toolCall`, no gate', ...step, load: own('step0') },
  { id: 'step-1', title: '**hookspan**, one gate', ...step, load: own('step1') },
  { id: 'step-5', title: '**hookspan**, five gates', ...step, load: own('step5') },
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
    `Microseconds of processor time per call of an asynchronous tool. The gates are asynchronous functions of this process that let every call through; they run one after the other. The second table runs a whole agent in which the model asks for ${CALLS_PER_TURN} calls in one turn and then ends. Each framework is compared with itself without a guard. A gate of hookspan gets a copy of the arguments and a time limit, and its decision is recorded; LangChain's and OpenAI's guards get neither.`,
    '"Its questions for gates cut out" is the built package with one method changed: whether any gate decides here is answered with no before anything is looked up. What is left of the difference is what gates cost those who have none.',
  ],
  unit: 'us',
  clock: 'cpu',
  rounds: 5,
  effort: { warmups: 3, batches: 15, count: 1_000 },
  baselines: [
    { title: 'x the function alone', of: (id) => (/^(bare|step)/.test(id) ? 'bare' : undefined) },
    { title: 'x without a guard', of: (id) => (/\d$/.test(id) ? id.replace(/\d$/, '0') : undefined) },
  ],
  over: { title: 'us over no guard', of: (id) => id.replace(/\d$/, '0') },
  variants,
  aims: [
    {
      text: 'a tool call without a gate, over one that cannot have any',
      measure: (of) => (of('step-0') ?? Number.NaN) / (of('step-cut') ?? Number.NaN),
      atMost: 1.05,
      unit: 'x',
    },
  ],
}
