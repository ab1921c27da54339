import { appendFileSync } from 'node:fs'
import { inject } from 'vitest'

declare module 'vitest' {
  export interface ProvidedContext {
    chaosRows: string
  }
}

/** One line of the table that the suite prints at its end. What does not apply is left out. */
export interface ChaosRow {
  /** What was done. */
  readonly done: string
  /** How often. */
  readonly times: number
  /** Things that should be there and are not: spans, answers, records. */
  readonly lost?: number
  /** Things that are there twice. */
  readonly doubled?: number
  /** Guards that let through what they should have stopped. */
  readonly opened?: number
}

/** Adds a line to the table. Called before the expectations, so that a failure is in the table, too. */
export function tell(row: ChaosRow): void {
  appendFileSync(inject('chaosRows'), `${JSON.stringify(row)}\n`)
}
