import { warnUntested } from '../internal/version-range.ts'

/** Says once when the SDK of an engine is none of the versions that runs on it were tested with. */
export function warnOfEngine(name: string): void {
  warnUntested(name, import.meta.url, new URL('../../package.json', import.meta.url))
}
