import { badEnd, type DiffUnit } from '../model/diff-changes.ts'
import { formatCost, formatCount, formatDuration, statusWord, visibleText } from '../model/format.ts'
import { divergenceAt, type RunDiff, wordsOf } from '../model/run-diff.ts'
import type { RunSummary } from '../model/span.ts'
import { charsThatTell } from './chars-that-tell.ts'
import type { Paint } from './paint.ts'

/** Two runs as one aligned list; what is the same is one line, what differs says how. */
export function diffText(diff: RunDiff, paint: Paint): string {
  const chars = charsThatTell([diff.a.traceId, diff.b.traceId])
  const lines = [
    `${paint.style('red', '- A')} ${side(diff.a, chars, paint)}`,
    `${paint.style('green', '+ B')} ${side(diff.b, chars, paint)}`,
    `${diff.same} the same, ${diff.changed} changed, ${diff.removed} only in A, ${diff.added} only in B`,
    '',
  ]
  const parting = divergenceAt(diff.rows)
  for (const [at, row] of diff.rows.entries()) {
    if (at === parting) lines.push(paint.style('bold', `  diverges here: ${wordsOf(row).join(', ')}`))
    if (row.kind === 'added') lines.push(paint.style('green', `+ ${unit(row.b!, paint)}`))
    else if (row.kind === 'removed') lines.push(paint.style('red', `- ${unit(row.a!, paint)}`))
    else
      lines.push(
        row.kind === 'same'
          ? paint.style('dim', `  ${unit(row.a!, paint)}`)
          : paint.style('yellow', `~ ${unit(row.a!, paint)}`),
      )
    for (const change of row.changes) {
      if (change.inherited) {
        lines.push(paint.style('dim', `    ${change.what}: differs by what was said before`))
        continue
      }
      lines.push(`    ${change.what}:`)
      for (const line of change.lines) {
        const text = visibleText(line.text.slice(0, 400)).replaceAll('\t', '  ')
        lines.push(
          line.kind === 'added'
            ? paint.style('green', `    + ${text}`)
            : line.kind === 'removed'
              ? paint.style('red', `    - ${text}`)
              : paint.style('dim', `      ${text}`),
        )
      }
    }
  }
  return lines.join('\n')
}

function side(run: RunSummary, idChars: number, paint: Paint): string {
  return `${run.traceId.slice(0, idChars)} ${paint.safe(run.title, 40)}  ${statusWord(run.status)}, ${formatDuration(run.durationMs)}, ${formatCount(run.inputTokens + run.outputTokens)} tokens, ${formatCost(run.costUsd)}, ${run.llmCalls}+${run.toolCalls} calls`
}

function unit(of: DiffUnit, paint: Paint): string {
  const end = badEnd(of)
  const preview = of.category === 'tool' ? `(${paint.safe(of.preview, 80)})` : ''
  return `${of.category} ${paint.safe(of.label, 40)}${preview}  ${formatDuration(of.durationMs)}${of.mocked ? ' mocked' : ''}${end && ` ${end}`}`
}
