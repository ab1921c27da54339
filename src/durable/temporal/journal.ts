import { delay, untilAborted } from '../../internal/async.ts'
import { HookspanError } from '../../internal/errors.ts'
import { KEPT, type Note } from './parts.ts'
import type { ActivityContext } from './peer.ts'

/** gRPC's codes of what may be otherwise a moment later: `DEADLINE_EXCEEDED`, `RESOURCE_EXHAUSTED`, `UNAVAILABLE`. */
const PASSING = [4, 8, 14]
const AGAIN_MS = 300
/** The call that a worker is in when it is shut down is open until its deadline, and holds the process. */
const CALL_MS = 10_000

/**
 * What is kept of a run, as its workflow has it. Whoever adds to it may have lost the run without noticing: he is refused where somebody
 * else has added first, and goes no further.
 */
export class Journal {
  readonly kept: unknown[] = []
  /** How many notes it has. */
  position = 0
  readonly #context: ActivityContext
  readonly #by = crypto.randomUUID()
  readonly #maxBytes: number

  private constructor(context: ActivityContext, maxBytes: number) {
    this.#context = context
    this.#maxBytes = maxBytes
  }

  static async read(context: ActivityContext, maxBytes: number): Promise<Journal> {
    const journal = new Journal(context, maxBytes)
    for (;;) {
      const notes = await journal.#notes()
      if (notes.length === 0) return journal
      for (const note of notes) journal.#add(note.kept)
    }
  }

  /** Resolves once Temporal has it. @throws HookspanError `CHECKPOINT_FAILED` for more than Temporal takes. */
  async keep(kept: readonly unknown[]): Promise<void> {
    const note: Note = { by: this.#by, position: this.position, kept }
    this.#assertFits(note)
    await this.#surely((run) => run.signal(KEPT, note))
    const [first] = await this.#notes()
    if (first?.by !== this.#by) throw new Error('Another attempt goes on with the run.')
    this.#add(kept)
  }

  #add(kept: readonly unknown[]): void {
    this.position++
    this.kept.push(...kept)
  }

  #notes(): Promise<readonly Note[]> {
    return this.#surely((run) => run.query<readonly Note[]>(KEPT, this.position))
  }

  /** A Temporal that is away is waited for, as long as the run is this activity's. */
  async #surely<T>(
    ask: (run: ReturnType<ActivityContext['client']['workflow']['getHandle']>) => Promise<T>,
  ): Promise<T> {
    const { client, info, cancellationSignal } = this.#context
    const { workflowId, runId } = info.workflowExecution
    for (;;) {
      try {
        const call = client.withDeadline(Date.now() + CALL_MS, () =>
          ask(client.workflow.getHandle(workflowId, runId)),
        )
        // A worker that is shut down answers no query of its own any more.
        return await untilAborted(call, cancellationSignal)
      } catch (error) {
        const { code } = Object((error as Error).cause) as { code?: number }
        if (!PASSING.includes(code ?? 0)) throw error
        await delay(AGAIN_MS, cancellationSignal)
      }
    }
  }

  /** Temporal would say no more than that the signal is not valid. */
  #assertFits(note: Note): void {
    const bytes = Buffer.byteLength(JSON.stringify(note))
    if (bytes <= this.#maxBytes) return
    const { workflowId } = this.#context.info.workflowExecution
    throw new HookspanError(
      'CHECKPOINT_FAILED',
      `Run "${workflowId}" has ${bytes} bytes to keep at once, and Temporal takes ${this.#maxBytes} (\`maxSegmentBytes\`). ` +
        'Let its tools and model calls give less, as a reference to what is kept elsewhere; the run goes on then.',
    )
  }
}
