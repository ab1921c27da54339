import { within } from '../../internal/async.ts'
import { HookspanError } from '../../internal/errors.ts'
import type { DurableEngine } from '../engine.ts'
import type { RunSegment } from '../runs.ts'
import type { Lease } from './lease.ts'
import type { Note, Turn, TurnEnd } from './messages.ts'
import type { TemporalActivitySdk } from './peer.ts'

export interface TemporalLimits {
  readonly segmentTimeoutMs: number
  readonly maxSegmentBytes: number
}

/** Ends an activity: its workflow waits. */
export class Waiting extends Error {
  readonly wait: TurnEnd['wait']

  constructor(wait: TurnEnd['wait']) {
    super('The run waits for a human.')
    this.wait = wait
  }
}

/** What Temporal is in an activity. The workflow has the journal: it is read once, and then added to by signals. */
export async function temporalEngine(
  { ApplicationFailure }: TemporalActivitySdk,
  lease: Lease,
  { turn, cancelled }: Turn,
  { segmentTimeoutMs, maxSegmentBytes }: TemporalLimits,
): Promise<DurableEngine> {
  const journal: unknown[] = []
  for (let page: readonly unknown[] = [0]; page.length > 0; journal.push(...page))
    page = await lease.read(journal.length)
  let next = 0
  let kept = journal.length
  let ending = false
  const unkept = (): Note => ({ turn, attempt: lease.attempt, position: kept, values: journal.slice(kept) })
  const assertGoesOn = () => {
    if (cancelled && !ending) throw new Error('The run was cancelled.')
  }
  const inTime = async <T>(work: Promise<T>): Promise<T> => {
    const value = await within(segmentTimeoutMs, lease.during(work))
    if (value !== undefined) return value
    throw new Error(`A model call or tool took longer than ${segmentTimeoutMs} ms (\`segmentTimeoutMs\`).`)
  }
  return {
    async journal<T>(_name: string, closure: () => Promise<T>) {
      if (next === journal.length) {
        assertGoesOn()
        const value = await (ending ? closure() : inTime(closure()))
        journal.push(value)
        const { kept: records = [], outcome } = value as Partial<RunSegment>
        // What a run does next depends on its records alone.
        if (records.length > 0 && outcome === undefined) {
          const note = unkept()
          assertFits(lease.workflowId, note, maxSegmentBytes)
          await lease.keep(note)
          kept = journal.length
        }
      }
      return journal[next++] as T
    },
    async wait(requestIds, timeoutMs) {
      if (next < journal.length) {
        next++
        return
      }
      assertGoesOn()
      throw new Waiting({ requestIds, timeoutMs, note: unkept() })
    },
    isCancelled(error) {
      const { name, message } = error as Error
      ending ||=
        cancelled ||
        name === 'ActivityCancelledError' ||
        (name === 'CancelledFailure' && message === 'CANCELLED')
      return ending
    },
    refusal: (message) => ApplicationFailure.nonRetryable(message, 'INVALID_OPTION'),
  }
}

/** Temporal would say no more than that the signal is not valid. @throws HookspanError `CHECKPOINT_FAILED`. */
function assertFits(workflowId: string, note: Note, maxBytes: number): void {
  const bytes = Buffer.byteLength(JSON.stringify(note))
  if (bytes <= maxBytes) return
  throw new HookspanError(
    'CHECKPOINT_FAILED',
    `Run "${workflowId}" has ${bytes} bytes to keep at once, and Temporal takes ${maxBytes} (\`maxSegmentBytes\`). ` +
      'Let its tools and model calls give less, as a reference to what is kept elsewhere; the run goes on then.',
  )
}
