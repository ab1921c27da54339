import {
  type ChainOptions,
  type ChainResult,
  type GateRecord,
  orderGates,
  runChain,
} from '../../gates/chain.ts'
import { decidesAt } from '../../gates/gate.ts'
import type { Gate, GatePoint } from '../../gates/index.ts'
import { askHuman } from '../humans/ask-human.ts'
import type { TracedActivity } from '../plugins/traced-activity.ts'
import type { OperationCore } from './operation-core.ts'
import type { WaitingCall } from './operation-init.ts'

export interface DecideOptions {
  readonly traced: TracedActivity
  readonly stepIndex: number | undefined
  readonly identifier?: string
  readonly apiName?: string
  readonly toolCallId?: string
  readonly callKey?: string
  readonly args?: unknown
  readonly model?: string
  readonly provider?: string
  /** Where the call may be taken up again by another process, so that an approver may park the run. */
  readonly parkable?: boolean
  /** The call as it waited, when this is its second half. */
  readonly waited?: WaitingCall
  /** Ids of the requests about the call that were answered; grows with each. */
  readonly settled?: string[]
}

const NO_GATES: readonly Gate[] = []

/** The gates of one operation, and how they are asked. */
export class OperationGates {
  readonly #core: OperationCore
  readonly #inherited: () => readonly Gate[]

  constructor(core: OperationCore, inherited: () => readonly Gate[]) {
    this.#core = core
    this.#inherited = inherited
  }

  /** The gates that decide at a point: the parent's, then this operation's, then the plugins', by priority. */
  at(point: GatePoint): readonly Gate[] {
    const gates = this.all()
    return gates.some((gate) => decidesAt(gate, point)) ? orderGates(gates, point) : NO_GATES
  }

  /** Whether any gate decides at a point. */
  decideAt(point: GatePoint): boolean {
    const gates = this.all()
    return gates.length > 0 && gates.some((gate) => decidesAt(gate, point))
  }

  all(): readonly Gate[] {
    const inherited = this.#inherited()
    const own = this.#core.init.gates ?? NO_GATES
    const plugged = this.#core.host.plugins.gates
    if (inherited.length === 0 && own.length === 0) return plugged
    return [...new Set([...inherited, ...own, ...plugged])]
  }

  /** Runs the gates of a point. Undefined when there are none, so that nothing is paid for. */
  async decide(point: GatePoint, payload: unknown, options: DecideOptions): Promise<ChainResult | undefined> {
    const gates = this.at(point)
    if (gates.length === 0) return undefined
    const { traced, parkable: _parkable, waited: _waited, settled: _settled, ...where } = options
    const { traceparent } = traced
    const ctx = {
      point,
      ...this.#core.info,
      ...where,
      ...(traceparent !== undefined && { traceparent }),
      totals: this.#core.tree.totals,
      state: this.#core.tree.state,
    }
    const result = await runChain(gates, ctx, payload, {
      composition: this.#core.host.composition,
      ...(this.#core.signal && { signal: this.#core.signal }),
      ask: (approval, asked, gate) => {
        const namesakes = gates.filter(({ id }) => id === gate.id)
        const question = { point, payload: asked, approval, gate, namesake: namesakes.indexOf(gate) }
        return askHuman(this.#core, { ...question, ...options })
      },
      around: this.#inScopeOfItsOwn(options),
      onDecision: (record) => this.#decided(record, options),
    })
    return result
  }

  /** A gate that runs in another process is an activity, so that what it traces there joins the run. */
  #inScopeOfItsOwn({ traced }: DecideOptions): NonNullable<ChainOptions['around']> {
    return async (gate, point, run) => {
      if (gate.runtime === undefined || gate.runtime === 'function') {
        const verdict = await run()
        traced.annotate({ kind: 'gate', record: verdict.record })
        return verdict
      }
      const scope = traced.open(
        { kind: 'gate', gateId: gate.id, point },
        this.#core.info,
        this.#core.timestamp,
      )
      const { traceparent } = scope
      const verdict = await scope.run(() => run(traceparent === undefined ? {} : { traceparent }))
      scope.end({ kind: 'gate', gate: verdict.record }, this.#core.timestamp)
      return verdict
    }
  }

  #decided(record: GateRecord, { toolCallId }: DecideOptions): void {
    const { reporter } = this.#core.host
    if (!reporter.observed) return
    reporter.publish({
      status: 'decided',
      operationId: this.#core.info.operationId,
      ...(toolCallId !== undefined && { toolCallId }),
      ...record,
    })
  }
}
