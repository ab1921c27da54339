/** Several runs of one case, act by act: what each did in order, and where they part. */
import { statusWord } from './format.ts'
import { finish, type InTurns } from './in-turns.ts'
import { rowTitle } from './row-title.ts'
import { type DiffSide, lastWordsOf } from './run-diff.ts'
import type { RunSummary, SpanCategory, SpanRow } from './span.ts'
import { summaryNodes } from './tree-parts.ts'

export interface Act {
  category: SpanCategory | 'end'
  /** The tool, the agent, or how the run ended. */
  label: string
  /** What it was given; at the end, the answer. */
  preview: string
  spanId: string
  bad: boolean
  /** It is bad, and was not done: a gate or a person refused. */
  refused: boolean
  mocked: boolean
}

export interface RunActs {
  run: RunSummary
  acts: Act[]
  /** There are more than are told. */
  isCut: boolean
}

/** A branch of all runs that did the same until here. */
export interface Branch {
  act: Act
  /** Of the runs, in the order of the columns. */
  runs: number[]
  /** In how many of them it failed or was refused: that it did is no other act. */
  bad: number
  /** Of these, in how many it was refused. */
  refused: number
  /** In how many of them it was mocked. */
  mocked: number
  next: Branch[]
}

/** Of one run; more help nobody to see where runs part. */
const MAX_ACTS = 500
const ACTS: ReadonlySet<SpanCategory> = new Set(['tool', 'human', 'compact', 'retrieval', 'agent'])

export function actsOf(side: DiffSide): RunActs {
  return finish(readingActs(side))
}

/** `actsOf`, giving way to others now and then. */
export function* readingActs({ summary, rows, open }: DiffSide): InTurns<RunActs> {
  const nodes = yield* summaryNodes(rows)
  const acts = nodes
    .filter((node) => ACTS.has(node.row.category) && node !== nodes[0])
    .map(({ row }): Act => actOf(row))
  const end: Act = {
    category: 'end',
    label: summary.reason || statusWord(summary.status),
    preview: lastWordsOf(
      nodes.map(({ row }) => row),
      open,
    ).slice(0, 2_000),
    spanId: nodes[0]?.row.spanId ?? '',
    bad: summary.status === 'failed' || summary.status === 'denied' || summary.status === 'interrupted',
    refused: summary.status === 'denied',
    mocked: false,
  }
  return { run: summary, acts: [...acts.slice(0, MAX_ACTS), end], isCut: acts.length > MAX_ACTS }
}

function actOf(row: SpanRow): Act {
  const refused = row.outcome === 'denied' || row.outcome === 'rejected'
  return {
    category: row.category,
    label: row.category === 'human' ? `Approval: ${row.human?.action ?? 'asked'}` : rowTitle(row),
    preview: row.preview,
    spanId: row.spanId,
    bad: row.error || refused,
    refused,
    mocked: row.mocked,
  }
}

/**
 * The runs as branches: together as long as they did the same. With `exactly`, the same arguments, too. The branch of most
 * runs comes first.
 */
export function branchesOf(all: readonly RunActs[], exactly: boolean): Branch[] {
  const keyOf = ({ category, label, preview, bad }: Act) =>
    JSON.stringify([category, label, exactly && category !== 'end' ? preview : '', category === 'end' && bad])
  const first: Branch[] = []
  let open: { runs: number[]; into: Branch[] }[] = [{ runs: all.map((_, at) => at), into: first }]
  // By depth, not recursive: a run may have hundreds of acts.
  for (let at = 0; open.length > 0; at++) {
    const further: typeof open = []
    for (const { runs, into } of open) {
      const groups = new Map<string, Branch>()
      for (const run of runs) {
        const act = all[run]!.acts[at]
        if (!act) continue
        const key = keyOf(act)
        const branch = groups.get(key) ?? { act, runs: [], bad: 0, refused: 0, mocked: 0, next: [] }
        branch.runs.push(run)
        if (act.bad) branch.bad++
        if (act.refused) branch.refused++
        if (act.mocked) branch.mocked++
        groups.set(key, branch)
      }
      into.push(...[...groups.values()].sort((a, b) => b.runs.length - a.runs.length))
      for (const branch of into) further.push({ runs: branch.runs, into: branch.next })
    }
    open = further
  }
  return first
}

export interface Cell {
  branch: Branch
  /** The first of the columns it takes. */
  from: number
  /** Further down its runs go on apart. */
  parts: boolean
}

/** As a table: columns in an order in which branches are together, and a row for each act. */
export function tableOf(branches: readonly Branch[]): { order: number[]; rows: Cell[][] } {
  const order: number[] = []
  const rows: Cell[][] = []
  // Depth first, so that what is together stands together; the leaves give the columns.
  const stack = branches.map((branch) => ({ branch, depth: 0 })).reverse()
  const placed: { branch: Branch; depth: number }[] = []
  for (let item = stack.pop(); item; item = stack.pop()) {
    placed.push(item)
    const { branch, depth } = item
    for (const next of branch.next.toReversed()) stack.push({ branch: next, depth: depth + 1 })
    if (branch.next.length === 0) order.push(...branch.runs)
  }
  const columnOf = new Map(order.map((run, column) => [run, column]))
  for (const { branch, depth } of placed) {
    rows[depth] ??= []
    const from = Math.min(...branch.runs.map((run) => columnOf.get(run)!))
    rows[depth].push({ branch, from, parts: branch.next.length > 1 })
  }
  return { order, rows }
}
