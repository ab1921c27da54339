import { errorMessage, errorSentence, HookspanError } from '../../internal/errors.ts'
import { a, expected } from '../../internal/expect.ts'
import { safeStringify } from '../../internal/json.ts'
import { defined } from '../../internal/objects.ts'
import type { SavedRun } from '../run-state.ts'
import type { AgentRun } from '../types.ts'
import {
  CHECKPOINT_VERSION,
  type CheckpointRecord,
  ROOT,
  type RunChange,
  readRecords,
  wayTo,
} from './record.ts'
import { RunCheckpoint, type RunKeeper } from './run-checkpoint.ts'
import { contentOf, documentsOf, savedRunOf } from './run-content.ts'
import { RunDocument } from './run-document.ts'
import { type CheckpointClaim, type CheckpointStore, notHeld } from './store.ts'

/** What lists show of a run. */
export interface AboutRun {
  readonly agentName: string
  /** Turns that are complete. */
  readonly steps: number
  /** As the process that saved it last left it. */
  readonly state: 'running' | 'waiting_for_human' | 'failed' | 'interrupted'
  /** What failed it. */
  readonly error?: string
  /** Epoch milliseconds. */
  readonly startedAt: number
}

/** One run in a store, held by this process: writes down what is new of it and of the runs of its sub-agents. */
export class RunLog implements RunKeeper {
  readonly operationId: string
  /** Somebody may be asked about a call, so that what is asked is to be kept before. */
  asksHumans = false
  readonly #store: CheckpointStore
  readonly #token: string
  readonly #documents: Map<string, RunDocument>
  /** What goes on in this process, by the way to it. */
  readonly #live = new Map<string, RunCheckpoint>()
  #records: number
  #about: AboutRun | undefined
  #writing: Promise<unknown> = Promise.resolve()
  #next: Promise<void> | undefined
  #failure: HookspanError | undefined

  private constructor(store: CheckpointStore, operationId: string, claim: Claimed) {
    this.operationId = operationId
    this.#store = store
    this.#token = claim.token
    const records = readRecords(claim.records)
    this.#documents = documentsOf(records)
    this.#records = records.length
    if (claim.lost?.aborted) this.#leave()
    else claim.lost?.addEventListener('abort', () => this.#leave(), { once: true })
  }

  #leave(): void {
    this.#failure ??= this.#failed(notHeld(this.operationId))
    for (const run of this.#live.values()) run.leave()
  }

  /**
   * For a run that begins.
   *
   * @throws HookspanError `STATE_CLAIMED` where it goes on in another process, `INVALID_STATE` where the store has one of
   * this id that has not ended; `CHECKPOINT_FAILED`.
   */
  static async begin(store: CheckpointStore, operationId: string): Promise<RunLog> {
    const claim = await claimed(store, operationId)
    const { token, records } = claim
    if (records.length === 0) return new RunLog(store, operationId, claim)
    await store.release(operationId, token, { finished: false })
    throw new HookspanError(
      'INVALID_STATE',
      `Run "${operationId}" is in the checkpoints and has not ended. Go on with it, with resumeAgent({ checkpoint, ` +
        'operationId }) or `hookspan resume`, or begin a run of another `operationId`. Nothing was run.',
    )
  }

  /**
   * For a run that goes on.
   *
   * @throws HookspanError `STATE_CLAIMED` where it goes on in another process, `INVALID_STATE` where the store does not
   * have it, or has it in a form that this hookspan cannot read; `CHECKPOINT_FAILED`. It is kept as it is.
   */
  static async resume(
    store: CheckpointStore,
    operationId: string,
  ): Promise<{ readonly log: RunLog; readonly saved: SavedRun }> {
    const claim = await claimed(store, operationId)
    const { token, records } = claim
    try {
      const log = new RunLog(store, operationId, claim)
      if (records.length > 0) return { log, saved: savedRunOf(log.#documents) }
    } catch (error) {
      await store.release(operationId, token, { finished: false })
      const wayOut = `Where that cannot be mended, forget the run: \`hookspan resume ${operationId} --discard\`, or discardRun().`
      throw new HookspanError('INVALID_STATE', `${errorSentence(error)} ${wayOut}`, { cause: error })
    }
    await store.release(operationId, token, { finished: false })
    throw notKept(operationId)
  }

  /** Whatever its records say. @throws HookspanError as {@link resume} does. */
  static async discard(store: CheckpointStore, operationId: string): Promise<void> {
    const { token, records } = await claimed(store, operationId)
    await store.release(operationId, token, { finished: true })
    if (records.length === 0) throw notKept(operationId)
  }

  /** Another process has the run. */
  get isLost(): boolean {
    const cause = this.#failure?.cause
    return cause instanceof HookspanError && cause.code === 'STATE_CLAIMED'
  }

  join(way: string, run: RunCheckpoint): void {
    this.#live.set(way, run)
    // Lost before it began.
    if (this.isLost) run.leave()
  }

  /** With the runs below it, which it may have left open. */
  leave(keys: readonly string[]): void {
    const way = wayTo(keys)
    const below = `${way.slice(0, -1)},`
    for (const other of [...this.#live.keys()]) {
      if (other === way || other.startsWith(below)) this.#live.delete(other)
    }
  }

  /** @throws HookspanError `CHECKPOINT_FAILED` once something could not be kept. */
  assertSaved(): void {
    if (this.#failure !== undefined) throw this.#failure
  }

  /**
   * Keeps the run as it is when its turn comes, which is after now: who waits for it may do what is written down there.
   *
   * @throws HookspanError `CHECKPOINT_FAILED`, now and from then on: a gap in the records would have calls made again.
   */
  save(): Promise<void> {
    if (this.#next === undefined) {
      const next = this.#writing.then(() => {
        this.#next = undefined
        return this.#write()
      })
      this.#next = next
      this.#writing = next.catch(() => {})
    }
    return this.#next
  }

  #changes(): Record<string, RunChange | null> {
    const runs: Record<string, RunChange | null> = {}
    for (const [way, run] of this.#live) {
      const saved = run.saved()
      if (saved === undefined) continue
      if (way === ROOT) this.#about = aboutOf(saved)
      const document = this.#documents.get(way) ?? new RunDocument()
      this.#documents.set(way, document)
      const change = document.change(contentOf(saved, way === ROOT))
      if (change !== undefined) runs[way] = change
    }
    for (const way of this.#documents.keys()) {
      if (this.#live.has(way) || this.#isWaitedFor(way)) continue
      this.#documents.delete(way)
      runs[way] = null
    }
    return runs
  }

  /** The run of a sub-agent that is to go on, and has not begun to in this process. */
  #isWaitedFor(way: string): boolean {
    const keys = JSON.parse(way) as string[]
    const caller = this.#live.get(wayTo(keys.slice(0, -1)))
    // Of one whose caller has not begun to go on, nothing is known.
    return caller === undefined ? this.#documents.has(wayTo(keys.slice(0, -1))) : caller.expects(keys.at(-1))
  }

  async #write(left: Partial<AboutRun> = {}): Promise<void> {
    this.assertSaved()
    try {
      const record: CheckpointRecord = {
        schema: 'hookspan.checkpoint',
        version: CHECKPOINT_VERSION,
        number: this.#records,
        runs: this.#changes(),
      }
      const write = { record: safeStringify(record), about: safeStringify({ ...this.#about, ...left }) }
      await this.#store.append(this.operationId, this.#token, write)
      this.#records++
    } catch (error) {
      this.#failure ??= this.#failed(error)
      throw this.#failure
    }
  }

  #failed(error: unknown): HookspanError {
    return new HookspanError(
      'CHECKPOINT_FAILED',
      `Run "${this.operationId}" could not be saved: ${errorSentence(error)} Nothing that depends on it is begun, and it ` +
        'can be gone on with from what was saved last. Mend the store, then resume the run.',
      { cause: error },
    )
  }

  /** The run has left this process: what has ended is forgotten, what may go on is kept. Never rejects. */
  async #end(run: AgentRun): Promise<void> {
    const state = leftAs(run)
    try {
      await this.#writing
      if (state !== undefined && this.#failure === undefined && this.#records > 0) {
        await this.#write({ state, ...failureOf(run) })
      }
      await this.#store.release(this.operationId, this.#token, { finished: state === undefined })
    } catch (error) {
      if (this.isLost) return
      const what = state === undefined ? 'has ended and could not be forgotten' : 'could not be let go of'
      console.warn(`hookspan: run "${this.operationId}" ${what} in the checkpoints: ${errorMessage(error)}`)
    }
  }

  /** Runs the run, and lets go of it. @throws what `work` throws, before anything was run. */
  async hold(work: (root: RunCheckpoint) => Promise<AgentRun>): Promise<AgentRun> {
    let run: AgentRun
    try {
      // Lost before it began.
      this.assertSaved()
      run = await work(new RunCheckpoint(this, []))
    } catch (error) {
      await this.#store.release(this.operationId, this.#token, { finished: false }).catch(() => {})
      throw error
    }
    await this.#end(run)
    return run
  }
}

type Claimed = Extract<CheckpointClaim, { state: 'claimed' }>

async function claimed(store: CheckpointStore, operationId: string): Promise<Claimed> {
  let claim: CheckpointClaim
  try {
    claim = await store.claim(operationId)
    if (!isClaim(claim ?? {})) throw expected('`claim` of the store to give a claim and its records', claim)
  } catch (error) {
    const why = `The checkpoints of run "${operationId}" cannot be read: ${errorSentence(error)} Nothing was run.`
    throw new HookspanError('CHECKPOINT_FAILED', why, { cause: error })
  }
  if (claim.state === 'claimed') return claim
  throw new HookspanError(
    'STATE_CLAIMED',
    `Run "${operationId}" goes on in another process, or here. Nothing was run.`,
  )
}

/** A store may be anybody's: what it gives is a run's whole memory. */
function isClaim({ state, records }: Partial<Claimed> | { state: 'held'; records?: never }): boolean {
  return state === 'held' || (state === 'claimed' && a.strings.fits(records))
}

function aboutOf({ agentName, loop, operation }: SavedRun): AboutRun {
  return {
    agentName,
    steps: loop.steps,
    state: 'running',
    startedAt: operation.startedAt ?? operation.parkedAt,
  }
}

function notKept(operationId: string): HookspanError {
  const message = `Run "${operationId}" is not in the checkpoints: it has ended, or was never saved. Nothing was run.`
  return new HookspanError('INVALID_STATE', message)
}

/** Undefined for a run that has ended for good. What failed or was aborted may be tried again. */
function leftAs({ status, reason }: AgentRun): AboutRun['state'] | undefined {
  if (status === 'waiting_for_human') return status
  if (status === 'error') return 'failed'
  return reason === 'interrupted' ? 'interrupted' : undefined
}

function failureOf({ error }: AgentRun): { error?: string } {
  return defined({ error: error === undefined ? undefined : errorMessage(error) }) as { error?: string }
}
