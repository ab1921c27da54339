import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import type { ChaosRow } from './tell.ts'

/** Vitest's: before the suite. What it returns runs after it. */
export default function setup(project: TestProject): () => void {
  const folder = mkdtempSync(join(tmpdir(), 'hookspan-chaos-'))
  const path = join(folder, 'rows.ndjson')
  project.provide('chaosRows', path)
  return () => {
    if (existsSync(path)) console.log(`\n${tableOf(readFileSync(path, 'utf8'))}`)
    rmSync(folder, { recursive: true, force: true })
  }
}

function tableOf(lines: string): string {
  const rows = lines
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as ChaosRow)
    .map(({ done, times, lost, doubled, opened }) => [done, times, lost, doubled, opened])
  const cells = [['what was done', 'times', 'lost', 'doubled', 'opened'], ...rows].map((row) =>
    row.map((cell) => (cell === undefined ? '-' : String(cell))),
  )
  const widths = [0, 1, 2, 3, 4].map((column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)))
  const pad = (cell: string, column: number) =>
    column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0)
  return cells.map((row) => row.map(pad).join('  ')).join('\n')
}
