import { RecordingError } from './recording-error.ts'
import type { RecordedRun } from './types.ts'

/** Told of a conversation that cannot be replayed; the others of its file can. */
export type OnBad = (error: RecordingError) => void

/** Reads each conversation of a list. What is wrong with one is told, or thrown where nobody listens. */
export function parseEach<T>(
  items: readonly T[],
  onBad: OnBad | undefined,
  parse: (item: T, index: number) => RecordedRun,
): RecordedRun[] {
  const runs: RecordedRun[] = []
  for (const [index, item] of items.entries()) {
    try {
      runs.push(parse(item, index))
    } catch (error) {
      if (onBad === undefined || !(error instanceof RecordingError)) throw error
      onBad(error)
    }
  }
  return runs
}
