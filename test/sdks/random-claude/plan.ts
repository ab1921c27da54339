import fc from 'fast-check'

/** What a call of the model's is, and what becomes of it without us. */
export const KINDS = ['plain', 'slow', 'throws', 'fails', 'shell', 'broken', 'unknown', 'invalid'] as const
export type Kind = (typeof KINDS)[number]

/** What one reply of a model asks for. */
export interface Turn {
  readonly says: boolean
  readonly calls: readonly Kind[]
  /** Agents are called beside the calls; each has its own turns. */
  readonly agents: readonly (readonly Turn[])[]
}

export interface QueryPlan {
  /** What the user says, one after the other, and what the model then does. */
  readonly prompts: readonly (readonly Turn[])[]
  /** Whether a single prompt is streamed, too. */
  readonly streamed: boolean
  readonly partial: boolean
  /** The user's own function that permits tools; none: they are permitted beforehand. */
  readonly permits: 'none' | 'allows' | 'denies' | 'edits' | 'throws' | 'ends'
  /** The user's own hooks. */
  readonly hooks: 'none' | 'watch' | 'deny' | 'edit' | 'throw' | 'tell'
  /** How its model fails: in which of its requests, counted from 0. */
  readonly fault: { readonly how: 'error' | 'cut' | 'down'; readonly at: number } | undefined
  /** How somebody ends it early: when its model is asked for the nth time, or when its nth tool runs. */
  readonly ending:
    | {
        readonly how: 'abort' | 'interrupt' | 'return' | 'close' | 'break'
        readonly when: 'asked' | 'tool' | 'message'
        readonly at: number
      }
    | undefined
  /** Whether its agents go on beside it. */
  readonly background: boolean
  /** Compacts between two prompts. */
  readonly compacts: boolean
  /** Goes on in another query, with the same session. */
  readonly resumed: boolean
}

export interface Plan {
  readonly queries: readonly QueryPlan[]
}

const turn = (agents: boolean): fc.Arbitrary<Turn> =>
  fc.record({
    says: fc.boolean(),
    calls: fc.array(fc.constantFrom<Kind>(...KINDS, 'plain', 'plain', 'slow'), {
      minLength: 1,
      maxLength: 3,
    }),
    agents: agents
      ? fc.oneof(
          { weight: 4, arbitrary: fc.constant([]) },
          {
            weight: 1,
            arbitrary: fc.array(fc.array(turn(false), { maxLength: 2 }), { minLength: 1, maxLength: 2 }),
          },
        )
      : fc.constant([]),
  })

const seldom = <T>(some: fc.Arbitrary<T>, weight = 1): fc.Arbitrary<T | undefined> =>
  fc.oneof({ weight: 3, arbitrary: fc.constant(undefined) }, { weight, arbitrary: some })

const query: fc.Arbitrary<QueryPlan> = fc.record({
  prompts: fc.oneof(
    {
      weight: 2,
      arbitrary: fc.array(fc.array(turn(true), { maxLength: 2 }), { minLength: 1, maxLength: 1 }),
    },
    {
      weight: 1,
      arbitrary: fc.array(fc.array(turn(true), { maxLength: 1 }), { minLength: 2, maxLength: 3 }),
    },
  ),
  streamed: fc.boolean(),
  partial: fc.boolean(),
  permits: fc.constantFrom('none', 'none', 'none', 'allows', 'denies', 'edits', 'throws', 'ends'),
  hooks: fc.constantFrom('none', 'none', 'none', 'watch', 'deny', 'edit', 'throw', 'tell'),
  fault: seldom(fc.record({ how: fc.constantFrom('error', 'cut', 'down'), at: fc.nat(2) })),
  ending: seldom(
    fc.record({
      how: fc.constantFrom('abort', 'interrupt', 'return', 'close', 'break'),
      when: fc.constantFrom('asked', 'tool', 'message'),
      at: fc.nat(3),
    }),
    2,
  ),
  background: fc.boolean(),
  compacts: fc.boolean(),
  resumed: fc.boolean(),
})

/** One thing at a time: what comes of two is a matter of who is first. */
const sane = (one: QueryPlan): QueryPlan => {
  const agents = one.prompts.flat().reduce((sum, turn) => sum + turn.agents.length, 0)
  return {
    ...one,
    background: one.background && agents === 1 && one.prompts.length === 1 && !one.compacts,
    ...(one.ending && { fault: undefined, resumed: false }),
  }
}

export const plan: fc.Arbitrary<Plan> = fc.record({
  queries: fc.array(query.map(sane), { minLength: 1, maxLength: 2 }),
})
