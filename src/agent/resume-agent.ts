import { runLedgerOf, StateClaim } from '../dispatcher/index.ts'
import { assertGatesOf } from '../dispatcher/run/operation-init.ts'
import { withdrawRun } from '../gates/approver.ts'
import { HookspanError } from '../internal/errors.ts'
import { a, assertFields, expected, type Fields } from '../internal/expect.ts'
import { RunLog } from './checkpoint/run-log.ts'
import type { CheckpointStore } from './checkpoint/store.ts'
import { storeOf } from './checkpoint/unfinished.ts'
import { approverOf, asksHumans, runAgent, type Shared, sharedOf } from './exec-agent.ts'
import { hooksOfRun } from './run-hooks.ts'
import type { LoopState, SavedRun } from './run-state.ts'
import { readSavedRun } from './saved-run.ts'
import type { Agent, AgentRun, ExecAgentOptions } from './types.ts'
import { assertOptions, RESUME_FIELDS } from './validate.ts'

export interface ResumeAgentOptions
  extends Omit<ExecAgentOptions, 'prompt' | 'messages' | 'operationId' | 'traceparent' | 'parent'> {
  /** What `execAgent` gave: the object, or its JSON. Not for a run with `checkpoint`, which the store has. */
  state?: SavedRun | string
  /** With `checkpoint`: the run that is to go on. */
  operationId?: string
}

const FIELDS: Fields<ResumeAgentOptions> = { ...RESUME_FIELDS, state: a.value, operationId: a.name }

/**
 * Continues a run that waits for a human, in the same trace, where it was: here or in another process, hours later.
 * Each hook of the run fires once over both. Where a request has still no answer, the run waits again.
 *
 * With `checkpoint` and `operationId` it continues a run whose process died, failed or was stopped, from what was saved
 * last. A tool that was at work then is not run again, and the model is told `execution_unknown`, unless it is
 * `idempotent`; what came after, as a model call, is made again, and its hooks fire again.
 *
 * The agent, the gates and the approver are code, and are given anew: the same as before. So are the hooks, but for
 * those that the dispatcher knows by name (`dispatcher.namedHooks`): they come back by themselves.
 *
 * A state is gone on from once, over all processes that share the approvals' store: whoever comes later is given what
 * came of it, `resumedBefore`, and goes on where that waits. A run that failed, was aborted, or died with its process may
 * be gone on from again.
 *
 * @throws HookspanError `INVALID_STATE` for a state of another version or another agent, or when a hook that observed
 * the run, or a gate of its own, is missing; `STATE_CLAIMED` while another process goes on from this state; `INVALID_STATE`
 * for a run that the checkpoints do not have, or whose tool is gone; and what `execAgent` throws.
 * @example
 * const run = await execAgent({ agent, prompt, dispatcher })
 * if (run.status === 'waiting_for_human') await save(JSON.stringify(run.state))
 * // later, elsewhere
 * const rest = await resumeAgent({ agent, state: await load(), dispatcher })
 */
export async function resumeAgent(options: ResumeAgentOptions): Promise<AgentRun> {
  assertFields<ResumeAgentOptions>(options, FIELDS, 'resumeAgent')
  const { state, operationId, ...rest } = options
  const store = storeOf(rest.checkpoint)
  if (store !== undefined) return goOnFromStore(store, options)
  if (operationId !== undefined) throw noStore(`\`operationId\` ("${operationId}")`)
  if (state === undefined) throw expected('`state` of resumeAgent to be what `execAgent` gave', state)
  const saved = readSavedRun(state)
  if (saved.kept)
    throw noStore(`a \`state\` of run "${saved.operation.operationId}", which is in checkpoints`)
  return goOn(saved, rest)
}

type Rest = Omit<ResumeAgentOptions, 'state' | 'operationId'>

function noStore(given: string): HookspanError {
  return new HookspanError(
    'INVALID_OPTION',
    `resumeAgent was given ${given}, and no \`checkpoint\`: give the store that \`execAgent\` saved the run in.`,
  )
}

/** Ends a run of a store that keeps nothing of it any more, whatever its agent is now: nothing of it is run. */
export function endAgent(store: CheckpointStore, options: ResumeAgentOptions): Promise<AgentRun> {
  return goOnFromStore(store, options, true)
}

/** The store's is never older than a `state` of the same run. */
async function goOnFromStore(
  store: CheckpointStore,
  { state, operationId, ...rest }: ResumeAgentOptions,
  ends = false,
): Promise<AgentRun> {
  const id = operationId ?? (state === undefined ? undefined : readSavedRun(state).operation.operationId)
  if (id === undefined) {
    throw expected('`operationId` of resumeAgent to be the run that is to go on', operationId)
  }
  const { log, saved } = await RunLog.resume(store, id)
  return log.hold(async (checkpoint) => {
    const { asked, shared } = prepared(saved, rest, ends)
    log.asksHumans = asksHumans(asked, shared)
    // Nobody else has it: the store sees to that.
    StateClaim.cover(saved.operation)
    const run = await runAgent(shared, asked, { saved, checkpoint })
    // Where another process has it, that waits for the answers.
    if (run.reason !== 'waiting' && !log.isLost)
      await withdrawRun(approverOf(asked) ?? shared.dispatcher.approver, id)
    return run
  })
}

/** @throws HookspanError `INVALID_STATE` for code that is not what the run was begun with. */
function prepared(saved: SavedRun, rest: Rest, ends = false): { asked: ExecAgentOptions; shared: Shared } {
  const { agent } = rest
  const hooks = ends ? rest.hooks : hooksOfRun(saved.hookIds, rest)
  const asked: ExecAgentOptions = { ...rest, ...(hooks && { hooks }), messages: saved.loop.messages }
  assertOptions(asked)
  if (ends) return { asked, shared: sharedOf(asked) }
  if (agent.name !== saved.agentName) {
    throw new HookspanError(
      'INVALID_STATE',
      `The saved run is agent "${saved.agentName}"'s, and cannot be resumed by "${agent.name}".`,
    )
  }
  assertFits(saved, asked)
  return { asked, shared: sharedOf(asked) }
}

async function goOn(saved: SavedRun, rest: Rest): Promise<AgentRun> {
  const { asked, shared } = prepared(saved, rest)
  const ledger = runLedgerOf(approverOf(asked)?.ledger ?? shared.dispatcher.approver?.ledger)
  // The operation claims the state by itself; where others can be told, they are told what came of it.
  if (ledger === undefined) return runAgent(shared, asked, { saved })
  const claim = new StateClaim(ledger, saved.operation)
  const before = await claim.claim()
  if (before.state === 'done' && isRun(before.result)) {
    if (before.result.state !== undefined) return goOn(before.result.state, rest)
    return { ...before.result, resumedBefore: true }
  }
  if (before.state !== 'run') throw claim.refused(before)
  StateClaim.cover(saved.operation, claim)
  try {
    const run = await runAgent(shared, asked, { saved })
    if (claim.refusal !== undefined) throw claim.refusal
    if (run.state === undefined) await claim.settle(cameOfIt(run))
    else await claim.moveOn(run.state.operation, cameOfIt(run))
    return run
  } catch (error) {
    await claim.settle(undefined)
    throw error
  }
}

/** What the run was begun with is there, also of each sub-agent whose run goes on. */
function assertFits(saved: SavedRun, { agent, gates }: Pick<ExecAgentOptions, 'agent' | 'gates'>): void {
  assertApiOf(saved, agent)
  assertGatesOf(`The run of agent "${saved.agentName}"`, saved.gateIds ?? [], [
    ...(gates ?? []),
    ...(agent.gates ?? []),
  ])
  assertToolsOf(saved, agent)
  for (const child of Object.values(saved.children)) {
    const subAgent = agent.subAgents?.find(({ name }) => name === child.agentName)
    if (subAgent !== undefined) assertFits(child, { agent: subAgent })
  }
}

/** Each has messages of its own shape, which the model of the other would refuse once the tools have run. */
function assertApiOf({ api, agentName }: SavedRun, agent: Agent): void {
  const now = agent.api ?? 'chat'
  if (api === undefined || api === now) return
  throw new HookspanError(
    'INVALID_STATE',
    `The run of agent "${agentName}" was begun with \`api: '${api}'\`, and is to go on with '${now}', which cannot read its ` +
      'messages. Nothing was run.',
  )
}

/** A call that is open was made to a tool that the model knew: what would come of it without one, nobody can say. */
function assertToolsOf({ loop, toolNames = [] }: SavedRun, agent: Agent): void {
  const { pending = [], told = [] }: Partial<LoopState> = loop
  const { name, tools = [], subAgents = [] } = agent
  const given = new Set([...tools, ...subAgents].map((tool) => tool.name))
  const gone = pending.find(
    (call, index) => (told[index] ?? null) === null && toolNames.includes(call.name) && !given.has(call.name),
  )
  if (gone !== undefined) {
    throw new HookspanError(
      'INVALID_STATE',
      `The run is in a call of tool "${gone.name}", which agent "${name}" does not have any more. Give it the tool, or ` +
        'one of that name that says what is to be done now. Nothing was run.',
    )
  }
}

/** Whoever went on from the state without `resumeAgent` tells less. */
function isRun(result: unknown): result is AgentRun {
  return typeof result === 'object' && result !== null && 'status' in result
}

/** What failed or was aborted may be tried again. */
function cameOfIt({ error: _error, ...run }: AgentRun): Omit<AgentRun, 'error'> | undefined {
  return run.status === 'error' || run.reason === 'interrupted' ? undefined : run
}
