import { HookspanError } from '../../internal/errors.ts'

/**
 * Where runs are kept while they go on. Each function is atomic, over all processes that use the store. A run is a list of
 * records, which are texts: the store does not look into them.
 */
export interface CheckpointStore {
  /**
   * Takes a run for its caller: nobody else is given it until it is released, or its holder has died. One that is not kept
   * is begun: it has no records.
   */
  claim(operationId: string): Promise<CheckpointClaim>
  /**
   * Adds a record behind the others; when this resolves, it is kept.
   *
   * @throws when `token` does not hold the run any more, and whatever keeps it from being kept. Then nothing was added.
   */
  append(operationId: string, token: string, write: CheckpointWrite): Promise<void>
  /** Lets go of a run: `finished` forgets it, and so is forgotten what has no records. Nothing for another's token. */
  release(operationId: string, token: string, options: { readonly finished: boolean }): Promise<void>
  /** The runs that have records, the one first that was saved longest ago. */
  list(): Promise<KeptRun[]>
  /** Lets go of files and connections. */
  dispose?(): Promise<void>
}

export type CheckpointClaim =
  /** Somebody who lives has it. */
  | { readonly state: 'held' }
  | {
      readonly state: 'claimed'
      readonly token: string
      readonly records: readonly string[]
      /** Aborted when another process goes on with the run: from then on nothing of it is done or told here. */
      readonly lost?: AbortSignal
    }

export interface CheckpointWrite {
  readonly record: string
  /** What lists show of the run from now on, as JSON: takes the place of what was there. */
  readonly about: string
}

/** A run as a store knows it. */
export interface KeptRun {
  readonly operationId: string
  /** Epoch milliseconds of the last record. */
  readonly savedAt: number
  /** Somebody who lives has it. */
  readonly held: boolean
  /** Of the last record. */
  readonly about: string
}

export function notHeld(operationId: string): HookspanError {
  return new HookspanError(
    'STATE_CLAIMED',
    `Run "${operationId}" is not held by this process any more: another one went on with it.`,
  )
}
