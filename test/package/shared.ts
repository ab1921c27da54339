/** One folder for all files of a run: the package, packed once, and what npm has installed beside it (support.ts). */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { TestProject } from 'vitest/node'

declare module 'vitest' {
  export interface ProvidedContext {
    readonly shared: { readonly folder: string; readonly tarball: string }
  }
}

/** Vitest's: before the suite. */
export default function setup({ provide }: TestProject): () => void {
  const folder = mkdtempSync(join(tmpdir(), 'hookspan-packed-'))
  const cwd = fileURLToPath(new URL('../..', import.meta.url))
  const packed = execFileSync('npm', ['pack', '--silent', '--pack-destination', folder], { cwd })
  provide('shared', { folder, tarball: join(folder, String(packed).trim()) })
  return () => rmSync(folder, { recursive: true, force: true })
}
