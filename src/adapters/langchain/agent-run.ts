import type { ParkedOperation } from '../../dispatcher/index.ts'
import { currentPlace } from '../../dispatcher/run/current.ts'
import { ObservedRun, type RunHost, whenAborted } from '../sdk-run/observed-run.ts'
import type { LcRuntime } from './lang-chain.ts'

/** What an interrupt of ours says, and what the graph may be resumed with as it is. */
export interface AskedHuman {
  readonly hookspan: 'approval'
  readonly requestId?: string
  readonly apiName: string
  readonly args: unknown
  /** What continues the run. */
  readonly parked: ParkedOperation
}

/** Calls begin together: what has not begun by then runs after these, one at a time. */
const TOGETHER_MS = 200

/** Runs of agents that the code of a tool call has begun, by where that code is. */
const begunIn = new WeakMap<object, Set<AgentRun>>()

/**
 * Runs a tool, and ends what agents it has begun when an interrupt goes through it: LangGraph tells them nothing of one
 * that is not their own tool's.
 */
export async function withinTool(
  isInterrupt: (error: unknown) => boolean,
  body: () => unknown,
): Promise<unknown> {
  const site = currentPlace()?.site
  const begun = new Set<AgentRun>()
  if (site !== undefined) begunIn.set(site, begun)
  try {
    return await body()
  } catch (error) {
    for (const { run } of isInterrupt(error) ? begun : []) {
      run.waitingFor = 'human'
      await run.end()
    }
    throw error
  }
}

/** One run of an agent, from its first node to its end or its interrupt. */
export class AgentRun {
  readonly run: ObservedRun
  #steps = 0
  #atWork = 0
  #left: number | undefined
  #idle: NodeJS.Timeout | undefined
  readonly #parking = Promise.withResolvers<void>()
  /** Ids of the messages of the last request, by which a summary of them is noticed. */
  seen: readonly (string | undefined)[] = []

  constructor(host: RunHost, said: ConstructorParameters<typeof ObservedRun>[1]) {
    this.run = new ObservedRun(host, said)
    const site = currentPlace()?.site
    if (this.run.isCalled && site !== undefined) begunIn.get(site)?.add(this)
    whenAborted(this.run, () => void this.run.fail(this.run.signal?.reason))
  }

  async beginStep(): Promise<void> {
    this.#left = undefined
    await this.run.beginStep(this.#steps++)
  }

  /** @param calls how many calls the step is known to have. */
  begunTool(calls: number): void {
    clearTimeout(this.#idle)
    this.#left ??= calls
    this.#left--
    this.#atWork++
  }

  /** It has ended, or waits. Where one waits, the run is parked once none is at work. */
  endedTool(): void {
    this.#atWork--
    if (this.run.waitingFor === undefined || this.#atWork > 0) return
    const park = () => {
      this.run.end().then(() => this.#parking.resolve(), this.#parking.reject)
    }
    if ((this.#left ?? 0) <= 0) park()
    else this.#idle = setTimeout(park, TOGETHER_MS)
  }

  /** What continues the run, once the calls beside the one that waits have ended. */
  async parked(): Promise<ParkedOperation | undefined> {
    await this.#parking.promise
    return this.run.parked
  }
}

/** The signal of whoever called the agent: those of its nodes live no longer than they. */
export function signalOf({ signal, configurable }: LcRuntime): AbortSignal | undefined {
  const signals = configurable?.__pregel_abort_signals as { externalAbortSignal?: unknown } | undefined
  const external = signals?.externalAbortSignal ?? signal
  return external instanceof AbortSignal ? external : undefined
}

interface Scratchpad {
  readonly resume?: readonly unknown[]
  readonly nullResume?: unknown
}

function answers({ configurable }: LcRuntime): readonly unknown[] {
  const { resume = [], nullResume } = (configurable?.__pregel_scratchpad ?? {}) as Scratchpad
  return nullResume === undefined ? resume : [...resume, nullResume]
}

/** How many questions of this node have been answered. */
export function answersIn(runtime: LcRuntime): number {
  return answers(runtime).length
}

/** The question of ours that the graph was resumed with as it is; the last one, where it was asked again. */
export function resumedWith(runtime: LcRuntime): AskedHuman | undefined {
  const given = answers(runtime) as readonly (Partial<AskedHuman> | null | undefined)[]
  return given.findLast((answer) => answer?.hookspan === 'approval') as AskedHuman | undefined
}
