/** What each tool, model, agent, gate or person did in the runs of a query, as a table. */
import { counted, formatWhole } from '../model/format.ts'
import type { UseSum, UseSums } from '../model/run-uses.ts'
import { USE_COLUMNS, USE_WORDS } from '../model/use-columns.ts'
import { cells, type Paint, padEnd, padStart } from './paint.ts'

export function usesText(
  { kind, uses, names, pending, indexing }: UseSums,
  { paint, width, limit }: { paint: Paint; width: number; limit: number },
): string {
  const { one, all, error } = USE_WORDS[kind]
  const shown = uses.slice(0, limit)
  const rest = [
    ...(names > shown.length ? [`… ${formatWhole(names - shown.length)} more`] : []),
    ...(pending > 0 ? [`… ${counted(pending, 'run')} not summed yet`] : []),
    ...(indexing > 0 ? [`… ${counted(indexing, 'span')} not searched yet`] : []),
  ]
  if (shown.length === 0) return [`No ${all.toLowerCase()} in these runs.`, ...rest].join('\n')
  const columns = USE_COLUMNS[kind]
  const textOf = (use: UseSum, column: (typeof columns)[number]) => {
    const note = column.note?.(use)
    return note ? `${column.text(use)} (${note})` : column.text(use)
  }
  const labels = shown.map((use) => paint.safe(use.name, 32))
  const texts = shown.map((use) => columns.map((column) => textOf(use, column)))
  const nameWidth = Math.max(one.length, ...labels.map(cells))
  const widths = columns.map(({ head }, at) => Math.max(head.length, ...texts.map((row) => row[at]!.length)))
  const taken = nameWidth + widths.reduce((sum, each) => sum + each + 2, 2)
  const lines = [
    paint.style(
      'dim',
      [
        padEnd(one.toUpperCase(), nameWidth),
        ...columns.map(({ head }, at) => padStart(head.toUpperCase(), widths[at]!)),
        error.toUpperCase(),
      ].join('  '),
    ),
    ...shown.map((use, index) => {
      const numbers = columns.map((column, at) => {
        const text = padStart(texts[index]![at]!, widths[at]!)
        return column.isBad && column.value(use) > 0 ? paint.style('red', text) : text
      })
      const top = use.topError
        ? paint.safe(`${use.topError.count}× ${use.topError.text}`, Math.max(20, width - taken))
        : ''
      return [paint.style('bold', padEnd(labels[index]!, nameWidth)), ...numbers, top].join('  ').trimEnd()
    }),
  ]
  return [...lines, ...rest].join('\n')
}
