import { errorMessage } from '../../internal/errors.ts'
import { a, type Fields } from '../../internal/expect.ts'
import { enginePeer } from '../engine-peer.ts'
import { DURABLE_FIELDS, type DurableAgentOptions } from '../options.ts'
import { type DurableOutcome, DurableRuns } from '../runs.ts'
import { temporalEngine, Waiting } from './engine.ts'
import { leaseOf } from './lease.ts'
import { ANSWERED, activityOf, type Turn, type TurnEnd } from './messages.ts'
import { fittingOutcome } from './outcome.ts'
import type { TemporalActivitySdk, TemporalClient } from './peer.ts'

export interface TemporalAgentOptions extends DurableAgentOptions {
  /** Milliseconds that one model call or tool may take before Temporal tries it again elsewhere. Minimum 1. @default 3_600_000 */
  segmentTimeoutMs?: number
  /**
   * Milliseconds after which Temporal takes a worker that says nothing for dead, and goes on with its runs elsewhere. Longer than
   * this process ever stands still. Minimum 1.
   *
   * @default 10_000
   */
  heartbeatTimeoutMs?: number
  /**
   * Bytes that a model call, or the tools of a turn together, may have to keep, as your Temporal's `limit.blobSize.error` says. What has more fails the attempt,
   * `CHECKPOINT_FAILED`, and the run is kept. Of a longer conversation its end is in what the workflow gives. Minimum 1.
   *
   * @default 2_097_152
   */
  maxSegmentBytes?: number
}

/** Temporal activities, by name: for `activities` of `Worker.create`. */
export type TemporalActivities = Readonly<Record<string, (argument: never) => Promise<unknown>>>

const FIELDS: Fields<TemporalAgentOptions> = {
  ...DURABLE_FIELDS,
  segmentTimeoutMs: a.milliseconds,
  heartbeatTimeoutMs: a.milliseconds,
  maxSegmentBytes: a.integer(1),
}

/**
 * Runs an agent as a Temporal workflow, which keeps what each model call and each tool gave, so that a run goes on where it was when
 * its worker, or Temporal, dies. Needs the optional peer `@temporalio/activity`, and in the file of the worker's workflows
 * `export const support = agentWorkflow(workflow)`, under this name, of `hookspan/temporal/workflow`.
 *
 * @throws HookspanError `INVALID_OPTION`, `MISSING_DEPENDENCY`.
 * @example
 * const support = durableAgent({ name: 'support', agent, dispatcher })
 * const worker = await Worker.create({ taskQueue: 'agents', workflowsPath, activities: { ...support } })
 */
export function durableAgent(options: TemporalAgentOptions): TemporalActivities {
  let client: TemporalClient | undefined
  const runs = DurableRuns.of(options, FIELDS, () => (id, requestId) => tell(client, id, requestId))
  const { name, heartbeatTimeoutMs = 10_000 } = options
  const { segmentTimeoutMs = 3_600_000, maxSegmentBytes = 2_097_152 } = options
  const sdk = enginePeer<TemporalActivitySdk>('@temporalio/activity', 'hookspan/temporal')
  const fitting = (outcome: DurableOutcome): DurableOutcome => {
    try {
      return fittingOutcome(outcome, maxSegmentBytes)
    } catch (error) {
      // It has ended: another attempt would end it once more.
      throw sdk.ApplicationFailure.nonRetryable(errorMessage(error), 'CHECKPOINT_FAILED')
    }
  }
  const run = async (turn: Turn): Promise<TurnEnd> => {
    const context = sdk.Context.current()
    client = context.client
    if (turn.turn === 0 && context.info.heartbeatTimeoutMs !== heartbeatTimeoutMs)
      return { heartbeatTimeoutMs }
    const lease = leaseOf(context, heartbeatTimeoutMs)
    try {
      const engine = await temporalEngine(sdk, lease, turn, { segmentTimeoutMs, maxSegmentBytes })
      const outcome = await runs.run(engine, lease.workflowId, turn.input)
      return { outcome: fitting(outcome) }
    } catch (error) {
      if (error instanceof Waiting) return { wait: error.wait }
      throw error
    } finally {
      lease.end()
    }
  }
  return { [activityOf(name)]: run }
}

async function tell(
  client: TemporalClient | undefined,
  workflowId: string,
  requestId: string,
): Promise<void> {
  await client?.workflow
    .getHandle(workflowId)
    .signal(ANSWERED, requestId)
    .catch((error: Error) => {
      // It has ended meanwhile.
      if (error.name !== 'WorkflowNotFoundError') throw error
    })
}
