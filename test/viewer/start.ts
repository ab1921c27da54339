import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startViewer, type Viewer } from 'hookspan/viewer'
import { onTestFinished } from 'vitest'

/** A viewer until the test's end; in memory, where nothing else is said. */
export async function start(options: Parameters<typeof startViewer>[0] = {}): Promise<Viewer> {
  const viewer = await startViewer({ db: ':memory:', port: 0, ...options })
  onTestFinished(() => viewer.close())
  return viewer
}

/** Where a store may be kept, in a folder of its own until the test's end. */
export function databaseFile(): string {
  const folder = mkdtempSync(join(tmpdir(), 'hookspan-viewer-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  return join(folder, 'traces.db')
}
