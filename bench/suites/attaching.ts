import type { Suite, Variant } from '../harness/types.ts'
import { ATTACHING_PAIRS } from './amounts.ts'

/** Pairs of processes in each round. */
/** Adapters, and what of their SDK a program imports anyway. */
const ADAPTERS: readonly (readonly [adapter: string, sdk: string])[] = [
  ['ai-sdk', 'ai'],
  ['openai-agents', '@openai/agents'],
  ['langchain', 'langchain'],
  ['anthropic', '@anthropic-ai/sdk'],
  ['google-genai', '@google/genai'],
  ['mcp', '@modelcontextprotocol/client'],
  ['openai', 'openai'],
]

const variants: Variant[] = [
  ...ADAPTERS.map(([adapter, sdk]) => ({
    id: adapter,
    title: `\`hookspan/${adapter}\`, over \`${sdk}\` and \`hookspan\``,
    group: 'Importing an adapter, processor time',
    load: async () => (await import('./attaching-ways.ts')).importing(`hookspan/${adapter}`, sdk),
  })),
  {
    id: 'run',
    title: '`hookspan run -- node agent.js`, over `node agent.js`',
    group: 'Until the first line of a program runs, on the clock',
    load: async () => (await import('./attaching-ways.ts')).running(false),
  },
  {
    id: 'run-viewer',
    title: 'the same, where a viewer has to be started',
    group: 'Until the first line of a program runs, on the clock',
    load: async () => (await import('./attaching-ways.ts')).running(true),
  },
  {
    id: 'register',
    title: '`node --import hookspan/register agent.js`, over `node agent.js`',
    group: 'Until the first line of a program runs, on the clock',
    load: async () => (await import('./attaching-ways.ts')).registering(),
  },
]

export const attaching: Suite = {
  id: 'attaching',
  title: 'Attaching to a program',
  notes: [
    `Milliseconds, by pairs of fresh processes, ${ATTACHING_PAIRS} in each round, in an order that alternates. An adapter is imported by a program that has its SDK and the dispatcher already, so what is told is what the adapter adds.`,
  ],
  unit: 'ms',
  clock: 'wall',
  rounds: 3,
  effort: { warmups: 0, batches: 1, count: 1 },
  baselines: [],
  variants,
  aims: [
    ...ADAPTERS.map(([adapter, sdk]) => ({
      text: `importing \`hookspan/${adapter}\`, over \`${sdk}\` and \`hookspan\``,
      measure: (of: (id: string) => number | undefined) => of(adapter),
      atMost: 5,
      unit: 'ms',
    })),
    ...[
      ['run', '`hookspan run`, over the bare start'],
      ['run-viewer', 'the same, where a viewer has to be started'],
    ].map(([id = '', text = '']) => ({
      text,
      measure: (of: (id: string) => number | undefined) => of(id),
      atMost: 150,
      unit: 'ms',
    })),
  ],
}
