import { formatAnswerer, formatCompaction, formatCost, formatCount, formatDuration } from '../model/format.ts'
import type { SpanCategory, SpanRow } from '../model/span.ts'
import { endOf } from '../model/timing.ts'
import { buildTree, flatten, type TreeNode } from '../model/tree.ts'
import { type Sums, sumsOf } from '../model/tree-parts.ts'
import { triesOf } from '../model/tries.ts'
import { cells, fitTo, type Paint, padStart, type Style } from './paint.ts'

const STYLES: Partial<Record<SpanCategory, Style>> = {
  agent: 'magenta',
  llm: 'blue',
  embedding: 'blue',
  tool: 'cyan',
  retrieval: 'cyan',
  human: 'yellow',
  compact: 'magenta',
  step: 'dim',
}

const TIME_COLUMNS = 10
const TOKENS_COLUMNS = 14
const COST_COLUMNS = 10
const FACTS_COLUMNS = TIME_COLUMNS + TOKENS_COLUMNS + COST_COLUMNS
const MIN_COLUMNS = 70
const MAX_COLUMNS = 120
/** Deeper branches are drawn at this depth, so that they stay readable. */
const MAX_DEPTH = 12

export interface TreeTextOptions {
  paint: Paint
  width: number
  /** Up to when what has not ended took, in epoch milliseconds. */
  nowMs: number
  /** Also the gates of the process that let a call pass. */
  allGates?: boolean
}

/** The spans of one trace as a tree, under the names they have in Jaeger, with the time, tokens and cost of each. */
export function treeText(
  rows: readonly SpanRow[],
  { paint, width, nowMs, allGates }: TreeTextOptions,
): string[] {
  const root = buildTree(rows)
  if (root === undefined) return []
  if (!allGates)
    for (const node of flatten(root))
      node.children = node.children.filter((child) => !isSilentGate(child.row))
  const columns = Math.max(Math.min(width, MAX_COLUMNS), MIN_COLUMNS)
  const sums = sumsOf(root)
  const guides = guidesOf(root)
  const tries = triesOf(root)
  const titles = ' '.repeat(columns - FACTS_COLUMNS) + inColumns('time', 'tokens', 'cost')
  const lines = flatten(root).map((node) => {
    const guide = guides.get(node) ?? ''
    const { text, used } = title(node, tries.get(node), columns - FACTS_COLUMNS - cells(guide), paint)
    const gap = ' '.repeat(columns - FACTS_COLUMNS - cells(guide) - used)
    return `${paint.style('dim', guide)}${text}${gap}${facts(node, sums.get(node), paint, nowMs * 1000)}`.trimEnd()
  })
  return [paint.style('dim', titles), ...lines]
}

/** A gate of this process that let a call pass: an event, not a span, and nothing to be told of. */
function isSilentGate({ category, gates, spanId }: SpanRow): boolean {
  return category === 'gate' && spanId.includes(':') && gates?.[0]?.decision === 'proceed'
}

/** The name, what was special, and what went in, as far as there is room. */
function title(
  { row }: TreeNode,
  tries: number | undefined,
  room: number,
  paint: Paint,
): { text: string; used: number } {
  const parts: { text: string; style: Style | undefined }[] = [
    { text: paint.safe((row.category === 'step' && row.label) || row.name), style: STYLES[row.category] },
    { text: paint.safe(noteOf(row, tries)), style: row.error ? 'red' : 'yellow' },
    { text: row.category === 'tool' ? paint.safe(row.preview) : '', style: 'dim' },
  ]
  let text = ''
  let used = 0
  for (const part of parts) {
    const gap = used === 0 ? '' : '  '
    const fitted = fitTo(part.text, room - used - gap.length)
    // An ellipsis alone says nothing.
    if (cells(fitted) < Math.min(cells(part.text), 4)) continue
    if (fitted === '') continue
    text += gap + (part.style === undefined ? fitted : paint.style(part.style, fitted))
    used += gap.length + cells(fitted)
  }
  return { text, used }
}

function facts({ row }: TreeNode, sums: Sums | undefined, paint: Paint, nowUs: number): string {
  const time = padStart(formatDuration((endOf(row, nowUs) - row.startUs) / 1000), TIME_COLUMNS)
  const says = sums !== undefined && (row.category === 'llm' || row.category === 'agent')
  if (!says || sums.inputTokens + sums.outputTokens === 0) return time
  const cost = sums.costUsd === 0 ? '' : formatCost(sums.costUsd)
  const tokens = `${formatCount(sums.inputTokens)} → ${formatCount(sums.outputTokens)}`
  return `${time}${padStart(tokens, TOKENS_COLUMNS)}${paint.style('green', padStart(cost, COST_COLUMNS))}`
}

function inColumns(time: string, tokens: string, cost: string): string {
  return padStart(time, TIME_COLUMNS) + padStart(tokens, TOKENS_COLUMNS) + padStart(cost, COST_COLUMNS)
}

/** What went other than as usual. */
function noteOf(row: SpanRow, tries: number | undefined): string {
  const usual = row.outcome === '' || row.outcome === 'completed' || row.outcome === 'errored'
  const gate = row.category === 'gate' ? row.gates?.[0] : undefined
  const { human, compaction } = row
  const notes = [
    stateOf(row),
    tries === undefined ? '' : `try ${tries}`,
    row.mocked && row.outcome !== 'mocked' ? 'mocked' : '',
    usual ? '' : row.outcome,
    row.error ? `✗ ${row.errorText || 'failed'}` : '',
    gate === undefined ? '' : `${gate.enforced ? '' : 'shadow: '}${gate.decision}`,
    human?.action === undefined ? '' : `${human.action} ${formatAnswerer(human)}`.trim(),
    compaction === undefined ? '' : formatCompaction(compaction),
    row.cachedTokens === 0
      ? ''
      : `${Math.round((row.cachedTokens / Math.max(1, row.inputTokens)) * 100)}% cached`,
  ]
  return notes.filter(Boolean).join(', ')
}

function stateOf({ state, category, human }: SpanRow): string {
  if (state === 'running') return category === 'human' && !human?.action ? 'waiting' : 'running'
  return state === 'interrupted' ? 'interrupted' : ''
}

function guidesOf(root: TreeNode): Map<TreeNode, string> {
  const guides = new Map<TreeNode, string>([[root, '']])
  const stems = new Map<TreeNode, string>([[root, '']])
  for (const node of flatten(root)) {
    const stem = stems.get(node) ?? ''
    for (const [index, child] of node.children.entries()) {
      const last = index === node.children.length - 1
      guides.set(child, `${stem}${last ? '└─ ' : '├─ '}`)
      stems.set(child, child.depth >= MAX_DEPTH ? stem : `${stem}${last ? '   ' : '│  '}`)
    }
  }
  return guides
}
