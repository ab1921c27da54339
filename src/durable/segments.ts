import type { Approver } from '../gates/index.ts'
import type { AskedRequest, Look, Segment, SegmentInput, SegmentRunner } from './drive.ts'

/** A run that goes on in this process, from one thing that is kept to the next. */
export interface Live<R, O> {
  /** How many records there are, those that it went on from included. */
  readonly position: number
  /** What comes next of it; what was given before has been kept. @throws what keeps the run from being begun or gone on with. */
  next(): Promise<Segment<R, O>>
  /** To its end: the engine keeps nothing of it any more. */
  rest(): Promise<Segment<R, O>>
  /** Ends the run: what is at work is aborted. */
  stop(by: 'cancel' | 'maxDurationMs'): void
  /** Another attempt of the engine goes on with it: nothing more of it is done or told here. */
  leave(): void
}

/** The parts of one run, for as long as this process has it. */
export class Segments<R, O> implements SegmentRunner<R, O> {
  readonly #begin: (input: SegmentInput<R>) => Live<R, O>
  readonly #approver: Approver | undefined
  #live: Live<R, O> | undefined
  /** The part that was begun last, and how many records there were before it. */
  #last: { readonly from: number; readonly segment: Promise<Segment<R, O>> } | undefined
  #left = false

  constructor(approver: Approver | undefined, begin: (input: SegmentInput<R>) => Live<R, O>) {
    this.#approver = approver
    this.#begin = begin
  }

  run(input: SegmentInput<R>): Promise<Segment<R, O>> {
    if (input.cancelled) return this.#end(input)
    const segment = this.#part(input, (live) => live.next())
    segment.catch(() => {})
    this.#last = { from: input.kept.length, segment }
    return segment
  }

  /** A part that was at work when the run was cancelled is not kept, and may have left the run to the next one. */
  async #end(input: SegmentInput<R>): Promise<Segment<R, O>> {
    this.#live?.stop('cancel')
    const last = this.#last?.from === input.kept.length ? await this.#last.segment.catch(() => {}) : undefined
    if (last?.outcome !== undefined) return last
    const before = last?.kept ?? []
    const rest = await this.#part({ ...input, kept: [...input.kept, ...before] }, (live) => {
      live.stop('cancel')
      return live.rest()
    })
    return { ...rest, kept: [...before, ...rest.kept] }
  }

  async #part(
    input: SegmentInput<R>,
    work: (live: Live<R, O>) => Promise<Segment<R, O>>,
  ): Promise<Segment<R, O>> {
    this.#assertHere()
    const live = this.#liveAt(input)
    try {
      const segment = await work(live)
      // What was left has been aborted, which is no end of the run.
      this.#assertHere()
      // What comes of an answer is found by going on from what is kept.
      if (segment.asked !== undefined || segment.outcome !== undefined) this.#live = undefined
      return segment
    } catch (error) {
      live.leave()
      if (this.#live === live) this.#live = undefined
      throw error
    }
  }

  #assertHere(): void {
    if (this.#left) throw new Error('Another attempt goes on with the run.')
  }

  #liveAt(input: SegmentInput<R>): Live<R, O> {
    const live = this.#live
    if (live !== undefined && (input.cancelled || live.position === input.kept.length)) return live
    live?.leave()
    this.#live = this.#begin(input)
    return this.#live
  }

  look(asked: readonly AskedRequest[]): Promise<Look> {
    return lookAt(this.#approver, asked)
  }

  /** This process does not have the run any more: it goes on from what is kept. */
  leave(): void {
    this.#left = true
    this.#live?.leave()
    this.#live = undefined
  }
}

export async function lookAt(approver: Approver | undefined, asked: readonly AskedRequest[]): Promise<Look> {
  return { closed: await anyClosed(approver, asked), at: Date.now() }
}

/** An approver that cannot say is asked again by going on with the run. */
async function anyClosed(approver: Approver | undefined, asked: readonly AskedRequest[]): Promise<boolean> {
  if (approver?.closed === undefined) return true
  for (const { id } of asked) if (await approver.closed(id)) return true
  return false
}
