import { fileURLToPath } from 'node:url'
import { missingSdks } from '../../sdks/support/sdks.ts'
import { WITHOUT_POSTGRES } from './postgres.ts'
import { WITHOUT_TEMPORAL } from './temporal-program.ts'

/** Vitest's: before the suite. What is skipped is said, as a file whose tests are all skipped does not name them. */
export default function setup(): void {
  const missing = missingSdks(fileURLToPath(new URL('..', import.meta.url)))
  if (missing.length > 0)
    throw new Error(`Not installed in test/durable: ${missing.join(', ')}. Run: npm run durable:install`)
  if (WITHOUT_POSTGRES) console.log(`Skipped, on DBOS${WITHOUT_POSTGRES}`)
  if (WITHOUT_TEMPORAL) console.log(`Skipped, on Temporal${WITHOUT_TEMPORAL}`)
}
