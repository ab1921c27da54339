import fc from 'fast-check'

/** What is decided beforehand about each tool of an agent, by its name. */
export const TOOLS = [
  'plain',
  'idempotent',
  'fails',
  'asks',
  'asks_later',
  'refused',
  'denied',
  'skipped',
  'mutated',
] as const
export type ToolKind = (typeof TOOLS)[number]

/** A call of a tool, or of a sub-agent; `turns` of the event loop long. */
export type CallPlan =
  | { readonly kind: ToolKind; readonly turns: number }
  | { readonly kind: 'agent'; readonly agent: AgentPlan }

/** What the model says, step by step; then it says what it was told. */
export interface AgentPlan {
  readonly steps: readonly (readonly CallPlan[])[]
}

/** How one process of the run ends: at its so many-th moment, or never. */
export interface LifePlan {
  readonly end: 'dies' | 'is aborted' | 'cannot save'
  readonly moment: number
  /** Dies so many moments after it. */
  readonly dies?: number | undefined
}

const turns = fc.nat({ max: 3 })
const tool = fc.record({ kind: fc.constantFrom(...TOOLS), turns })

const agentOf = (depth: number): fc.Arbitrary<AgentPlan> => {
  const call: fc.Arbitrary<CallPlan> =
    depth === 0
      ? tool
      : fc.oneof(
          { weight: 4, arbitrary: tool },
          {
            weight: 1,
            arbitrary: fc.record({ kind: fc.constant('agent' as const), agent: agentOf(depth - 1) }),
          },
        )
  return fc.record({
    steps: fc.array(fc.array(call, { minLength: 1, maxLength: 4 - (depth === 2 ? 0 : 1) }), {
      minLength: depth === 2 ? 1 : 0,
      maxLength: depth + 1,
    }),
  })
}

export const agentPlan = agentOf(2)

export const livesPlan: fc.Arbitrary<LifePlan[]> = fc.array(
  fc.record({
    end: fc.constantFrom('dies', 'dies', 'dies', 'is aborted', 'cannot save'),
    moment: fc.nat({ max: 60 }),
    dies: fc.option(fc.nat({ max: 15 }), { freq: 3, nil: undefined }),
  }),
  { maxLength: 6, size: 'max' },
)
