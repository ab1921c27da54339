import fc from 'fast-check'

/** What a call of the model's is, and what becomes of it without us. */
export const KINDS = ['plain', 'slow', 'throws', 'fails', 'shell', 'broken', 'unknown', 'nothing'] as const
export type Kind = (typeof KINDS)[number]

export interface Turn {
  readonly says: boolean
  readonly calls: readonly Kind[]
}

export interface SessionPlan {
  /** What the user says, and what the model then does. */
  readonly prompts: readonly (readonly Turn[])[]
  /** How he says it: and waits, or listens for the end. */
  readonly way: 'waits' | 'listens'
  /** Says something more before the first prompt is answered; how Copilot is to take it. */
  readonly more: 'none' | 'enqueue' | 'immediate'
  readonly permits: 'allows' | 'denies' | 'throws'
  readonly hooks: 'none' | 'watch' | 'deny' | 'edit' | 'throw' | 'tell'
  readonly fault: { readonly how: 'error' | 'cut' | 'down'; readonly at: number } | undefined
  /** Somebody ends it early: when its model is asked for the nth time, or when its nth tool runs. */
  readonly ending:
    | {
        readonly how: 'abort' | 'disconnect' | 'force'
        readonly when: 'asked' | 'tool'
        readonly at: number
      }
    | undefined
  /** Goes on in a session that is resumed. */
  readonly resumed: boolean
}

export interface Plan {
  readonly sessions: readonly SessionPlan[]
}

const turn: fc.Arbitrary<Turn> = fc.record({
  says: fc.boolean(),
  calls: fc.array(fc.constantFrom<Kind>(...KINDS, 'plain', 'plain', 'slow'), { minLength: 1, maxLength: 3 }),
})

const seldom = <T>(some: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.oneof({ weight: 3, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: some })

const session: fc.Arbitrary<SessionPlan> = fc.record({
  prompts: fc.array(fc.array(turn, { maxLength: 2 }), { minLength: 1, maxLength: 2 }),
  way: fc.constantFrom('waits', 'listens'),
  more: fc.constantFrom('none', 'none', 'none', 'enqueue', 'immediate'),
  permits: fc.constantFrom('allows', 'allows', 'allows', 'denies', 'throws'),
  hooks: fc.constantFrom('none', 'none', 'none', 'watch', 'deny', 'edit', 'throw', 'tell'),
  fault: seldom(fc.record({ how: fc.constantFrom('error', 'cut', 'down'), at: fc.nat(2) })),
  ending: seldom(
    fc.record({
      how: fc.constantFrom('abort', 'abort', 'disconnect', 'force'),
      when: fc.constantFrom('asked', 'tool'),
      at: fc.nat(2),
    }),
  ),
  resumed: fc.boolean(),
})

/** One thing at a time: what comes of two is a matter of who is first. */
const sane = (one: SessionPlan): SessionPlan => ({
  ...one,
  ...(one.ending && { fault: undefined, resumed: false, more: 'none' }),
  ...(one.fault && { more: 'none' }),
})

export const plan: fc.Arbitrary<Plan> = fc.record({
  sessions: fc
    .array(session.map(sane), { minLength: 1, maxLength: 2 })
    // The client is stopped for all of its sessions.
    .map((all) =>
      all.length > 1
        ? all.map((one) => (one.ending?.how === 'force' ? { ...one, ending: undefined } : one))
        : all,
    ),
})
