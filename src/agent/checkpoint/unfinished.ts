import { errorSentence, HookspanError } from '../../internal/errors.ts'
import { a, expected } from '../../internal/expect.ts'
import { jsonIn } from '../../internal/json.ts'
import { asObject } from '../../wire/reading.ts'
import { type AboutRun, RunLog } from './run-log.ts'
import { defaultCheckpoints } from './sqlite-checkpoints.ts'
import type { CheckpointStore } from './store.ts'

/** A run that has not ended. */
export interface UnfinishedRun extends Omit<AboutRun, 'state'> {
  readonly operationId: string
  /** `died`: the process that had it is gone. `running`: it goes on somewhere. */
  readonly state: AboutRun['state'] | 'died'
  /** Epoch milliseconds. */
  readonly savedAt: number
}

/** The store that an option means; undefined for none. */
export function storeOf(checkpoint: boolean | CheckpointStore | undefined): CheckpointStore | undefined {
  if (typeof checkpoint === 'object') return checkpoint
  return checkpoint ? defaultCheckpoints() : undefined
}

const STORE = a.with('claim', 'append', 'release', 'list')

function givenStore(checkpoint: true | CheckpointStore, whose: string): CheckpointStore {
  if (checkpoint === true) return defaultCheckpoints()
  if (STORE.fits(checkpoint)) return checkpoint
  throw expected(`the store of ${whose} to be true, or ${STORE.words}`, checkpoint)
}

/**
 * The runs of a store that have not ended, the one first that was saved longest ago.
 *
 * @throws HookspanError `CHECKPOINT_FAILED` for a store that cannot be read.
 * @example
 * for (const { operationId, state } of await unfinishedRuns(store)) {
 *   if (state === 'died') await resumeAgent({ agent, checkpoint: store, operationId })
 * }
 */
export async function unfinishedRuns(checkpoint: true | CheckpointStore): Promise<UnfinishedRun[]> {
  const store = givenStore(checkpoint, 'unfinishedRuns')
  const runs = await store.list().catch((error: unknown) => {
    if (error instanceof HookspanError) throw error
    const why = `The checkpoints cannot be listed: ${errorSentence(error)} Mend their store.`
    throw new HookspanError('CHECKPOINT_FAILED', why, { cause: error })
  })
  return runs.map(({ operationId, savedAt, held, about: text }) => {
    const { agentName, steps, state, error, startedAt } = aboutOf(text)
    return {
      operationId,
      agentName: typeof agentName === 'string' ? agentName : '',
      steps: typeof steps === 'number' ? steps : 0,
      state: held ? 'running' : state === undefined || state === 'running' ? 'died' : state,
      startedAt: typeof startedAt === 'number' ? startedAt : savedAt,
      savedAt,
      ...(typeof error === 'string' && { error }),
    }
  })
}

function aboutOf(text: string): Partial<AboutRun> {
  return asObject(jsonIn(text)) ?? {}
}

/**
 * Forgets a run that is not to be gone on with.
 *
 * @throws HookspanError `STATE_CLAIMED` while it goes on, `INVALID_STATE` where the store does not have it.
 */
export async function discardRun(checkpoint: true | CheckpointStore, operationId: string): Promise<void> {
  if (!a.name.fits(operationId)) throw expected('the id of a run to be a non-empty string', operationId)
  await RunLog.discard(givenStore(checkpoint, 'discardRun'), operationId)
}
