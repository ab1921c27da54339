import { within } from '../../internal/async.ts'
import type { DurableRuns, RunSegment, RunSegments } from '../runs.ts'
import { Journal } from './journal.ts'
import type { SegmentAsk } from './parts.ts'
import type { ActivityContext } from './peer.ts'

interface Attempt {
  readonly segments: RunSegments
  readonly journal: Journal
}

/** Attempts at runs: each from what is kept to the run's end, or to a question for humans, who are waited for in no process. */
export class Attempts {
  readonly #runs: DurableRuns
  readonly #segmentTimeoutMs: number
  readonly #maxSegmentBytes: number
  readonly #here = new Map<string, Attempt>()

  constructor(runs: DurableRuns, segmentTimeoutMs: number, maxSegmentBytes: number) {
    this.#runs = runs
    this.#segmentTimeoutMs = segmentTimeoutMs
    this.#maxSegmentBytes = maxSegmentBytes
  }

  async run(context: ActivityContext, { input, position, ...ask }: SegmentAsk): Promise<RunSegment> {
    const { workflowId } = context.info.workflowExecution
    const attempt = this.#running(workflowId, position, ask.cancelled) ?? (await this.#begin(context, input))
    const { segments, journal } = attempt
    // Whoever waits for the next part of a run that is ended here is not to leave it.
    const mine = { ...attempt }
    this.#here.set(workflowId, mine)
    const leave = () => {
      if (this.#here.get(workflowId) !== mine) return
      this.#here.delete(workflowId)
      this.#runs.over(workflowId, segments)
    }
    context.cancellationSignal.addEventListener('abort', leave, { once: true })
    try {
      for (;;) {
        const part = await this.#inTime(
          Promise.race([segments.run({ ...ask, kept: [...journal.kept] }), context.cancelled]),
        )
        if (part.outcome === undefined) await journal.keep(part.kept)
        if (part.outcome !== undefined || part.asked !== undefined) return { ...part, kept: [] }
      }
    } finally {
      context.cancellationSignal.removeEventListener('abort', leave)
      leave()
    }
  }

  /** One that was cancelled, and is here as its workflow has it: it is ended as it stands. */
  #running(workflowId: string, position: number, cancelled: true | undefined): Attempt | undefined {
    const here = this.#here.get(workflowId)
    return cancelled && here?.journal.position === position ? here : undefined
  }

  async #begin(context: ActivityContext, input: unknown): Promise<Attempt> {
    const journal = await Journal.read(context, this.#maxSegmentBytes)
    return { segments: this.#runs.begin(context.info.workflowExecution.workflowId, input), journal }
  }

  async #inTime(work: Promise<RunSegment>): Promise<RunSegment> {
    const part = await within(this.#segmentTimeoutMs, work)
    if (part !== undefined) return part
    throw new Error(
      `A model call or tool took longer than ${this.#segmentTimeoutMs} ms (\`segmentTimeoutMs\`).`,
    )
  }
}
