import { assertInstalled, OLDEST_FOLDER } from './sdks.ts'

/** Vitest's: before the suite. */
export default function setup(): void {
  assertInstalled(OLDEST_FOLDER)
}
