/** How a call ended; `waiting` for a human while it is parked, `unknown` where the source does not tell. */
export type TrajectoryOutcome =
  | 'completed'
  | 'mocked'
  | 'skipped'
  | 'errored'
  | 'denied'
  | 'rejected'
  | 'waiting'
  | 'unknown'

/** One tool call, wherever it was read from. */
export interface TrajectoryCall {
  readonly name: string
  readonly args: unknown
  readonly outcome: TrajectoryOutcome
  readonly result?: unknown
  /** Name of the agent that made the call. */
  readonly agent?: string
  /** Agent names from the root to the calling one, where the source tells. */
  readonly agentPath?: readonly string[]
  readonly identifier?: string
  readonly toolCallId?: string
  /** Why it was denied or rejected. */
  readonly code?: string
  readonly reason?: string
  /** What stood in for the tool; absent for a real call. */
  readonly mockSource?: string
}

export type ArgsMode = 'exact' | 'partial' | 'ignore'

/** Whether these arguments are those that were meant. */
export type ArgsPredicate = (actual: never, expected: unknown) => boolean

/** A call as a trajectory expects it. A text is just the tool's name. */
export type ExpectedCall =
  | string
  | {
      readonly name: string
      /** May hold matchers. Any arguments when absent. */
      readonly args?: unknown
      /** Overrides the trajectory's. */
      readonly argsMode?: ArgsMode | ArgsPredicate
      /** May hold matchers; compared partially. */
      readonly result?: unknown
      /** `completed` holds for a mocked call, too: a conversation does not tell the two apart. */
      readonly outcome?: TrajectoryOutcome
      readonly agent?: string
      /** A name for this call, for the `after` of others. @default the tool's name, where only one call has it */
      readonly id?: string
      /** Comes later than these: ids of other expected calls. */
      readonly after?: string | readonly string[]
    }

/**
 * `strict`: these calls in this order. `subsequence`: these in this order, others between them.
 * `unordered`: these, in any order. `superset`: at least these. `subset`: none but these.
 */
export type TrajectoryMode = 'strict' | 'subsequence' | 'unordered' | 'superset' | 'subset'

export interface TrajectoryOptions {
  /** @default 'strict' */
  mode?: TrajectoryMode
  /** How arguments are compared where a call expects any. Matchers work in both. @default 'exact' */
  args?: ArgsMode
  /** The same for single tools, named as everywhere; of several globs the first counts, and a name before any. */
  argsByTool?: Readonly<Record<string, ArgsMode | ArgsPredicate>>
  /** Tools that must not be called, by sub-agents of a run neither: globs. */
  forbidden?: readonly string[]
  /** The most calls, of all tools or of each, those of a run's sub-agents included. */
  maxCalls?: number | Readonly<Record<string, number>>
  /** The score from which on it matches, for graded evaluations. From 0 to 1. @default 1 */
  minScore?: number
}

/** One line of the alignment. */
export type AlignedCall =
  | { readonly kind: 'match'; readonly expected: number; readonly actual: number }
  | {
      readonly kind: 'differs'
      readonly expected: number
      readonly actual: number
      /** From 0 to 1. */
      readonly similarity: number
      readonly differences: readonly string[]
    }
  | { readonly kind: 'moved'; readonly expected: number; readonly actual: number }
  | { readonly kind: 'missing'; readonly expected: number }
  | { readonly kind: 'extra'; readonly actual: number; readonly allowed: boolean }

export interface TrajectoryResult {
  readonly pass: boolean
  /** From 0 to 1: how much of the expected trajectory was followed. */
  readonly score: number
  readonly alignment: readonly AlignedCall[]
  /** What else is wrong: forbidden calls, too many calls, a wrong order. */
  readonly problems: readonly string[]
  /** For a person. */
  readonly report: string
}
