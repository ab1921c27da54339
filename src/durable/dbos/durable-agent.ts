import { HookDispatcher } from '../../dispatcher/index.ts'
import { a, assertFields, type Fields } from '../../internal/expect.ts'
import { requirePeer } from '../../internal/require-peer.ts'
import type { DurableRun } from '../agent-run.ts'
import { AnswerWatch } from '../answer-watch.ts'
import { warnOfEngine } from '../engine-version.ts'
import type { LoopOutcome } from '../loop/loop-outcome.ts'
import { DURABLE_FIELDS, type DurableAgentOptions } from '../options.ts'
import { runsOf } from '../runs.ts'
import { ANSWERS, dbosEngine, keptEngine, outside } from './engine.ts'
import type { Dbos } from './peer.ts'

export interface DbosAgentOptions extends DurableAgentOptions {
  /** Milliseconds between looks at the approvals that runs of this process wait for. Minimum 1. @default 500 */
  pollMs?: number
}

/** A DBOS workflow: what `DBOS.startWorkflow` takes. Its `workflowID` is the run's `operationId`. */
export type DbosWorkflow = (input: unknown) => Promise<DurableRun | LoopOutcome>

const FIELDS: Fields<DbosAgentOptions> = { ...DURABLE_FIELDS, pollMs: a.milliseconds }

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
  const endName = `${name} cancelled`
  /** Told once for each run, and again by another process where this one dies in it. */
  const end = DBOS.registerWorkflow(
    (workflowId: string, isTold: boolean) =>
      DBOS.runStep(
        async () => {
          if (!isTold) await outside(() => endCancelled(workflowId))
        },
        { name: 'end' },
      ),
    { name: endName },
  )
  const ends = (workflowId: string, isTold: boolean) =>
    DBOS.startWorkflow(end, { workflowID: endOf(workflowId) })(workflowId, isTold)
  const endCancelled = async (workflowId: string) => {
    const [steps = [], status] = await Promise.all([
      DBOS.listWorkflowSteps(workflowId),
      DBOS.getWorkflowStatus(workflowId),
    ])
    const { leave, outcome } = begin(keptEngine(steps), workflowId, status?.input?.[0])
    await outcome(maxDurationMs).finally(leave)
  }
  // DBOS takes no cancelled workflow up again: what its process did not live to tell is told here.
  DBOS.registerLifecycleCallback({
    async initialize() {
      const own = {
        executorId: DBOS.executorID,
        applicationVersion: DBOS.applicationVersion,
        loadInput: false,
        loadOutput: false,
      }
      const [cancelled, ended] = await Promise.all([
        DBOS.listWorkflows({ ...own, workflowName: name, status: 'CANCELLED' }),
        DBOS.listWorkflows({ ...own, workflowName: endName }),
      ])
      const known = new Set(ended.map(({ workflowID }) => workflowID))
      for (const { workflowID } of cancelled) if (!known.has(endOf(workflowID))) await ends(workflowID, false)
    },
  })
  const run: DbosWorkflow = async (input) => {
    const operationId = DBOS.workflowID as string
    const engine = dbosEngine(DBOS, operationId, (ids) => watch?.add(operationId, ids))
    const { leave, outcome } = begin(engine, operationId, input)
    try {
      const given = await outcome(maxDurationMs)
      if (engine.cancelled) await outside(() => ends(operationId, true))
      return given
    } finally {
      leave()
    }
  }
  return DBOS.registerWorkflow(run, { name })
}

const endOf = (workflowId: string): string => `${workflowId} cancelled`
