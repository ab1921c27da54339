import { HookDispatcher } from '../../dispatcher/index.ts'
import { errorMessage } from '../../internal/errors.ts'
import { a, assertFields, type Fields } from '../../internal/expect.ts'
import { defined } from '../../internal/objects.ts'
import { requirePeer } from '../../internal/require-peer.ts'
import { AnswerWatch } from '../answer-watch.ts'
import type { AskedRequest, Look } from '../drive.ts'
import { warnOfEngine } from '../engine-version.ts'
import { DURABLE_FIELDS, type DurableAgentOptions } from '../options.ts'
import { approverOf, segmentsOf } from '../runs.ts'
import { lookAt } from '../segments.ts'
import { HeldRuns } from './held-runs.ts'
import { ANSWERED, activityName, type Begun, type SegmentAsk, type SegmentGiven } from './parts.ts'
import type { TemporalActivitySdk, TemporalClient } from './peer.ts'

export interface TemporalAgentOptions extends DurableAgentOptions {
  /** Milliseconds between looks at the approvals that runs of this process wait for. Minimum 1. @default 500 */
  pollMs?: number
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
   * A task queue that a second Temporal worker of this process serves, and no other: then a run stays with the process that has it.
   * Without, a run may be given to another process after each segment, which tells the hooks of what was not kept again.
   *
   * @default none: for where one worker serves the task queue
   */
  workerQueue?: string
  /**
   * Bytes that a model call or a tool may have to keep, as your Temporal's `limit.blobSize.error` says. What has more fails the attempt,
   * `CHECKPOINT_FAILED`, and the run is kept. Minimum 1.
   *
   * @default 2_097_152
   */
  maxSegmentBytes?: number
}

/** Temporal activities, by name: for `activities` of `Worker.create`. */
export type TemporalActivities = Readonly<Record<string, (argument: never) => Promise<unknown>>>

const FIELDS: Fields<TemporalAgentOptions> = {
  ...DURABLE_FIELDS,
  pollMs: a.milliseconds,
  segmentTimeoutMs: a.milliseconds,
  heartbeatTimeoutMs: a.milliseconds,
  workerQueue: a.name,
  maxSegmentBytes: a.integer(1),
}

/**
 * Runs an agent as a Temporal workflow: each model call and each tool is an activity, so that a run goes on where it was when its
 * worker, or Temporal, dies. Needs the optional peer `@temporalio/activity`, and in the file of the worker's workflows
 * `export const support = agentWorkflow(workflow)`, under this name, of `hookspan/temporal/workflow`.
 *
 * @throws HookspanError `INVALID_OPTION`, `MISSING_DEPENDENCY`.
 * @example
 * const support = durableAgent({ name: 'support', agent, dispatcher })
 * const worker = await Worker.create({ taskQueue: 'agents', workflowsPath, activities: { ...support } })
 */
export function durableAgent(options: TemporalAgentOptions): TemporalActivities {
  assertFields<TemporalAgentOptions>(options, FIELDS, 'durableAgent')
  const { name, maxDurationMs, workerQueue, dispatcher = new HookDispatcher() } = options
  const { segmentTimeoutMs = 3_600_000, heartbeatTimeoutMs = 10_000, maxSegmentBytes = 2_097_152 } = options
  const begin = segmentsOf(options, dispatcher)
  const approver = approverOf(options, dispatcher)
  const sdk = requirePeer<TemporalActivitySdk>('@temporalio/activity', 'hookspan/temporal')
  warnOfEngine('@temporalio/activity')
  const { Context } = sdk
  const runs = new HeldRuns(begin, activityName(name, 'segment'), maxSegmentBytes)
  let client: TemporalClient | undefined
  const watch = AnswerWatch.of({ ...options, dispatcher }, (id, requestId) => tell(client, id, requestId))
  const waits = (asked: readonly AskedRequest[]) => {
    const context = Context.current()
    client = context.client
    watch?.add(
      context.info.workflowExecution.workflowId,
      asked.map(({ id }) => id),
    )
  }
  return {
    async [activityName(name, 'begin')](input: unknown): Promise<Begun> {
      try {
        begin(Context.current().info.workflowExecution.workflowId, input)
      } catch (error) {
        // What will fail each time is not tried again.
        throw sdk.ApplicationFailure.nonRetryable(errorMessage(error), 'INVALID_OPTION')
      }
      return { segmentTimeoutMs, heartbeatTimeoutMs, ...defined({ maxDurationMs }) }
    },
    async [activityName(name, 'segment')](ask: SegmentAsk): Promise<SegmentGiven> {
      const context = Context.current()
      const beats = setInterval(() => context.heartbeat(), heartbeatTimeoutMs / 3)
      try {
        const segment = await runs.next(context, ask)
        if (segment.asked !== undefined) waits(segment.asked)
        return { ...segment, ...defined({ workerQueue }) }
      } finally {
        clearInterval(beats)
      }
    },
    async [activityName(name, 'look')](asked: readonly AskedRequest[]): Promise<Look> {
      waits(asked)
      return lookAt(approver, asked)
    },
  }
}

async function tell(
  client: TemporalClient | undefined,
  workflowId: string,
  requestId: string,
): Promise<void> {
  try {
    await client?.workflow.getHandle(workflowId).signal(ANSWERED, requestId)
  } catch (error) {
    // It has ended meanwhile.
    if ((error as Error).name !== 'WorkflowNotFoundError') throw error
  }
}
