import { fileURLToPath } from 'node:url'
import { missingSdks } from '../../sdks/support/sdks.ts'

/** Vitest's: before the suite. */
export default function setup(): void {
  const missing = missingSdks(fileURLToPath(new URL('..', import.meta.url)))
  if (missing.length > 0)
    throw new Error(`Not installed in test/durable: ${missing.join(', ')}. Run: npm run durable:install`)
}
