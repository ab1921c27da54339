import { runLedgerOf, StateClaim } from '../dispatcher/index.ts'
import { HookspanError } from '../internal/errors.ts'
import { a, assertFields, type Fields, required } from '../internal/expect.ts'
import { approverOf, runAgent, sharedOf } from './exec-agent.ts'
import type { SavedRun } from './run-state.ts'
import { readSavedRun } from './saved-run.ts'
import type { AgentRun, ExecAgentOptions } from './types.ts'
import { assertOptions, RESUME_FIELDS } from './validate.ts'

export interface ResumeAgentOptions
  extends Omit<ExecAgentOptions, 'prompt' | 'messages' | 'operationId' | 'traceparent' | 'parent'> {
  /** What `execAgent` gave: the object, or its JSON. */
  state: SavedRun | string
}

const FIELDS: Fields<ResumeAgentOptions> = { ...RESUME_FIELDS, state: required(a.value) }

/**
 * Continues a run that waits for a human, in the same trace, where it was: here or in another process, hours later.
 * Each hook of the run fires once over both. Where a request has still no answer, the run waits again.
 *
 * The agent, the gates and the approver are code, and are given anew: the same as before. So are the hooks, but for
 * those that the dispatcher knows by name (`dispatcher.namedHooks`): they come back by themselves.
 *
 * A state is gone on from once, over all processes that share the approvals' store: whoever comes later is given what
 * came of it, `resumedBefore`, and goes on where that waits. A run that failed, was aborted, or died with its process may
 * be gone on from again.
 *
 * @throws HookspanError `INVALID_STATE` for a state of another version or another agent, or when a hook that observed
 * the run, or a gate of its own, is missing; `STATE_CLAIMED` while another process goes on from this state; and what
 * `execAgent` throws.
 * @example
 * const run = await execAgent({ agent, prompt, dispatcher })
 * if (run.status === 'waiting_for_human') await save(JSON.stringify(run.state))
 * // later, elsewhere
 * const rest = await resumeAgent({ agent, state: await load(), dispatcher })
 */
export async function resumeAgent(options: ResumeAgentOptions): Promise<AgentRun> {
  assertFields<ResumeAgentOptions>(options, FIELDS, 'resumeAgent')
  const { state, ...rest } = options
  return goOn(readSavedRun(state), rest)
}

async function goOn(saved: SavedRun, rest: Omit<ResumeAgentOptions, 'state'>): Promise<AgentRun> {
  const { agent } = rest
  const hooks = hooksOf(saved, rest)
  const asked: ExecAgentOptions = { ...rest, hooks, messages: saved.loop.messages }
  assertOptions(asked)
  if (agent.name !== saved.agentName) {
    throw new HookspanError(
      'INVALID_STATE',
      `The saved run is agent "${saved.agentName}"'s, and cannot be resumed by "${agent.name}".`,
    )
  }
  assertGatesOf(saved, asked)
  const shared = sharedOf(asked)
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
  StateClaim.cover(saved.operation)
  try {
    const run = await runAgent(shared, asked, { saved })
    if (run.state === undefined) await claim.settle(cameOfIt(run))
    else await claim.moveOn(run.state.operation, cameOfIt(run))
    return run
  } catch (error) {
    await claim.settle(undefined)
    throw error
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

/** A guard that held the run before must hold what is left of it. */
function assertGatesOf({ gateIds = [] }: SavedRun, { agent, gates = [] }: ExecAgentOptions): void {
  const given = new Set([...gates, ...(agent.gates ?? [])].map(({ id }) => id))
  const missing = gateIds.filter((id) => !given.has(id))
  if (missing.length === 0) return
  const message = `The run was held by the gate(s) ${missing.join(', ')}, which are missing. Give \`gates\` with the same ids.`
  throw new HookspanError('INVALID_STATE', message)
}

/** The hooks that are given, and those of the run that the dispatcher knows by name. */
function hooksOf(
  { hookIds }: SavedRun,
  { hooks = [], dispatcher }: Partial<ResumeAgentOptions>,
): ExecAgentOptions['hooks'] {
  const given = new Set(hooks.map((hook) => (typeof hook === 'string' ? hook : hook.id)))
  const others = hookIds.filter((id) => !given.has(id))
  const missing = others.filter((id) => dispatcher?.namedHooks.get(id) === undefined)
  if (missing.length > 0) {
    throw new HookspanError(
      'INVALID_STATE',
      `The run was observed by the hook(s) ${missing.join(', ')}, which are missing. Give \`hooks\` with the same ` +
        'ids, or define them in `dispatcher.namedHooks`.',
    )
  }
  return [...hooks, ...others]
}
