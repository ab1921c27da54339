import type { WaitingCall } from '../../dispatcher/index.ts'
import { describeValue, errorMessage } from '../../internal/errors.ts'
import { refusing } from '../../internal/expect.ts'
import { isRecord } from '../../internal/objects.ts'

/** Grows with each change that an older hookspan could not read. */
export const CHECKPOINT_VERSION = 1

/**
 * One thing that was written down of a run: what of it is new since the one before, for the run itself and for each run of
 * a sub-agent that goes on. So a run of any length is written once, and not once for each step.
 */
export interface CheckpointRecord {
  readonly schema: 'hookspan.checkpoint'
  readonly version: typeof CHECKPOINT_VERSION
  /** From 0, without gaps. */
  readonly number: number
  /** By the way to the run (see {@link wayTo}); null where it has ended. */
  readonly runs: Readonly<Record<string, RunChange | null>>
}

/** What is new of one run. */
export interface RunChange {
  /** Fields that are small, as a whole; `null` for one that is gone. */
  readonly set?: Readonly<Record<string, unknown>>
  readonly messages?: ListChange
  /** What the model is sent: numbers are places in `messages`. */
  readonly context?: ListChange
  /** Calls that are open, by their key; null for one that is not any more. */
  readonly calls?: Readonly<Record<string, WaitingCall | null>>
}

/** So many items stay, and these come behind them. */
export interface ListChange {
  readonly keep: number
  readonly add: readonly unknown[]
}

/** The key of a run in a record: the calls of sub-agents that lead to it, from the root. */
export function wayTo(keys: readonly string[]): string {
  return JSON.stringify(keys)
}

export const ROOT = wayTo([])

const NO_CHECKPOINT = 'The checkpoint cannot be gone on from, and is kept as it is'
const invalid = refusing('INVALID_STATE', NO_CHECKPOINT)

/**
 * The records of a run, as they were written.
 *
 * @throws HookspanError `INVALID_STATE` for one that is of another version, cut short or missing: what an older one says
 * would have calls made again.
 */
export function readRecords(texts: readonly string[]): CheckpointRecord[] {
  return texts.map((text, number) => {
    const where = `record ${number + 1} of ${texts.length}`
    let value: unknown
    try {
      value = JSON.parse(text)
    } catch (error) {
      throw invalid(`${where} is not whole: ${errorMessage(error)}`)
    }
    if (!isRecord(value) || value.schema !== 'hookspan.checkpoint') {
      throw invalid(`${where} is no record of a run: ${describeValue(value)}`)
    }
    assertVersion(where, value.version, CHECKPOINT_VERSION)
    if (!isRecord(value.runs)) throw invalid(`${where} says nothing of a run: ${describeValue(value.runs)}`)
    if (value.number !== number) {
      throw invalid(
        `${where} should be number ${number}, and is ${describeValue(value.number)}: one is missing`,
      )
    }
    return value as unknown as CheckpointRecord
  })
}

/** @throws HookspanError `INVALID_STATE` for what another hookspan wrote. */
export function assertVersion(where: string, version: unknown, own: number): void {
  if (version === own) return
  const written = typeof version === 'number' && version > own ? 'newer' : 'older'
  throw invalid(
    `${where} has version ${describeValue(version)}, this hookspan reads version ${own}: go on with the ${written} one that wrote it`,
  )
}

export function invalidCheckpoint(why: string): Error {
  return invalid(why)
}
