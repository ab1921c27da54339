import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

export const SDKS_FOLDER = fileURLToPath(new URL('..', import.meta.url)).replace(/\/$/, '')

/** What tests import of an SDK: nothing of it is known where it is not installed, as in `npm test`. */
// biome-ignore lint/suspicious/noExplicitAny: its types are not there when the tests are type-checked.
export type Untyped = any

/** By name, with the exact version, or `npm:name@version` for a second one of the same package. */
export function sdkVersions(): Readonly<Record<string, string>> {
  const { dependencies } = JSON.parse(readFileSync(`${SDKS_FOLDER}/package.json`, 'utf8'))
  return dependencies
}

export function installedVersion(name: string): string | undefined {
  try {
    return JSON.parse(readFileSync(`${SDKS_FOLDER}/node_modules/${name}/package.json`, 'utf8')).version
  } catch {
    return undefined
  }
}

/** Those that are not installed, or in another version. */
export function missingSdks(): string[] {
  return Object.entries(sdkVersions())
    .filter(([name, wanted]) => installedVersion(name) !== wanted.replace(/^npm:.+@/, ''))
    .map(([name, wanted]) => `${name}@${wanted}`)
}

/** Vitest's: before the suite. */
export default function setup(): void {
  const missing = missingSdks()
  if (missing.length === 0) return
  throw new Error(`Not installed in test/sdks: ${missing.join(', ')}. Run: npm run sdks:install`)
}
