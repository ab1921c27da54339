import { type AskedRequest, drive, type Look } from '../../drive.ts'
import type { DurableEngine } from '../../engine.ts'
import type { DurableOutcome, RunSegment } from '../../runs.ts'
import { ANSWERED, activityName, type Begun, KEPT, type Note } from '../parts.ts'

type Activities = Readonly<Record<string, (...args: readonly unknown[]) => Promise<unknown>>>

/** What is used of `@temporalio/workflow`. */
export interface TemporalWorkflowSdk {
  workflowInfo(): { readonly workflowType: string }
  proxyActivities(options: never): unknown
  defineSignal(name: string): unknown
  defineQuery(name: string): unknown
  setHandler(definition: never, handler: (argument: never) => unknown): void
  condition(isMet: () => boolean, timeoutMs: number): Promise<boolean>
  isCancellation(error: unknown): boolean
  readonly CancellationScope: { nonCancellable<T>(work: () => Promise<T>): Promise<T> }
}

/** A Temporal workflow. Its `workflowId` is the run's `operationId`. */
export type AgentWorkflow = (input: unknown) => Promise<DurableOutcome>

/** Of what is done at once. */
const SHORT = { startToCloseTimeout: 60_000 }

/** Of notes: Temporal gives no more than 2 MB at once. */
const PAGE_BYTES = 500_000

/** An activity that does not end is known by its heartbeat. */
const TEN_YEARS_MS = 10 * 366 * 24 * 3_600_000

/** For ever: a run that cannot go on is kept until its code, or its store, is back. */
const RETRY = { maximumInterval: 10_000 }

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
    const notes: Note[] = []
    let closed = false
    sdk.setHandler(sdk.defineSignal(KEPT) as never, (note: Note) => {
      if (!closed && note.position === notes.length) notes.push(note)
    })
    sdk.setHandler(sdk.defineQuery(KEPT) as never, (from: number) => pageOf(notes, from))
    const { workflowType } = sdk.workflowInfo()
    const call = async <T>(what: 'begin' | 'segment' | 'look', limits: object, argument: unknown) => {
      const options = { cancellationType: 'TRY_CANCEL', retry: RETRY, ...limits }
      const activities = sdk.proxyActivities(options as never) as Activities
      return (await activities[activityName(workflowType, what)]?.(argument)) as T
    }
    // One that is cancelled before anybody runs it is begun, and ended.
    const { endsAt, heartbeatTimeoutMs } = await sdk.CancellationScope.nonCancellable(() =>
      call<Begun>('begin', SHORT, input),
    )
    const long = { startToCloseTimeout: TEN_YEARS_MS, heartbeatTimeout: heartbeatTimeoutMs }
    return drive<unknown, DurableOutcome>(
      engineOf(sdk, answered),
      {
        run({ kept: _asNotes, ...rest }) {
          // What somebody has at work counts no more: the run is ended from what is here.
          closed = rest.cancelled === true
          return call<RunSegment>('segment', long, { input, position: notes.length, ...rest })
        },
        look: (asked: readonly AskedRequest[]) => call<Look>('look', SHORT, asked),
      },
      { endsAt },
    )
  }
}

/** As many as go into one answer. */
function pageOf(notes: readonly Note[], from: number): readonly Note[] {
  let bytes = 0
  const page = notes.slice(from).findIndex((note) => {
    bytes += JSON.stringify(note).length
    return bytes > PAGE_BYTES
  })
  return page === -1 ? notes.slice(from) : notes.slice(from, from + Math.max(1, page))
}

/** What an activity gives, and the notes that it sends meanwhile, are in the history: that is the journal. */
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
