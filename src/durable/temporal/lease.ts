import { delay, untilAborted } from '../../internal/async.ts'
import { KEPT, type Note } from './messages.ts'
import type { ActivityContext } from './peer.ts'

/** gRPC's codes of what may be otherwise a moment later: `DEADLINE_EXCEEDED`, `RESOURCE_EXHAUSTED`, `UNAVAILABLE`. */
const PASSING = [4, 8, 14]
const AGAIN_MS = 300
/** The call that a worker is in when it is shut down is open until its deadline, and holds the process. */
const CALL_MS = 10_000
/** How late a cancel is noticed. Temporal's SDK looks after 0.8 of the heartbeat's timeout. */
const LONGEST_BEAT_MS = 2_000

/** A run of an activity, for as long as Temporal leaves it to this one. */
export type Lease = ReturnType<typeof leaseOf>

export function leaseOf(context: ActivityContext, heartbeatTimeoutMs: number) {
  const { client, info, cancellationSignal } = context
  const { workflowId, runId } = info.workflowExecution
  const run = client.workflow.getHandle(workflowId, runId)
  const lost = new AbortController()
  const signal = AbortSignal.any([cancellationSignal, lost.signal])
  const beat = () => client.activity.heartbeat(info.taskToken)
  const beats = setInterval(
    () => {
      context.heartbeat()
      beat().catch((error) => isPassing(error) || lost.abort(error))
    },
    Math.min(LONGEST_BEAT_MS, heartbeatTimeoutMs / 3),
  )
  /** A Temporal that is away is waited for. */
  const surely = async <T>(call: () => Promise<T>): Promise<T> => {
    for (;;) {
      try {
        return await client.withDeadline(Date.now() + CALL_MS, call)
      } catch (error) {
        if (!isPassing(error)) throw error
        await delay(AGAIN_MS, signal)
      }
    }
  }
  return {
    workflowId,
    attempt: info.attempt,
    /** What is kept from this position on, or the first of it. */
    read: (from: number) => surely(() => run.query<readonly unknown[]>(KEPT, from)),
    /** Once Temporal has it. Who lost the run without noticing is refused by the heartbeat, and goes no further. */
    async keep(note: Note): Promise<void> {
      await surely(() => run.signal(KEPT, note))
      await surely(beat)
    },
    /** Rejects when the run is cancelled, or not left to this activity any more. */
    during: <T>(work: Promise<T>) => untilAborted(work, signal),
    end: () => clearInterval(beats),
  }
}

/** Of a heartbeat Temporal's SDK tells no more than whether it was refused. */
function isPassing(error: unknown): boolean {
  const { name, cause } = error as Error
  return name === 'ActivityCompletionError' || PASSING.includes(Object(cause).code)
}
