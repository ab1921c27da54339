import type {
  AgentCall,
  CalledAgent,
  CompactCall,
  CompactResult,
  HeldCallDecision,
  HumanAnswer,
  HumanIntervention,
} from '../../dispatcher/index.ts'
import type { GatePoint } from '../../gates/index.ts'
import { type Failures, Once } from './failures.ts'

type Held<R> = AgentCall<R> | CompactCall<R & CompactResult>

/** A call of an agent or a compaction, which is made as it would be without us where we fail and nobody was to decide. */
abstract class SafeHeldCall<R, Effective extends object> {
  readonly #failures: Failures
  readonly #call: Held<R> | undefined
  readonly #what: string
  readonly #point: GatePoint

  constructor(failures: Failures, call: Held<R> | undefined, what: string, point: GatePoint) {
    this.#failures = failures
    this.#call = call
    this.#what = what
    this.#point = point
  }

  protected abstract unseen(): Effective

  get decided(): Promise<HeldCallDecision<Effective>> {
    return this.#decide()
  }

  async #decide(): Promise<HeldCallDecision<Effective>> {
    try {
      if (this.#call !== undefined) return (await this.#call.decided) as HeldCallDecision<Effective>
    } catch (error) {
      this.#failures.note(error)
    }
    this.#failures.refuse(this.#what, 'onStart', this.#point)
    return { state: 'run', ...this.unseen() }
  }

  async run(body: (effective: Effective) => R | PromiseLike<R>): Promise<R> {
    const ran = new Once(body)
    try {
      if (this.#call !== undefined) return await (this.#call as AgentCall<R>).run(ran.run as never)
    } catch (error) {
      if (this.#failures.isMeant(error) || (await ran.rejectedWith(error))) throw error
      this.#failures.note(error)
    }
    if (!ran.began) this.#failures.refuse(this.#what, 'onStart', this.#point)
    return ran.run(this.unseen())
  }

  settle(result: R): R {
    this.#failures.quietly(() => (this.#call as AgentCall<R> | undefined)?.settle(result))
    return result
  }

  fail(error: unknown): void {
    this.#failures.quietly(() => this.#call?.fail(error))
  }
}

export class SafeAgentCall<R = unknown> extends SafeHeldCall<R, CalledAgent> {
  readonly #unseen: () => CalledAgent

  constructor(failures: Failures, unseen: () => CalledAgent, call: AgentCall<R> | undefined) {
    super(failures, call, 'Agent call', 'beforeCallAgent')
    this.#unseen = unseen
  }

  protected unseen(): CalledAgent {
    return this.#unseen()
  }
}

export class SafeCompaction<R extends CompactResult = CompactResult> extends SafeHeldCall<R, object> {
  constructor(failures: Failures, call: CompactCall<R> | undefined) {
    super(failures, call as never, 'Compaction', 'beforeCompact')
  }

  protected unseen(): object {
    return {}
  }
}

/** The runtime itself asks: what we fail to tell of it is not told. */
export class SafeHuman {
  readonly #failures: Failures
  readonly #human: HumanIntervention | undefined

  constructor(failures: Failures, human: HumanIntervention | undefined) {
    this.#failures = failures
    this.#human = human
  }

  answered(answer: HumanAnswer): boolean {
    return this.#failures.quietly(() => this.#human?.answered(answer)) ?? false
  }

  park(): void {
    this.#failures.quietly(() => this.#human?.park())
  }

  fail(error: unknown): void {
    this.#failures.quietly(() => this.#human?.fail(error))
  }
}
