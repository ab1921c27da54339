import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

export const SDKS_FOLDER = fileURLToPath(new URL('..', import.meta.url)).replace(/\/$/, '')

/** The oldest versions that the package says it was tested with. */
export const OLDEST_FOLDER = `${SDKS_FOLDER}/oldest`

/** Each has a package.json and a lock of its own. */
export const SDK_FOLDERS = [SDKS_FOLDER, OLDEST_FOLDER]

/** What tests import of an SDK: nothing of it is known where it is not installed, as in `npm test`. */
// biome-ignore lint/suspicious/noExplicitAny: its types are not there when the tests are type-checked.
export type Untyped = any

/** By name, with the exact version, or `npm:name@version` for a second one of the same package. */
export function sdkVersions(folder = SDKS_FOLDER): Readonly<Record<string, string>> {
  const { dependencies } = JSON.parse(readFileSync(`${folder}/package.json`, 'utf8'))
  return { ...dependencies, ...sdksWithoutLock(folder) }
}

/**
 * Those that bring a package for each platform, not all of which every registry has: a lock that npm writes where one is missing
 * lacks it, and `npm ci` refuses that lock everywhere.
 */
export function sdksWithoutLock(folder = SDKS_FOLDER): Readonly<Record<string, string>> {
  return JSON.parse(readFileSync(`${folder}/package.json`, 'utf8')).withoutLock ?? {}
}

export function installedVersion(name: string, folder = SDKS_FOLDER): string | undefined {
  try {
    return JSON.parse(readFileSync(`${folder}/node_modules/${name}/package.json`, 'utf8')).version
  } catch {
    return undefined
  }
}

/** Those that are not installed, or in another version. */
export function missingSdks(folder = SDKS_FOLDER): string[] {
  return Object.entries(sdkVersions(folder))
    .filter(([name, wanted]) => installedVersion(name, folder) !== wanted.replace(/^npm:.+@/, ''))
    .map(([name, wanted]) => `${name}@${wanted}`)
}

/** Vitest's: before the suite. */
export default function setup(): void {
  assertInstalled(SDKS_FOLDER)
}

/** @throws Error that names what is missing, and the command that installs it. */
export function assertInstalled(folder: string): void {
  const missing = missingSdks(folder)
  if (missing.length === 0) return
  throw new Error(`Not installed in ${folder}: ${missing.join(', ')}. Run: npm run sdks:install`)
}
