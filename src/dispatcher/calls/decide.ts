import { type ChainOptions, type ChainResult, isRefusal, runChain } from '../../gates/chain.ts'
import { runsElsewhere } from '../../gates/gate.ts'
import type { GatePoint } from '../../gates/index.ts'
import type { GateRecord } from '../../hooks/index.ts'
import { askHuman } from '../humans/ask-human.ts'
import { incapable, incapableAt } from '../run/capabilities.ts'
import type { DecidedPlace } from '../run/decided-place.ts'
import type { OperationCore } from '../run/operation-core.ts'
import { GateRun } from './gate-run.ts'
import { RESULT_VIEW } from './shown-result.ts'

/** Runs the gates of a point. Undefined when there are none, so that nothing is paid for. */
export async function decide(
  core: OperationCore,
  point: GatePoint,
  payload: unknown,
  place: DecidedPlace,
): Promise<ChainResult | undefined> {
  const gates = core.gatesAt(point)
  if (gates.length === 0) return undefined
  // Plugged in while the run goes on: at its start it would have been refused.
  const refusal = incapableAt(core.init.adapter, point)
  if (refusal !== undefined) return refusal
  const { traced, call: _call, gates: _told, parkable: _parkable, ...rest } = place
  const { asked: _asked, settled: _settled, ...where } = rest
  const { traceparent } = traced
  const ctx = {
    point,
    ...core.info,
    ...where,
    ...(traceparent !== undefined && { traceparent }),
    totals: core.tree.totals,
    state: core.tree.state,
  }
  // What a run that was aborted has said is decided on like all: its signal would cut off each gate that takes a moment.
  const signal = point === 'beforeComplete' && core.signal?.aborted ? undefined : core.signal
  const result = await runChain(gates, ctx, payload, {
    composition: core.host.composition,
    totals: () => core.tree.totals,
    ...(point === 'afterToolCall' && { view: RESULT_VIEW }),
    ...(signal && { signal }),
    ask: (approval, asked, gate) => {
      const unable = incapable(core.init.adapter, 'askHuman')
      if (unable !== undefined) return Promise.resolve(unable)
      const namesake = gates.filter(({ id }) => id === gate.id).indexOf(gate)
      return askHuman(core, { point, payload: asked, approval, gate, namesake, ...place })
    },
    around: inActivityOfItsOwn(core, place),
    onDecision: (record, error) => tellDecided(core, record, place, error),
  })
  if (isRefusal(result) && result.stop) core.requestStop(result)
  return result
}

/** A gate that runs in another process is an activity, so that what it traces there joins the run. */
function inActivityOfItsOwn(core: OperationCore, place: DecidedPlace): NonNullable<ChainOptions['around']> {
  const { traced, gates } = place
  return async (gate, point, run) => {
    if (!runsElsewhere(gate)) {
      const verdict = await run()
      gates.push(verdict.record)
      traced.annotate({ kind: 'gate', record: verdict.record })
      return verdict
    }
    return new GateRun(core, place, gate, point).decide(run)
  }
}

function tellDecided(
  core: OperationCore,
  record: GateRecord,
  { toolCallId }: DecidedPlace,
  error: unknown,
): void {
  const { reporter } = core.host
  if (!reporter.observed) return
  const { operationId } = core.info
  reporter.publish({
    status: 'decided',
    operationId,
    ...(toolCallId !== undefined && { toolCallId }),
    ...(error !== undefined && { error }),
    ...record,
  })
}
