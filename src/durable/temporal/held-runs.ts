import { HookspanError } from '../../internal/errors.ts'
import type { Segment, SegmentInput } from '../drive.ts'
import type { RunSegments, SegmentsOf } from '../runs.ts'
import type { SegmentAsk, SegmentGiven } from './parts.ts'
import { type ActivityContext, isCurrent, readHistory } from './peer.ts'

interface HeldRun {
  readonly segments: { run(input: SegmentInput<unknown>): Promise<Segment<unknown, unknown>>; leave(): void }
  readonly kept: unknown[]
  /** The segment that it gave last. */
  token: string | undefined
  /** It is being ended, whoever waits for its next part. */
  cancelled?: true
  idle?: NodeJS.Timeout
}

/** Longer than Temporal takes from a segment to the next, and shorter than a dispatcher takes a run that stands still for abandoned. */
const IDLE_MS = 30_000

/**
 * The runs that this worker has, each as it stood behind its last segment. The next one goes on with it where Temporal gives that to
 * this worker, too, and kept what came before; else with what is in the history.
 */
export class HeldRuns {
  readonly #begin: SegmentsOf
  readonly #activity: string
  readonly #held = new Map<string, HeldRun>()

  readonly #maxBytes: number

  constructor(begin: SegmentsOf, activity: string, maxSegmentBytes: number) {
    this.#begin = begin
    this.#activity = activity
    this.#maxBytes = maxSegmentBytes
  }

  async next(context: ActivityContext, ask: SegmentAsk): Promise<SegmentGiven> {
    const { runId } = context.info.workflowExecution
    const run = await this.#runFor(context, ask)
    clearTimeout(run.idle)
    if (ask.cancelled) run.cancelled = true
    const lose = () => {
      if (ask.cancelled || !run.cancelled) this.#drop(runId, run)
    }
    context.cancellationSignal.addEventListener('abort', lose, { once: true })
    try {
      const { position: _position, after: _after, again: _again, ...input } = ask
      const segment = await Promise.race([
        run.segments.run({ ...input, kept: [...run.kept] }),
        context.cancelled,
      ])
      this.#assertFits(context.info.workflowExecution.workflowId, segment)
      run.kept.push(...segment.kept)
      run.token = crypto.randomUUID()
      if (segment.outcome !== undefined || segment.asked !== undefined) this.#drop(runId, run)
      else run.idle = setTimeout(() => this.#drop(runId, run), IDLE_MS).unref()
      return { ...segment, token: run.token }
    } catch (error) {
      lose()
      throw error
    } finally {
      context.cancellationSignal.removeEventListener('abort', lose)
    }
  }

  /** Temporal would say no more than that the activity's heartbeat timed out. */
  #assertFits(workflowId: string, segment: Segment<unknown, unknown>): void {
    const bytes = Buffer.byteLength(JSON.stringify(segment))
    if (bytes <= this.#maxBytes) return
    throw new HookspanError(
      'CHECKPOINT_FAILED',
      `Run "${workflowId}" has ${bytes} bytes to keep at once, and Temporal takes ${this.#maxBytes} (\`maxSegmentBytes\`). ` +
        'Let its tools and model calls give less, as a reference to what is kept elsewhere; the run goes on then.',
    )
  }

  /** One that was tried before may have been given what was not kept, here or elsewhere. */
  async #runFor(context: ActivityContext, { position, after, again }: SegmentAsk): Promise<HeldRun> {
    const { workflowExecution, attempt } = context.info
    const { runId, workflowId } = workflowExecution
    const held = this.#held.get(runId)
    const isFirst = attempt === 1 && !again
    if (held !== undefined && isFirst && held.token === after) return held
    if (!(await isCurrent(context))) throw new Error('Another worker goes on with the run.')
    if (held !== undefined) this.#drop(runId, held)
    const { input, given } = await readHistory(context.client, workflowExecution, this.#activity)
    const kept = given.flatMap((segment) => (segment as SegmentGiven).kept).slice(0, position)
    if (kept.length < position) throw new Error(`The history has ${kept.length} of ${position} records.`)
    const segments = this.#begin(workflowId, input) as RunSegments as HeldRun['segments']
    const run: HeldRun = { segments, kept, token: after }
    this.#held.set(runId, run)
    return run
  }

  #drop(runId: string, run: HeldRun): void {
    clearTimeout(run.idle)
    run.segments.leave()
    if (this.#held.get(runId) === run) this.#held.delete(runId)
  }
}
