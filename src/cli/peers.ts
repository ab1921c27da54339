import { createRequire } from 'node:module'
import { warnOfVersion } from '../adapters/peer-range.ts'
import { HookspanError } from '../internal/errors.ts'
import { toInstall } from '../internal/node-sdk.ts'
import { installLine } from './install-line.ts'

/** OpenTelemetry's SDKs that `startTracing` takes, the one that it takes first before the other. */
export const SDKS = ['@opentelemetry/sdk-node', '@opentelemetry/sdk-trace'] as const

/** What the commands that run agents need beside hookspan itself: of each list one. */
const NEEDED: readonly (readonly [string, ...string[]])[] = [['openai'], ['@opentelemetry/api'], SDKS]

/**
 * Says at once all that is missing, rather than one package after the other, and of what is there in another version than
 * was tested, which it is.
 *
 * @throws HookspanError `MISSING_DEPENDENCY` naming the one line that installs them.
 */
export function assertPeers(command: string): void {
  const { resolve } = createRequire(import.meta.url)
  const isThere = (name: string) => {
    try {
      resolve(name)
      return true
    } catch {
      return false
    }
  }
  const missing = NEEDED.filter((names) => !names.some(isThere)).map(([name]) =>
    toInstall(name, import.meta.url),
  )
  if (missing.length === 0) {
    for (const names of NEEDED) warnOfVersion(names.find(isThere) as string)
    return
  }
  // What npx fetched for this once sees nothing of the folder's packages.
  const all = /[/\\]_npx[/\\]/.test(import.meta.url) ? ['hookspan', ...missing] : missing
  throw new HookspanError(
    'MISSING_DEPENDENCY',
    `${command} needs packages that are not installed. Run: ${installLine(all)}`,
  )
}
