import { defined } from '../../internal/objects.ts'
import { withdrawParked } from '../humans/claim-execution.ts'
import type { OperationCore } from './operation-core.ts'
import type { ParkedOperation } from './parked.ts'

/** A question that is answered in another process, where the run is resumed. */
export function addParked(core: OperationCore, id: string): void {
  const withdraw = () => withdrawParked(core, id)
  if (core.questions.closed) withdraw()
  else core.questions.add({ id, parked: true, withdraw })
}

/** What continues the operation elsewhere. */
export function parkedOf(core: OperationCore, waitingFor: string): ParkedOperation {
  const { steps, llmCalls, toolCalls, usage, costUsd } = core.totals()
  const { traceparent, parentTraceparent } = core.traced
  const openStep = core.unfinishedStep
  const { input, inside } = core
  const runs = waitingFor === 'checkpoint' && inside !== undefined ? inside.saved() : []
  return {
    version: 1,
    ...core.info,
    ...defined({ traceparent, parentTraceparent, openStep, stop: core.stop }),
    startedAt: core.startedAtMs,
    sequence: core.record.sequence,
    stepIndex: core.nextStepIndex,
    waitingFor,
    parkedAt: core.record.clock(),
    totals: defined({
      steps,
      llmCalls,
      toolCalls,
      inputTokens: usage.inputTokens,
      outputTokens: usage.outputTokens,
      costUsd,
    }),
    runKey: core.runKey,
    ...(core.gates.length > 0 && { gates: [...core.gates] }),
    ...(core.init.gates?.length && { gateIds: core.init.gates.map(({ id }) => id) }),
    ...(core.kept && { kept: true as const }),
    ...defined({ parks: waitingFor === 'checkpoint' ? core.parks : (core.parks ?? 0) + 1 }),
    callCount: core.callCount,
    waiting: core.unfinishedCalls,
    questions: core.questions.ids,
    ...(core.phase.unadmitted && { unadmitted: input === undefined ? {} : { input } }),
    ...(runs.length > 0 && { inside: runs }),
    ...(!inside?.isBelow && { tree: { sums: core.tree.totals, state: core.tree.savedState() } }),
  }
}
