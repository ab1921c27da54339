import { readFileSync } from 'node:fs'
import Module, { createRequire } from 'node:module'
import { dirname, sep } from 'node:path'
import { fileURLToPath } from 'node:url'

const require = createRequire(import.meta.url)
const OWN = dirname(dirname(fileURLToPath(import.meta.url))) + sep

type Reader = (module: Compiled, path: string) => unknown

interface Compiled {
  _compile(source: string, path: string, format: 'module'): unknown
}

const { _extensions: readers } = Module as unknown as { _extensions: Record<string, Reader> }

/**
 * A part of hookspan, by its path from here in `dist/`, loaded at once: in the middle of the program's own loading, and
 * only what it needs of us. Read as the ES module that it is: whoever has taken `require()` over (tsx, ts-node, swc),
 * before us or since, would make a second one of what all parts share, and they would not know one another's runs.
 */
export function requireOwn<T>(path: string): T {
  if (process.versions.bun !== undefined) return require(path) as T
  const { '.js': theirs } = readers as { '.js': Reader }
  readers['.js'] = (module, file) =>
    file.startsWith(OWN) ? module._compile(readFileSync(file, 'utf8'), file, 'module') : theirs(module, file)
  try {
    return require(path) as T
  } finally {
    readers['.js'] = theirs
  }
}
