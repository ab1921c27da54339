import { requirePeer } from '../internal/require-peer.ts'
import { warnUntested } from '../internal/version-range.ts'

/** The SDK of an engine. @throws HookspanError `MISSING_DEPENDENCY`. */
export function enginePeer<T>(
  name: string,
  neededBy: string,
  load = () => requirePeer<T>(name, neededBy),
): T {
  const sdk = load()
  // Once, when it is none of the versions that runs on it were tested with.
  warnUntested(name, import.meta.url, import.meta.url)
  return sdk
}
