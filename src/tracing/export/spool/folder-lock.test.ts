import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { expect, it, onTestFinished } from 'vitest'
import { FolderLock } from './folder-lock.ts'

it('removes its folder without a word when another process, which looks for leftovers, was faster', async () => {
  const spoolDir = mkdtempSync(join(tmpdir(), 'hookspan-lock-'))
  const folder = join(spoolDir, 'one')
  const faster = new SharedArrayBuffer(4)
  const other = new Worker(
    `const { workerData: { folder, faster } } = require('node:worker_threads')
    const count = new Int32Array(faster)
    for (;;) try { require('node:fs').rmdirSync(folder); Atomics.add(count, 0, 1) } catch {}`,
    { eval: true, workerData: { folder, faster } },
  )
  onTestFinished(async () => {
    await other.terminate()
    rmSync(spoolDir, { recursive: true, force: true })
  })
  const removedByOther = () => Atomics.load(new Int32Array(faster), 0)
  const until = performance.now() + 20_000
  for (let raced = 0; raced < 3 && performance.now() < until; await new Promise(setImmediate)) {
    const lock = made(folder)
    const before = removedByOther()
    expect(() => lock?.remove()).not.toThrow()
    if (lock !== undefined && removedByOther() > before) raced++
  }
})

/** Undefined when the other one took the folder before it had a lock. */
function made(folder: string): FolderLock | undefined {
  try {
    mkdirSync(folder, { recursive: true })
    return FolderLock.make(folder)
  } catch {
    return undefined
  }
}
