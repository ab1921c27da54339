import Module, { createRequire } from 'node:module'

const require = createRequire(import.meta.url)
const { _extensions: readers } = Module as unknown as { _extensions: Record<string, unknown> }
const { '.js': reader } = readers

/**
 * A part of hookspan, by its path from here in `dist/`, loaded at once: in the middle of the program's own loading, and
 * only what it needs of us. Read as the first part was: whoever has taken `require()` over since (tsx, ts-node, swc) would
 * make a second one of what all parts share, and they would not know one another's runs.
 */
export function requireOwn<T>(path: string): T {
  const theirs = readers['.js']
  readers['.js'] = reader
  try {
    return require(path) as T
  } finally {
    readers['.js'] = theirs
  }
}
