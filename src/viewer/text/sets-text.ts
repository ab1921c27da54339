/** The runs of two queries against each other, as a table. */
import { counted, formatWhole } from '../model/format.ts'
import { MEASURE_WORDS, type SetDiff, type SetMeasure, signed, verdictOf } from '../model/set-diff.ts'
import { type Paint, padEnd, padStart } from './paint.ts'

export function setsText({ a, b, measures, indexing }: SetDiff, paint: Paint): string {
  const heads = ['OF THE RUNS THAT ENDED', `A (${formatWhole(a.ended)})`, `B (${formatWhole(b.ended)})`]
  const table = [[...heads, 'B LESS A', '95 % BETWEEN'], ...measures.map(cellsOf)]
  const widths = table[0]!.map((_head, at) => Math.max(...table.map((row) => row[at]!.length)))
  const lines = table.map((row, index) => {
    const text = row.map((cell, at) => (at === 0 ? padEnd : padStart)(cell, widths[at]!)).join('  ')
    if (index === 0) return paint.style('dim', text)
    const verdict = verdictOf(measures[index - 1]!)
    return verdict === 'unclear' ? text : paint.style(verdict === 'more' ? 'red' : 'green', text)
  })
  return [
    ...lines,
    'An interval that holds zero does not show a difference.',
    ...(indexing > 0 ? [`… ${counted(indexing, 'span')} not searched yet`] : []),
  ].join('\n')
}

function cellsOf({ key, a, b, difference }: SetMeasure): string[] {
  const { name, format } = MEASURE_WORDS[key]
  return [
    name,
    a === undefined ? '–' : format(a),
    b === undefined ? '–' : format(b),
    difference ? signed(key, difference.value) : '–',
    difference ? `${signed(key, difference.low)} to ${signed(key, difference.high)}` : 'too few runs',
  ]
}
