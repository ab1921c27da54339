import { createRequire } from 'node:module'

const require = createRequire(import.meta.url)

/**
 * A part of hookspan, by its path from here in `dist/`, loaded at once: in the middle of the program's own loading, and
 * only what it needs of us.
 */
export function requireOwn<T>(path: string): T {
  return require(path) as T
}
