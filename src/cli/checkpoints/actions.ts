import {
  type AgentRun,
  discardRun,
  resumeAgent,
  type UnfinishedRun,
  unfinishedRuns,
} from '../../agent/index.ts'
import { errorMessage } from '../../internal/errors.ts'
import { counted, formatAgo } from '../../viewer/model/format.ts'
import { EXIT, UsageError } from '../failure.ts'
import { columns } from '../render/columns.ts'
import { shown } from '../render/shown.ts'
import { printJson } from '../render/terminal.ts'
import { type CheckpointFlags, openCheckpoints } from './load-config.ts'

/** Lists the runs that have not ended. */
export async function listUnfinished(flags: CheckpointFlags & { json?: boolean }): Promise<void> {
  const opened = await openCheckpoints(flags)
  try {
    const runs = await unfinishedRuns(opened.store)
    if (flags.json) printJson(runs)
    else if (runs.length === 0) console.log('Every run has ended.')
    else for (const line of linesOf(runs)) console.log(line)
  } finally {
    await opened.close()
  }
}

function linesOf(runs: readonly UnfinishedRun[]): string[] {
  return columns(
    runs.map(({ operationId, agentName, state, steps, savedAt, error }) => [
      operationId,
      agentName,
      state,
      counted(steps, 'step'),
      `saved ${formatAgo(Date.now() - savedAt)}`,
      error ?? '',
    ]),
  )
}

export interface ResumeFlags extends CheckpointFlags {
  discard?: boolean
  json?: boolean
}

/** Goes on with a run, or forgets it. Gives the exit code: 0 when it ended well or waits for a human. */
export async function resumeRun(given: string, flags: ResumeFlags): Promise<number> {
  const opened = await openCheckpoints(flags)
  try {
    const operationId = nameOf(given, await unfinishedRuns(opened.store))
    if (flags.discard) {
      await discardRun(opened.store, operationId)
      console.log(`${shown(operationId)} is forgotten.`)
      return EXIT.done
    }
    if (opened.config === undefined) {
      throw new UsageError(
        'Give --config FILE, a module that exports { agent, dispatcher, ... } as its default.',
      )
    }
    const { close: _close, ...options } = opened.config
    const run = await resumeAgent({ ...options, checkpoint: opened.store, operationId })
    tell(run, flags)
    return run.status === 'done' || run.status === 'waiting_for_human' ? EXIT.done : EXIT.failed
  } finally {
    await opened.close()
  }
}

/** By its id, or the beginning of it. */
function nameOf(given: string, runs: readonly UnfinishedRun[]): string {
  const ids = runs.map(({ operationId }) => operationId)
  const found = ids.includes(given) ? [given] : ids.filter((id) => id.startsWith(given))
  if (found.length === 1) return found[0] as string
  const why = found.length === 0 ? 'There is no unfinished run' : 'Several unfinished runs begin with'
  throw new UsageError(`${why} "${shown(given)}". \`hookspan runs --unfinished\` lists them.`)
}

function tell(run: AgentRun, { json }: ResumeFlags): void {
  const { error, state: _state, messages: _messages, ...rest } = run
  const failure = error === undefined ? {} : { error: errorMessage(error) }
  if (json) return printJson({ ...rest, ...failure })
  console.log(`${shown(run.operationId)}: ${run.status} (${run.reason}) after ${counted(run.steps, 'step')}`)
  if (run.content !== '') console.log(shown(run.content))
  for (const { id, apiName } of run.pendingApprovals ?? []) {
    console.log(`waits for an answer to ${shown(id)} (${shown(apiName)})`)
  }
  if (failure.error !== undefined) console.error(shown(failure.error))
}
