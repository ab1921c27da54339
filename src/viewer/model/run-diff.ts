/** Two runs side by side: aligned by what they did, with what differs in each pair. */

import { modelCall, toolCallFacts } from './call-content.ts'
import { finish, type InTurns } from './in-turns.ts'
import { type Message, messageText, textOf } from './messages.ts'
import { rowTitle } from './row-title.ts'
import type { AttributeValue, RunSummary, SpanRecord, SpanRow } from './span.ts'
import { type DiffLine, diffLines } from './text-diff.ts'
import { durationMs } from './timing.ts'
import { summaryNodes } from './tree-parts.ts'

export interface DiffSide {
  summary: RunSummary
  rows: readonly SpanRow[]
  open: (spanId: string) => SpanRecord | undefined
}

export interface DiffUnit {
  spanId: string
  category: SpanRow['category']
  label: string
  preview: string
  durationMs: number
  tokens: number
  costUsd: number
  error: boolean
  mocked: boolean
  outcome: string
}

export interface DiffChange {
  what: 'prompt' | 'arguments' | 'result' | 'answer' | 'outcome' | 'error' | 'tools'
  lines: DiffLine[]
}

export interface DiffRow {
  kind: 'same' | 'changed' | 'added' | 'removed'
  a?: DiffUnit
  b?: DiffUnit
  changes: DiffChange[]
}

export interface RunDiff {
  a: RunSummary
  b: RunSummary
  rows: DiffRow[]
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

export function diffRuns(a: DiffSide, b: DiffSide): RunDiff {
  return finish(diffing(a, b))
}

/** `diffRuns`, giving way to others now and then. */
export function* diffing(a: DiffSide, b: DiffSide): InTurns<RunDiff> {
  const pairs = yield* align(yield* unitsOf(a), yield* unitsOf(b))
  const rows: DiffRow[] = []
  for (const [left, right] of pairs) {
    yield
    if (!left) rows.push({ kind: 'added', b: right!, changes: [] })
    else if (!right) rows.push({ kind: 'removed', a: left, changes: [] })
    else {
      const changes = changesOf(left, right, a.open(left.spanId), b.open(right.spanId))
      rows.push({ kind: changes.length > 0 ? 'changed' : 'same', a: left, b: right, changes })
    }
  }
  const count = (kind: DiffRow['kind']) => rows.filter((row) => row.kind === kind).length
  return {
    a: a.summary,
    b: b.summary,
    rows,
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
    }))
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

function changesOf(
  a: DiffUnit,
  b: DiffUnit,
  spanA: SpanRecord | undefined,
  spanB: SpanRecord | undefined,
): DiffChange[] {
  const changes: DiffChange[] = []
  const compare = (what: DiffChange['what'], before: string, after: string) => {
    if (before !== after) changes.push({ what, lines: diffLines(before, after) })
  }
  compare('outcome', a.outcome, b.outcome)
  if (!spanA || !spanB) return changes
  if (a.category === 'llm') {
    const callA = modelCall(spanA)
    const callB = modelCall(spanB)
    if (a.label !== b.label) compare('prompt', `model: ${a.label}`, `model: ${b.label}`)
    compare('prompt', transcript(callA.input), transcript(callB.input))
    compare(
      'tools',
      pretty(callA.tools.map((tool) => tool.value)),
      pretty(callB.tools.map((tool) => tool.value)),
    )
    compare('answer', transcript(callA.output), transcript(callB.output))
  } else if (a.category === 'tool') {
    const factsA = toolCallFacts(spanA)
    const factsB = toolCallFacts(spanB)
    compare('arguments', pretty(factsA.args), pretty(factsB.args))
    compare('result', pretty(factsA.result), pretty(factsB.result))
    compare('error', factsA.error, factsB.error)
  }
  return changes
}

/** Ids are left out: they differ between any two runs and mean nothing. */
function transcript(messages: Message[]): string {
  const parts = messages.map((message) => {
    const said = message.parts.map((part) => {
      if (part.type === 'tool_call') return `→ ${part.name}(${pretty(part.arguments)})`
      if (part.type === 'tool_result') return `← ${textOf(part.result)}`
      return ''
    })
    return [`[${message.role}]`, messageText(message), ...said].filter(Boolean).join('\n')
  })
  return parts.join('\n')
}

function pretty(value: AttributeValue): string {
  return typeof value === 'string' ? value : value === null ? '' : JSON.stringify(value, null, 2)
}
