import { HookDispatcher } from '../../dispatcher/index.ts'
import { a, assertFields, type Fields } from '../../internal/expect.ts'
import { requirePeer } from '../../internal/require-peer.ts'
import type { DurableRun } from '../agent-run.ts'
import { AnswerWatch } from '../answer-watch.ts'
import type { DurableEngine } from '../engine.ts'
import { warnOfEngine } from '../engine-version.ts'
import type { LoopOutcome } from '../loop/loop-outcome.ts'
import { DURABLE_FIELDS, type DurableAgentOptions } from '../options.ts'
import { runsOf } from '../runs.ts'

export interface DbosAgentOptions extends DurableAgentOptions {
  /** Milliseconds between looks at the approvals that runs of this process wait for. Minimum 1. @default 500 */
  pollMs?: number
}

/** A DBOS workflow: what `DBOS.startWorkflow` takes. Its `workflowID` is the run's `operationId`. */
export type DbosWorkflow = (input: unknown) => Promise<DurableRun | LoopOutcome>

/** What is used of `@dbos-inc/dbos-sdk`. */
interface Dbos {
  readonly workflowID: string | undefined
  registerWorkflow(workflow: DbosWorkflow, config: { name: string }): DbosWorkflow
  runStep<T>(step: () => Promise<T>, config: { name: string }): Promise<T>
  recv(topic: string, timeoutSeconds: number): Promise<unknown>
  send(workflowId: string, message: unknown, topic: string): Promise<void>
}

const FIELDS: Fields<DbosAgentOptions> = { ...DURABLE_FIELDS, pollMs: a.milliseconds }

/** DBOS's code of it: its errors have no names. */
const CANCELLED = 24

const ANSWERS = 'hookspan answers'

/**
 * Runs an agent as a DBOS workflow: each model call and each tool is kept in Postgres, so that a run goes on where it was when its
 * process dies. Needs the optional peer `@dbos-inc/dbos-sdk`. Call it before `DBOS.launch()`, which takes runs up again.
 *
 * @throws HookspanError `INVALID_OPTION`, `MISSING_DEPENDENCY`.
 * @example
 * const support = durableAgent({ name: 'support', agent, dispatcher })
 * await DBOS.launch()
 * const run = await DBOS.startWorkflow(support, { workflowID: 'run-7' })({ prompt: 'Refund order 7' })
 */
export function durableAgent(options: DbosAgentOptions): DbosWorkflow {
  assertFields<DbosAgentOptions>(options, FIELDS, 'durableAgent')
  const { name, maxDurationMs, dispatcher = new HookDispatcher() } = options
  const begin = runsOf(options, dispatcher)
  const { DBOS } = requirePeer<{ DBOS: Dbos }>('@dbos-inc/dbos-sdk', 'hookspan/dbos')
  warnOfEngine('@dbos-inc/dbos-sdk')
  const watch = AnswerWatch.of({ ...options, dispatcher }, (id, requestId) =>
    DBOS.send(id, requestId, ANSWERS),
  )
  const run: DbosWorkflow = async (input) => {
    const operationId = DBOS.workflowID as string
    const { leave, outcome } = begin(
      dbosEngine(DBOS, (ids) => watch?.add(operationId, ids)),
      operationId,
      input,
    )
    try {
      return await outcome(maxDurationMs)
    } finally {
      leave()
    }
  }
  return DBOS.registerWorkflow(run, { name })
}

function dbosEngine(DBOS: Dbos, waits: (requestIds: readonly string[]) => void): DurableEngine {
  let cancelled = false
  const isCancelled = (error: unknown) =>
    error instanceof Error && 'dbosErrorCode' in error && error.dbosErrorCode === CANCELLED
  const watched = <T>(work: Promise<T>): Promise<T> =>
    work.catch((error) => {
      cancelled ||= isCancelled(error)
      throw error
    })
  return {
    // A workflow that was cancelled keeps nothing any more: its run is ended by this process.
    journal: (name, closure) => (cancelled ? closure() : watched(DBOS.runStep(closure, { name }))),
    async wait(requestIds, timeoutMs) {
      waits(requestIds)
      // An answer to an earlier question may be among what was sent: who waits looks, and waits again.
      await watched(DBOS.recv(ANSWERS, Math.max(1, Math.ceil(timeoutMs / 1_000))))
    },
    isCancelled,
  }
}
