import type { DurableRun } from '../../agent-run.ts'
import { drive, type SegmentRunner } from '../../drive.ts'
import type { DurableEngine } from '../../engine.ts'
import type { LoopOutcome } from '../../loop/loop-outcome.ts'
import { ANSWERED, activityName, type Begun, type SegmentAsk, type SegmentGiven } from '../parts.ts'

type Activities = Readonly<Record<string, (...args: readonly unknown[]) => Promise<unknown>>>

/** What is used of `@temporalio/workflow`. */
export interface TemporalWorkflowSdk {
  workflowInfo(): { readonly workflowType: string }
  proxyActivities(options: never): unknown
  defineSignal(name: string): unknown
  setHandler(signal: never, handler: (requestId: never) => void): void
  condition(isMet: () => boolean, timeoutMs: number): Promise<boolean>
  isCancellation(error: unknown): boolean
  readonly CancellationScope: { nonCancellable<T>(work: () => Promise<T>): Promise<T> }
}

/** A Temporal workflow. Its `workflowId` is the run's `operationId`. */
export type AgentWorkflow = (input: unknown) => Promise<DurableRun | LoopOutcome>

const BEGIN_TIMEOUT_MS = 60_000

/** For ever: a run that cannot go on is kept until its code, or its store, is back. */
const RETRY = { maximumInterval: 10_000 }

const ONCE = { maximumAttempts: 1 }

/**
 * The workflow of an agent, for the file that `workflowsPath` of a Temporal worker names: exported under the agent's `name`. All that
 * the agent does, it does in the activities that `durableAgent` of `hookspan/temporal` gives.
 *
 * @throws TypeError for what is not that SDK.
 * @param sdk `import * as workflow from '@temporalio/workflow'`
 * @example
 * export const refunds = agentWorkflow(workflow)
 */
export function agentWorkflow(sdk: TemporalWorkflowSdk): AgentWorkflow {
  if (typeof (sdk as TemporalWorkflowSdk | undefined)?.proxyActivities !== 'function') {
    // The errors of the package are not in the workflow's sandbox.
    throw new TypeError(
      "Expected `agentWorkflow` to be given `import * as workflow from '@temporalio/workflow'`, got " +
        `${sdk === null ? 'null' : typeof sdk}.`,
    )
  }
  return async (input) => {
    const answered = new Set<string>()
    sdk.setHandler(sdk.defineSignal(ANSWERED) as never, (requestId: string) => void answered.add(requestId))
    const { workflowType } = sdk.workflowInfo()
    const call = (what: 'begin' | 'segment' | 'look', limits: object, argument: unknown) => {
      const activities = sdk.proxyActivities({
        cancellationType: 'TRY_CANCEL',
        retry: RETRY,
        ...limits,
      } as never) as Activities
      return activities[activityName(workflowType, what)]?.(argument)
    }
    // One that is cancelled before anybody runs it is begun, and ended.
    const { maxDurationMs, segmentTimeoutMs, heartbeatTimeoutMs } =
      (await sdk.CancellationScope.nonCancellable(async () =>
        call('begin', { startToCloseTimeout: BEGIN_TIMEOUT_MS }, input),
      )) as Begun
    const limits = { startToCloseTimeout: segmentTimeoutMs, heartbeatTimeout: heartbeatTimeoutMs }
    let after: string | undefined
    let queue: string | undefined
    /** Where the run is; elsewhere, when it is not there any more. */
    const given = async (ask: SegmentAsk): Promise<SegmentGiven> => {
      if (queue === undefined) return (await call('segment', limits, ask)) as SegmentGiven
      const there = { taskQueue: queue, scheduleToStartTimeout: heartbeatTimeoutMs, retry: ONCE }
      try {
        return (await call('segment', { ...limits, ...there }, ask)) as SegmentGiven
      } catch (error) {
        if (sdk.isCancellation(error)) throw error
        return (await call('segment', limits, { ...ask, again: true })) as SegmentGiven
      }
    }
    const runner: SegmentRunner<unknown, DurableRun | LoopOutcome> = {
      async run({ kept, ...rest }) {
        const ask: SegmentAsk = { ...rest, position: kept.length, ...(after !== undefined && { after }) }
        const { token, workerQueue, ...segment } = await given(ask)
        after = token
        queue = workerQueue
        return segment as never
      },
      look: (asked) => call('look', limits, asked) as never,
    }
    return drive(engineOf(sdk, answered), runner, maxDurationMs)
  }
}

/** What an activity gives is in the history: that is the journal. */
function engineOf(sdk: TemporalWorkflowSdk, answered: ReadonlySet<string>): DurableEngine {
  let cancelled = false
  return {
    journal: (_name, closure) => (cancelled ? sdk.CancellationScope.nonCancellable(closure) : closure()),
    async wait(requestIds, timeoutMs) {
      await sdk.condition(() => requestIds.some((id) => answered.has(id)), Math.ceil(timeoutMs))
    },
    isCancelled(error) {
      cancelled ||= sdk.isCancellation(error)
      return cancelled
    },
  }
}
