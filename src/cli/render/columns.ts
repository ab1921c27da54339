import { shown } from './shown.ts'

/** One line for each row, its cells below each other. */
export function columns(given: readonly (readonly string[])[]): string[] {
  const rows = given.map((row) => row.map(shown))
  const widths = rows.reduce<number[]>(
    (all, row) => row.map((cell, index) => Math.max(all[index] ?? 0, cell.length)),
    [],
  )
  return rows.map((row) =>
    row
      .map((cell, i) => (i === row.length - 1 ? cell : cell.padEnd(widths[i] ?? 0)))
      .join('  ')
      .trimEnd(),
  )
}
