import { createRequire } from 'node:module'
import { warnOfVersion } from '../adapters/peer-range.ts'
import { HookspanError } from '../internal/errors.ts'

/** What the commands that run agents need beside hookspan itself. */
const NEEDED = ['openai', '@opentelemetry/api', '@opentelemetry/sdk-node']

/**
 * Says at once all that is missing, rather than one package after the other, and of what is there in another version than
 * was tested, which it is.
 *
 * @throws HookspanError `MISSING_DEPENDENCY` naming the one `npm install` line.
 */
export function assertPeers(command: string): void {
  const { resolve } = createRequire(import.meta.url)
  const missing = NEEDED.filter((name) => {
    try {
      resolve(name)
      return false
    } catch {
      return true
    }
  })
  if (missing.length === 0) {
    for (const name of NEEDED) warnOfVersion(name)
    return
  }
  // What npx fetched for this once sees nothing of the folder's packages.
  const all = /[/\\]_npx[/\\]/.test(import.meta.url) ? ['hookspan', ...missing] : missing
  throw new HookspanError(
    'MISSING_DEPENDENCY',
    `${command} needs packages that are not installed. Run: npm install ${all.join(' ')}`,
  )
}
