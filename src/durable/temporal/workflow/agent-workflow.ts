import type { DurableOutcome } from '../../runs.ts'
import { ANSWERED, activityOf, KEPT, type Note, type Turn, type TurnEnd } from '../messages.ts'

/** What is used of `@temporalio/workflow`. */
export interface TemporalWorkflowSdk {
  workflowInfo(): { readonly workflowType: string }
  proxyActivities(options: never): unknown
  defineSignal(name: string): unknown
  defineQuery(name: string): unknown
  setHandler(definition: never, handler: (argument: never) => unknown): void
  condition(isMet: () => boolean, timeoutMs: number): Promise<boolean>
  readonly CancellationScope: {
    nonCancellable<T>(work: () => Promise<T>): Promise<T>
    current(): { readonly consideredCancelled: boolean }
  }
}

/** A Temporal workflow. Its `workflowId` is the run's `operationId`. */
export type AgentWorkflow = (input: unknown) => Promise<DurableOutcome>

/** Of notes: Temporal gives no more than 2 MB at once. */
const PAGE_BYTES = 500_000

const ACTIVITY = {
  /** Ten years: one that does not end is known by its heartbeat. */
  startToCloseTimeout: 10 * 366 * 24 * 3_600_000,
  /** It ends the run that is cancelled. */
  cancellationType: 'WAIT_CANCELLATION_COMPLETED',
  /** For ever: a run that cannot go on is kept until its code, or its store, is back. */
  retry: { maximumInterval: 10_000 },
}

/**
 * The workflow of an agent, for the file that `workflowsPath` of a Temporal worker names: exported under the agent's `name`. All that
 * the agent does, it does in the activity that `durableAgent` of `hookspan/temporal` gives.
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
    const journal: unknown[] = []
    let turn = 0
    let attempt = 0
    const keep = (note: Note): void => {
      // Who has lost the run may not have noticed: what he has kept meanwhile is not what the next one went on from.
      if (note.turn !== turn || note.attempt < attempt) return
      if (note.attempt > attempt) journal.splice(note.position)
      attempt = note.attempt
      if (note.position === journal.length) journal.push(...note.values)
    }
    sdk.setHandler(sdk.defineSignal(ANSWERED) as never, (requestId: string) => void answered.add(requestId))
    sdk.setHandler(sdk.defineSignal(KEPT) as never, keep)
    sdk.setHandler(sdk.defineQuery(KEPT) as never, (from: number) => pageOf(journal, from))
    let heartbeatTimeout = 10_000
    let cancelled = false
    for (; ; turn++) {
      attempt = 0
      const call = () => activity(sdk, heartbeatTimeout, { input, turn, ...(cancelled && { cancelled }) })
      try {
        const end = await (cancelled ? sdk.CancellationScope.nonCancellable(call) : call())
        const { outcome, wait } = end
        if (outcome !== undefined) return outcome
        heartbeatTimeout = end.heartbeatTimeoutMs ?? heartbeatTimeout
        if (wait === undefined) continue
        keep(wait.note)
        const isAnswered = () => wait.requestIds.some((id) => answered.has(id))
        await sdk.condition(isAnswered, Math.ceil(wait.timeoutMs))
        // The wait is over, for whoever comes by it again.
        journal.push(null)
      } catch (error) {
        // Of the run that is cancelled, and whose worker did not live to end it.
        if (cancelled || !sdk.CancellationScope.current().consideredCancelled) throw error
        cancelled = true
      }
    }
  }
}

function activity(sdk: TemporalWorkflowSdk, heartbeatTimeout: number, turn: Turn): Promise<TurnEnd> {
  const activities = sdk.proxyActivities({ ...ACTIVITY, heartbeatTimeout } as never)
  const name = activityOf(sdk.workflowInfo().workflowType)
  return (activities as Readonly<Record<string, (turn: Turn) => Promise<TurnEnd>>>)[name]?.(turn) as never
}

/** As many as go into one answer. */
function pageOf(journal: readonly unknown[], from: number): readonly unknown[] {
  let bytes = 0
  return journal.slice(from).filter((value, index) => {
    bytes += JSON.stringify(value).length
    return index === 0 || bytes <= PAGE_BYTES
  })
}
