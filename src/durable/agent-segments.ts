import { HookDispatcher } from '../dispatcher/index.ts'
import type { Approver } from '../gates/index.ts'
import { type AgentRunOptions, type DurableInput, type DurableRun, LiveRun } from './agent-run.ts'
import type { AskedRequest, Look, Segment, SegmentInput, SegmentRunner } from './drive.ts'

/** The parts of one run of an agent, for as long as this process has it. */
export class AgentSegments implements SegmentRunner<string, DurableRun> {
  readonly #options: AgentRunOptions
  readonly #operationId: string
  readonly #input: DurableInput
  readonly #approver: Approver | undefined
  #live: LiveRun | undefined
  #left = false

  constructor(options: AgentRunOptions, operationId: string, input: DurableInput) {
    const { dispatcher = new HookDispatcher(), approver } = options
    this.#options = { ...options, dispatcher }
    this.#operationId = operationId
    this.#input = input
    this.#approver = (typeof approver === 'function' ? undefined : approver) ?? dispatcher.approver
  }

  async run(input: SegmentInput<string>): Promise<Segment<string, DurableRun>> {
    if (this.#left) throw new Error('Another attempt goes on with the run.')
    const live = this.#liveAt(input)
    if (input.cancelled) live.stop('cancel')
    const segment = await (input.cancelled ? live.rest() : live.next())
    // What comes of the answer is found by going on from what is kept.
    if (segment.kept.length === 0 || input.cancelled) this.#live = undefined
    return segment
  }

  #liveAt(input: SegmentInput<string>): LiveRun {
    const live = this.#live
    if (live !== undefined && (input.cancelled || live.position === input.kept.length)) return live
    live?.leave()
    this.#live = new LiveRun(this.#options, this.#operationId, this.#input, input)
    return this.#live
  }

  async look(asked: readonly AskedRequest[]): Promise<Look> {
    return { closed: await anyClosed(this.#approver, asked), at: Date.now() }
  }

  /** This process does not have the run any more: it goes on from what is kept. */
  leave(): void {
    this.#left = true
    this.#live?.leave()
    this.#live = undefined
  }
}

/** An approver that cannot say is asked again by going on with the run. */
export async function anyClosed(
  approver: Approver | undefined,
  asked: readonly AskedRequest[],
): Promise<boolean> {
  if (approver?.closed === undefined) return true
  for (const { id } of asked) if (await approver.closed(id)) return true
  return false
}
