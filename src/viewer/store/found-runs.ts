/** The runs that a query finds, some at a time, so that nobody waits while they are read. */
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite'
import type { InTurns } from '../model/in-turns.ts'
import { joined } from './filter.ts'

/** Some milliseconds of work, with what is read of them. */
const RUNS_AT_ONCE = 4096

/** SQL for `run`, narrowed to some of the runs. */
export interface RunSlice {
  condition: string
  params: SQLInputValue[]
}

export class FoundRuns {
  readonly #startAfter: StatementSync
  readonly #startLater: StatementSync

  constructor(db: DatabaseSync) {
    this.#startAfter = db.prepare(
      `SELECT start_us AS us FROM run WHERE start_us >= ? ORDER BY start_us LIMIT 1 OFFSET ${RUNS_AT_ONCE}`,
    )
    this.#startLater = db.prepare('SELECT min(start_us) AS us FROM run WHERE start_us > ?')
  }

  /** Has `read` read all that fulfil `where`, and are among `ids` where these are given. */
  *inTurns(
    {
      where,
      params,
      ids,
    }: { where: readonly string[]; params: SQLInputValue[]; ids?: readonly number[] | undefined },
    read: (slice: RunSlice) => void,
  ): InTurns<void> {
    for (const part of ids ? partsOf(ids) : this.#ranges()) {
      read({ condition: joined([part.condition, ...where], 'AND'), params: [...part.params, ...params] })
      yield
    }
  }

  /** By start. A run that comes meanwhile, or is found to have started at another time, may be missed. */
  *#ranges(): Generator<RunSlice> {
    for (let fromUs = Number.MIN_SAFE_INTEGER; ; ) {
      const toUs = this.#next(fromUs)
      if (toUs === undefined) {
        yield { condition: 'start_us >= ?', params: [fromUs] }
        return
      }
      yield { condition: 'start_us >= ? AND start_us < ?', params: [fromUs, toUs] }
      fromUs = toUs
    }
  }

  #next(fromUs: number): number | undefined {
    const after = this.#startAfter.get(fromUs) as { us: number } | undefined
    if (!after || after.us > fromUs) return after?.us
    // More of them start at one moment than are read at once.
    return (this.#startLater.get(fromUs) as { us: number | null }).us ?? undefined
  }
}

function* partsOf(ids: readonly number[]): Generator<RunSlice> {
  for (let from = 0; from < ids.length; from += RUNS_AT_ONCE) {
    const some = JSON.stringify(ids.slice(from, from + RUNS_AT_ONCE))
    yield { condition: 'run.id IN (SELECT value FROM json_each(?))', params: [some] }
  }
}
