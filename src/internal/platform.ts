import { HookspanError } from './errors.ts'

/**
 * A Node without what is used throughout would fail in the middle of somebody's call.
 *
 * @throws HookspanError `MISSING_DEPENDENCY` on a Node below 22.
 */
export function assertPlatform(): void {
  if (typeof Promise.withResolvers === 'function') return
  throw new HookspanError(
    'MISSING_DEPENDENCY',
    `hookspan needs Node 22.15 or newer, and this is ${globalThis.process?.versions?.node ?? 'older'}. Start the program with a newer one.`,
  )
}
