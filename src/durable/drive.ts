import type { DurableEngine } from './engine.ts'

/** A part of a run: from one thing that is kept to the next. Plain JSON, as all of this. */
export interface SegmentInput<R> {
  /** What all parts before it have given, in their order. */
  readonly kept: readonly R[]
  /** Epoch milliseconds at which the run is to end. */
  readonly endsAt?: number
  /** The run is to end now. */
  readonly cancelled?: true
}

export interface Segment<R, O> {
  readonly kept: readonly R[]
  /** Epoch milliseconds on the clock of who ran it. */
  readonly at: number
  /** How the run has ended. */
  readonly outcome?: O
  /** What humans are asked before the run can go on. */
  readonly asked?: readonly AskedRequest[]
}

export interface AskedRequest {
  readonly id: string
  readonly expiresAt?: number
}

/** Who runs the parts, in a process that may die in each of them. */
export interface SegmentRunner<R, O> {
  run(input: SegmentInput<R>): Promise<Segment<R, O>>
  /** Whether going on would find that one of the requests is answered, or over. */
  look(asked: readonly AskedRequest[]): Promise<Look>
}

export interface Look {
  readonly closed: boolean
  readonly at: number
}

const SEGMENT = 'segment '

/** What the journal of a run has of one call. */
export interface JournalEntry {
  readonly name: string
  readonly output: unknown
  readonly error: unknown
}

/** What the parts of a run have given, out of all that its journal has, in its order. */
export function keptIn<R>(journal: readonly JournalEntry[]): R[] {
  const parts = journal.filter(({ name, error }) => name.startsWith(SEGMENT) && error === null)
  return parts.flatMap(({ output }) => (output as Segment<R, unknown>).kept)
}

const FIRST_LOOK_MS = 2_000
export const LONGEST_LOOK_MS = 600_000

/**
 * A run as an engine replays it: this function does nothing by itself, so that it comes by the same calls each time.
 *
 * @param maxDurationMs from its first part on
 */
export async function drive<R, O>(
  engine: DurableEngine,
  runner: SegmentRunner<R, O>,
  maxDurationMs: number | undefined,
): Promise<O> {
  const kept: R[] = []
  let endsAt: number | undefined
  let cancelled = false
  for (let number = 0; ; number++) {
    try {
      const input = {
        kept: [...kept],
        ...(endsAt !== undefined && { endsAt }),
        ...(cancelled && { cancelled }),
      }
      const name = cancelled ? 'cancelled' : `${SEGMENT}${number}`
      const segment = await engine.journal(name, () => runner.run(input as SegmentInput<R>))
      kept.push(...segment.kept)
      if (segment.outcome !== undefined) return segment.outcome
      if (maxDurationMs !== undefined) endsAt ??= segment.at + maxDurationMs
      if (segment.asked !== undefined && !cancelled)
        await answered(engine, runner, segment.asked, segment.at, endsAt)
    } catch (error) {
      if (cancelled || !engine.isCancelled(error)) throw error
      cancelled = true
    }
  }
}

/**
 * Whoever answers says so to the engine, where he can; the store of the approvals is what counts. So it is looked into at times,
 * after a wait that is longer each time: an answer that nobody told the engine of is found late, and not never.
 */
async function answered(
  engine: DurableEngine,
  runner: Pick<SegmentRunner<never, never>, 'look'>,
  asked: readonly AskedRequest[],
  askedAt: number,
  endsAt = Number.POSITIVE_INFINITY,
): Promise<void> {
  const ids = asked.map(({ id }) => id)
  const until = Math.min(endsAt, ...asked.map(({ expiresAt }) => expiresAt ?? Number.POSITIVE_INFINITY))
  let at = askedAt
  for (let waitMs = FIRST_LOOK_MS; ; waitMs = Math.min(2 * waitMs, LONGEST_LOOK_MS)) {
    // At least a little: clocks differ, and a time that is over here may not be over there.
    await engine.wait(ids, Math.max(100, Math.min(waitMs, until - at)))
    const look = await engine.journal('look for answers', () => runner.look(asked))
    if (look.closed || look.at >= until) return
    at = look.at
  }
}
