import type { ParkedOperation } from '../../dispatcher/index.ts'
import { ObservedRun, type RunHost, type SaidOfRun } from '../sdk-run/observed-run.ts'
import { runWith, takeRunInit } from '../sdk-run/run-with.ts'
import type { StrandsResult } from './sdk.ts'

/** What an interrupt of ours says, and what the agent may be invoked again with as it is. */
export interface AskedHuman {
  readonly hookspan: 'approval'
  readonly requestId?: string
  readonly apiName: string
  readonly args: unknown
  /** What continues the run: there once the agent has stopped. */
  parked?: ParkedOperation
}

/** One invocation of an agent, from its input to its result. */
export class AgentRun {
  readonly #host: RunHost
  readonly #said: SaidOfRun
  readonly #controller = new AbortController()
  #run: ObservedRun
  #steps = 0
  #isAnswered = true
  /** What continues the run, once it waits. */
  parked: ParkedOperation | undefined

  /** @param resume the run that goes on, unless `runWith` says which one. */
  constructor(host: RunHost, said: SaidOfRun, resume?: ParkedOperation) {
    const own = this.#controller.signal
    const signal = said.signal === undefined ? own : AbortSignal.any([own, said.signal])
    this.#host = host
    this.#said = { ...said, signal }
    this.#run = this.#start(resume)
  }

  #start(resume: ParkedOperation | undefined): ObservedRun {
    const start = () => new ObservedRun(this.#host, this.#said)
    return resume === undefined ? start() : runWith({ resume, ...takeRunInit() }, start)
  }

  get run(): ObservedRun {
    return this.#run
  }

  /** What the agent says that a gate or a human ended. */
  readonly stopped = 'The run was ended.'

  /** The next model call begins a turn, unless the last one failed and is made again. */
  async beginTurn(): Promise<void> {
    if (this.#isAnswered) await this.#run.beginStep(this.#steps++)
    this.#isAnswered = false
  }

  answered(): void {
    this.#isAnswered = true
  }

  /** The agent was told to stop by `cancel()`. */
  cancel(): void {
    this.#controller.abort(new DOMException('The agent was cancelled.', 'AbortError'))
  }

  /** The agent has stopped for an answer: the interrupts that ask for it say what continues the run. */
  async park({ interrupts = [] }: StrandsResult): Promise<void> {
    if (this.parked !== undefined) return
    this.#run.waitingFor = 'human'
    await this.#run.end()
    this.parked = await this.#run.parked
    if (this.parked === undefined) return
    for (const { reason } of interrupts) if (isAsked(reason)) reason.parked = this.parked
  }

  /** It goes on at once: one of the SDK's own hooks had the answer. */
  unpark(): void {
    if (this.parked === undefined) return
    this.#run = this.#start(this.parked)
    this.parked = undefined
  }
}

export function isAsked(value: unknown): value is AskedHuman {
  return (value as Partial<AskedHuman> | null | undefined)?.hookspan === 'approval'
}
