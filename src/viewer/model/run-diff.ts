/** Two runs side by side: aligned by what they did, with what differs in each pair. */

import { modelCall, toolCallFacts } from './call-content.ts'
import { Brought, changesOf, type DiffChange, type DiffUnit } from './diff-changes.ts'
import { finish, type InTurns } from './in-turns.ts'
import { beginningOf, TEXT_LIMIT } from './message-pieces.ts'
import { messageText, textOf } from './messages.ts'
import { rowTitle } from './row-title.ts'
import type { RunSummary, SpanRecord, SpanRow } from './span.ts'
import { durationMs } from './timing.ts'
import { summaryNodes } from './tree-parts.ts'

export interface DiffSide {
  summary: RunSummary
  rows: readonly SpanRow[]
  open: (spanId: string) => SpanRecord | undefined
}

export interface DiffRow {
  kind: 'same' | 'changed' | 'added' | 'removed'
  a?: DiffUnit
  b?: DiffUnit
  changes: DiffChange[]
  /** The other run did it, too, in another place. */
  moved?: boolean
}

export interface RunDiff {
  a: RunSummary
  b: RunSummary
  rows: DiffRow[]
  /** What each run said at its end. */
  answers: { a: string; b: string }
  same: number
  changed: number
  added: number
  removed: number
}

const COMPARED = new Set<SpanRow['category']>([
  'agent',
  'llm',
  'tool',
  'human',
  'compact',
  'retrieval',
  'embedding',
])
/** Above this product of lengths the table would not fit; then only the same place in the sequence is compared. */
const MAX_CELLS = 9_000_000
const PREVIEW_CHARS = 160

export function diffRuns(a: DiffSide, b: DiffSide): RunDiff {
  return finish(diffing(a, b))
}

/** `diffRuns`, giving way to others now and then. */
export function* diffing(a: DiffSide, b: DiffSide): InTurns<RunDiff> {
  const pairs = yield* align(yield* unitsOf(a), yield* unitsOf(b))
  const rows: DiffRow[] = []
  const brought = { a: new Brought(), b: new Brought() }
  for (const [left, right] of pairs) {
    yield
    const spanA = left && a.open(left.spanId)
    const spanB = right && b.open(right.spanId)
    if (left) left.reply = replyOf(spanA, left.category)
    if (right) right.reply = replyOf(spanB, right.category)
    if (!left) rows.push({ kind: 'added', b: right!, changes: [] })
    else if (!right) rows.push({ kind: 'removed', a: left, changes: [] })
    else {
      const changes = changesOf({ a: left, b: right, spanA, spanB }, brought.a, brought.b)
      rows.push({ kind: changes.length > 0 ? 'changed' : 'same', a: left, b: right, changes })
    }
    brought.a.add(spanA, left?.category ?? 'other')
    brought.b.add(spanB, right?.category ?? 'other')
  }
  markMoved(rows)
  const count = (kind: DiffRow['kind']) => rows.filter((row) => row.kind === kind).length
  return {
    a: a.summary,
    b: b.summary,
    rows,
    answers: {
      a: lastWordsOf(
        pairs.flatMap(([left]) => left ?? []),
        a.open,
      ),
      b: lastWordsOf(
        pairs.flatMap(([, right]) => right ?? []),
        b.open,
      ),
    },
    same: count('same'),
    changed: count('changed'),
    added: count('added'),
    removed: count('removed'),
  }
}

function* unitsOf(side: DiffSide): InTurns<DiffUnit[]> {
  const nodes = yield* summaryNodes(side.rows)
  return nodes
    .filter((node) => COMPARED.has(node.row.category))
    .map(({ row }) => ({
      spanId: row.spanId,
      category: row.category,
      label: rowTitle(row),
      preview: row.preview,
      durationMs: durationMs(row),
      tokens: row.inputTokens + row.outputTokens,
      costUsd: row.costUsd,
      error: row.error,
      mocked: row.mocked,
      outcome: row.outcome,
      reply: '',
    }))
}

function replyOf(span: SpanRecord | undefined, category: DiffUnit['category']): string {
  if (!span) return ''
  if (category === 'tool') return line(textOf(toolCallFacts(span).result))
  if (category !== 'llm') return ''
  const { output } = modelCall(span)
  const said = output.map(messageText).filter(Boolean).join(' ')
  const calls = output.flatMap(({ parts }) =>
    parts.flatMap((part) => (part.type === 'tool_call' ? [part.name] : [])),
  )
  return line([said, ...calls.map((name) => `→ ${name}`)].filter(Boolean).join(' '))
}

const line = (text: string): string =>
  text
    .slice(0, 2 * PREVIEW_CHARS)
    .replace(/\s+/g, ' ')
    .slice(0, PREVIEW_CHARS)

/** The last thing that a model said in words. */
export function lastWordsOf(
  spans: readonly Pick<SpanRow, 'spanId' | 'category'>[],
  open: DiffSide['open'],
): string {
  for (const { spanId, category } of spans.toReversed()) {
    const span = category === 'llm' ? open(spanId) : undefined
    const text = span ? modelCall(span).output.map(messageText).filter(Boolean).join('\n') : ''
    if (text) return beginningOf(text, TEXT_LIMIT)
  }
  return ''
}

/** The alignment with the most in common: the same kind and name weigh most, the same arguments decide between equals. */
function* align(a: DiffUnit[], b: DiffUnit[]): InTurns<[DiffUnit | undefined, DiffUnit | undefined][]> {
  if (a.length * b.length > MAX_CELLS) {
    return Array.from({ length: Math.max(a.length, b.length) }, (_, index) => [a[index], b[index]])
  }
  const width = b.length + 1
  const table = new Uint32Array((a.length + 1) * width)
  for (let i = a.length - 1; i >= 0; i--) {
    yield
    for (let j = b.length - 1; j >= 0; j--) {
      const skip = Math.max(table[(i + 1) * width + j]!, table[i * width + j + 1]!)
      const score = likeness(a[i]!, b[j]!)
      table[i * width + j] = score > 0 ? Math.max(skip, table[(i + 1) * width + j + 1]! + score) : skip
    }
  }
  const pairs: [DiffUnit | undefined, DiffUnit | undefined][] = []
  let i = 0
  let j = 0
  while (i < a.length && j < b.length) {
    const here = table[i * width + j]!
    const score = likeness(a[i]!, b[j]!)
    if (score > 0 && here === table[(i + 1) * width + j + 1]! + score) pairs.push([a[i++], b[j++]])
    else if (here === table[(i + 1) * width + j]!) pairs.push([a[i++], undefined])
    else pairs.push([undefined, b[j++]])
  }
  while (i < a.length) pairs.push([a[i++], undefined])
  while (j < b.length) pairs.push([undefined, b[j++]])
  return pairs
}

function likeness(a: DiffUnit, b: DiffUnit): number {
  if (a.category !== b.category) return 0
  // Another model in the same place is the same call with a difference; another tool is another call.
  if (a.label !== b.label) return a.category === 'llm' ? 2 : 0
  return a.preview === b.preview ? 4 : 3
}

/** What was done in both runs, with the same arguments, in another place. */
function markMoved(rows: DiffRow[]): void {
  const keyOf = ({ category, label, preview }: DiffUnit) => JSON.stringify([category, label, preview])
  const added = new Map<string, DiffRow[]>()
  for (const row of rows) {
    if (row.kind !== 'added') continue
    const key = keyOf(row.b!)
    added.set(key, [...(added.get(key) ?? []), row])
  }
  for (const row of rows) {
    // One call of a model is as good as another.
    if (row.kind !== 'removed' || row.a!.category === 'llm') continue
    const other = added.get(keyOf(row.a!))?.shift()
    if (other) row.moved = other.moved = true
  }
}

/**
 * The first row in which the runs part: what only one of them did, or what differs by more than `noise` and is not brought
 * along from before. -1 when there is none.
 */
export function divergenceAt(rows: readonly DiffRow[], noise = 0): number {
  return rows.findIndex((row) => isDifference(row, noise))
}

export function isDifference({ kind, changes }: DiffRow, noise: number): boolean {
  if (kind === 'added' || kind === 'removed') return true
  return changes.some(({ inherited, difference }) => !inherited && (noise === 0 || difference > noise))
}

/** What it comes to, in a word for each thing. */
export function wordsOf({ kind, moved, changes }: DiffRow): string[] {
  if (moved) return ['order']
  if (kind === 'added' || kind === 'removed') return [kind === 'added' ? 'only in B' : 'only in A']
  return [...new Set(changes.filter(({ inherited }) => !inherited).map(({ what }) => what))]
}
