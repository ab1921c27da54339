import type { Gate, GatePoint } from '../../gates/index.ts'
import type { GateVerdict } from '../../gates/verdict.ts'
import type { GateRecord } from '../../hooks/index.ts'
import { errorMessage } from '../../internal/errors.ts'
import { defined } from '../../internal/objects.ts'
import type { GateEnd } from '../plugins/instrument.ts'
import { Bracket } from '../run/bracket.ts'
import type { DecidedPlace } from '../run/decided-place.ts'
import type { OperationCore } from '../run/operation-core.ts'

type RemoteGate = Gate & { readonly runtime: 'command' | 'http' }

/** One decision of a gate in another process. It ends before what it decides on, as a failed gate at the latest. */
export class GateRun extends Bracket<GateEnd, DecidedPlace> {
  readonly #gate: RemoteGate
  readonly #point: GatePoint

  constructor(core: OperationCore, place: DecidedPlace, gate: RemoteGate, point: GatePoint) {
    super(core, place, { kind: 'gate', gateId: gate.id, point })
    this.#gate = gate
    this.#point = point
    if (place.call !== undefined) place.call.deciding = this
  }

  protected get during(): string {
    return `while gate "${this.#gate.id}" was deciding`
  }

  async decide(run: (scope: { traceparent?: string }) => Promise<GateVerdict>): Promise<GateVerdict> {
    const { traceparent } = this.traced
    const verdict = await this.traced.run(() => run(traceparent === undefined ? {} : { traceparent }))
    if (this.claim()) this.close(this.#recorded(verdict.record))
    return verdict
  }

  protected failed(error: unknown): GateEnd {
    const { id: gateId, shadow, runtime } = this.#gate
    const reason = errorMessage(error)
    return this.#recorded(
      defined({
        gateId,
        point: this.#point,
        decision: 'deny',
        enforced: shadow !== true,
        code: 'gate_error',
        reason,
        durationMs: this.elapsedMs,
        failure: 'gate_error',
        runtime,
      } as const),
    )
  }

  #recorded(record: GateRecord): GateEnd {
    this.site.gates.push(record)
    return { kind: 'gate', gate: record }
  }
}
