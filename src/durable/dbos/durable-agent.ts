import { enginePeer } from '../engine-peer.ts'
import { DURABLE_FIELDS, type DurableAgentOptions } from '../options.ts'
import { type DurableOutcome, DurableRuns } from '../runs.ts'
import { ANSWERS, dbosEngine, outside } from './engine.ts'
import type { Dbos } from './peer.ts'

export interface DbosAgentOptions extends DurableAgentOptions {}

/** A DBOS workflow: what `DBOS.startWorkflow` takes. Its `workflowID` is the run's `operationId`. */
export type DbosWorkflow = (input: unknown) => Promise<DurableOutcome>

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
  const tell = (id: string, requestId: string) => DBOS.send(id, requestId, ANSWERS)
  const runs = DurableRuns.of(options, DURABLE_FIELDS, () => tell)
  const { DBOS } = enginePeer<{ DBOS: Dbos }>('@dbos-inc/dbos-sdk', 'hookspan/dbos')
  const tellEnd = endOfCancelled(DBOS, runs, options.name)
  const run: DbosWorkflow = async (input) => {
    const operationId = DBOS.workflowID as string
    const engine = dbosEngine(DBOS, operationId)
    const outcome = await runs.run(engine, operationId, input)
    if (engine.cancelled) await outside(() => tellEnd(operationId, true))
    return outcome
  }
  return DBOS.registerWorkflow(run, { name: options.name })
}

/**
 * DBOS takes no cancelled workflow up again: what its process did not live to tell is told by a workflow of its own, once for each run,
 * and again by another process where this one dies in it.
 */
function endOfCancelled(DBOS: Dbos, runs: DurableRuns, name: string) {
  const endName = `${name} cancelled`
  const endOf = (workflowId: string) => `${workflowId} cancelled`
  const endNow = async (workflowId: string) => {
    const steps = (await DBOS.listWorkflowSteps(workflowId)) ?? []
    const status = await DBOS.getWorkflowStatus(workflowId)
    await runs.end(workflowId, status?.input?.[0], steps)
  }
  const end = DBOS.registerWorkflow(
    (workflowId: string, isTold: boolean) =>
      DBOS.runStep(async () => (isTold ? undefined : outside(() => endNow(workflowId))), { name: 'end' }),
    { name: endName },
  )
  const tellEnd = (workflowId: string, isTold: boolean) =>
    DBOS.startWorkflow(end, { workflowID: endOf(workflowId) })(workflowId, isTold)
  DBOS.registerLifecycleCallback({
    async initialize() {
      const { executorID: executorId, applicationVersion } = DBOS
      const own = { executorId, applicationVersion, loadInput: false, loadOutput: false }
      const [cancelled, ended] = await Promise.all([
        DBOS.listWorkflows({ ...own, workflowName: name, status: 'CANCELLED' }),
        DBOS.listWorkflows({ ...own, workflowName: endName }),
      ])
      const known = new Set(ended.map(({ workflowID }) => workflowID))
      for (const { workflowID } of cancelled)
        if (!known.has(endOf(workflowID))) await tellEnd(workflowID, false)
    },
  })
  return tellEnd
}
