import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect } from 'vitest'
import { missing, type Truth, truthOf } from './agent.ts'
import { type Collector, type Received, startCollectorProcess } from './collector.ts'

export interface Scene {
  collector: Collector
  /** For this test alone. */
  folder: string
  spoolDir: string
  /** A new file in which an agent says what it started and ended. */
  truth(): string
  /** All of them together. */
  told(): Truth
  /** Waits until nothing is missing of what the agents say. */
  allThere(timeoutMs?: number): Promise<Received>
}

/** Files of agents, read again only when they have grown. */
function rereader(): (path: string) => Truth {
  const known = new Map<string, { readonly size: number; readonly truth: Truth }>()
  return (path) => {
    const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0
    const before = known.get(path)
    if (before?.size === size) return before.truth
    const truth = truthOf(path)
    known.set(path, { size, truth })
    return truth
  }
}

/** A collector and a folder of its own for each test of the file. */
export function scene(): Scene {
  const files: string[] = []
  const reread = rereader()
  let last: { readonly truths: readonly Truth[]; readonly told: Truth } | undefined
  const current: Scene = {
    collector: undefined as never,
    folder: '',
    spoolDir: '',
    truth() {
      const path = join(current.folder, `truth-${files.length}`)
      files.push(path)
      return path
    },
    told() {
      const truths = files.map(reread)
      // Of hundreds of thousands of ids, and asked for at every look.
      if (last?.truths.length === truths.length && truths.every((truth, i) => truth === last?.truths[i]))
        return last.told
      const told = {
        ended: new Set(truths.flatMap(({ ended }) => [...ended])),
        open: new Set(truths.flatMap(({ open }) => [...open])),
      }
      last = { truths, told }
      return told
    },
    async allThere(timeoutMs = 60_000) {
      let received: Received | undefined
      await expect
        .poll(
          async () => {
            const told = current.told()
            const expected = told.ended.size + told.open.size
            // Comparing them all takes the time of whoever sends them.
            const size = await current.collector.size()
            if (size < expected) return { size, expected }
            received = await current.collector.received()
            const { ended, open } = missing(told, received)
            return { ended: ended.length, open: open.length }
          },
          { timeout: timeoutMs, interval: 200 },
        )
        .toEqual({ ended: 0, open: 0 })
      return received as Received
    },
  }
  beforeEach(async () => {
    files.length = 0
    current.collector = await startCollectorProcess()
    current.folder = mkdtempSync(join(tmpdir(), 'hookspan-chaos-'))
    current.spoolDir = join(current.folder, 'spool')
  })
  afterEach(async () => {
    await current.collector[Symbol.asyncDispose]()
    rmSync(current.folder, { recursive: true, force: true })
  })
  return current
}

export const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

/** Bytes in a folder and all below it; what goes away meanwhile does not count. */
export function bytesIn(folder: string): number {
  let bytes = 0
  for (const name of names(folder)) {
    const found = statSync(join(folder, name), { throwIfNoEntry: false })
    if (found?.isFile()) bytes += found.size
  }
  return bytes
}

function names(folder: string): string[] {
  try {
    return readdirSync(folder, { recursive: true, encoding: 'utf8' })
  } catch {
    return []
  }
}
