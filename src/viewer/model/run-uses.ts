/** What each tool, model, agent, gate and person did in a run: what sums over many runs are made of. */
import { errorKind } from './error-kind.ts'
import { asksAndEnds } from './parked.ts'
import type { SpanRow } from './span.ts'
import type { TreeNode } from './tree.ts'

export const USE_KINDS = ['tool', 'model', 'agent', 'gate', 'human'] as const
export type UseKind = (typeof USE_KINDS)[number]

/** What is counted. Which of them a kind has is in `USE_COLUMNS`. */
export const USE_COUNTS = [
  /** Calls of a tool or a model, runs of an agent, decisions of a gate, questions that a person was asked. */
  'calls',
  /** That ended with an error; of questions, those that nobody answered in time. */
  'failed',
  /** Calls that were refused, refusals by a gate, rejections by a person. */
  'denied',
  'mocked',
  'approved',
  /** Values that a gate or a person changed. */
  'changed',
  'skipped',
  /** Gates that asked a person; questions that are open. */
  'asked',
  /** Decisions that were not enforced. None of them is among those above, except `calls`. */
  'shadow',
  'shadowDenied',
  'inputTokens',
  'outputTokens',
  'cachedTokens',
  'costUsd',
] as const
export type UseCount = (typeof USE_COUNTS)[number]

/** Which of them a kind can have: the others are 0, and need not be summed. */
export const COUNTS_OF: Readonly<Record<UseKind, readonly UseCount[]>> = {
  tool: ['calls', 'failed', 'denied', 'mocked', 'costUsd'],
  model: ['calls', 'failed', 'denied', 'mocked', 'inputTokens', 'outputTokens', 'cachedTokens', 'costUsd'],
  agent: ['calls', 'failed', 'denied', 'inputTokens', 'outputTokens', 'costUsd'],
  gate: ['calls', 'failed', 'denied', 'changed', 'skipped', 'asked', 'shadow', 'shadowDenied'],
  human: ['calls', 'failed', 'denied', 'approved', 'changed', 'asked'],
}

export interface RunUse extends Record<UseCount, number> {
  kind: UseKind
  name: string
  /** Of calls that were made: not refused, not mocked, ended. How long people took to answer. */
  durationsMs: number[]
  /** How often it failed, or refused, by the kind of the message: see `errorKind`. */
  errors: Map<string, number>
}

export interface UseSum extends Record<UseCount, number> {
  name: string
  /** How many runs it occurs in. */
  runs: number
  /** By nearest rank; absent when no call tells how long it took. */
  durationMs?: { p50: number; p95: number }
  /** The most frequent kind of them, and in how many runs. */
  topError?: { text: string; count: number; runs: number }
}

/** Sums over the runs of a query. */
export interface UseSums {
  kind: UseKind
  /** Those with most calls first; no more than `MOST_NAMES`. */
  uses: UseSum[]
  /** How many there are. */
  names: number
  /** Runs of which spans came that are not in the sums yet. */
  pending: number
  /** When words were searched for: spans that were not. */
  indexing: number
}

export const MOST_NAMES = 1_000
/** Of one kind, in one run; what there is more of comes under `OTHERS`. */
const NAMES_PER_RUN = 500
const OTHERS = '(others)'
/** Questions that nobody answered. */
const NOBODY = 'nobody'
/** Of what failed, or refused, without saying why. */
export const NO_MESSAGE = 'no message'
const NAME_CHARS = 200
const ERRORS_PER_USE = 20

/** `nodes`: the run's tree; `once`: those of them that tell of a call for the first time. */
export function usesOf(
  nodes: readonly TreeNode[],
  once: readonly TreeNode[],
  reasonOf: (spanId: string) => string,
): RunUse[] {
  const uses = new Uses()
  const calls = once.filter(({ row }) => row.category === 'llm' || row.category === 'embedding')
  for (const { row } of calls) addCall(uses.of('model', row.label), row)
  spendInside(uses, nodes, calls)
  for (const { row } of once) {
    if (row.category === 'tool') addCall(uses.of('tool', row.label), row)
    else if (row.category === 'agent') addAgent(uses.of('agent', row.label), row, reasonOf(row.spanId))
    else if (row.category === 'gate') addDecision(uses.of('gate', row.label), row)
    else if (row.category === 'human') addAnswer(uses.of('human', whoAnswered(row)), row)
  }
  return uses.all()
}

/** What a call of a model used is told of the agent and of the tool that it was made in, of the nearest of each. */
function spendInside(uses: Uses, nodes: readonly TreeNode[], calls: readonly TreeNode[]): void {
  const around: TreeNode[] = []
  // Both are in the order of the tree.
  let next = 0
  for (const node of nodes) {
    while (around.length > 0 && around.at(-1)!.depth >= node.depth) around.pop()
    if (node === calls[next]) {
      next++
      for (const kind of ['agent', 'tool'] as const) {
        const inside = around.findLast(({ row }) => row.category === kind)
        if (inside) spend(uses.of(kind, inside.row.label), node.row)
      }
    }
    if (node.row.category === 'agent' || node.row.category === 'tool') around.push(node)
  }
}

function spend(use: RunUse, { inputTokens, outputTokens, costUsd }: SpanRow): void {
  use.inputTokens += inputTokens
  use.outputTokens += outputTokens
  use.costUsd += costUsd
}

function addCall(use: RunUse, row: SpanRow): void {
  const refused = row.outcome === 'denied' || row.outcome === 'rejected'
  use.calls++
  use.inputTokens += row.inputTokens
  use.outputTokens += row.outputTokens
  use.cachedTokens += row.cachedTokens
  use.costUsd += row.costUsd
  if (row.mocked) use.mocked++
  if (refused) use.denied++
  else if (row.error || row.outcome === 'errored') fail(use, row.errorText)
  if (!refused && !row.mocked && !asksAndEnds(row)) took(use, row)
}

function addAgent(use: RunUse, row: SpanRow, reason: string): void {
  use.calls++
  if (reason === 'denied') use.denied++
  else if (row.error || reason === 'error') fail(use, row.errorText)
  took(use, row)
}

function addDecision(use: RunUse, row: SpanRow): void {
  const gate = row.gates?.at(-1)
  use.calls++
  if (gate?.durationMs === undefined) took(use, row)
  else use.durationsMs.push(gate.durationMs)
  if (!gate) {
    if (row.error) fail(use, row.errorText)
    return
  }
  const denies = gate.decision === 'deny'
  if (denies) tell(use, gate.reason || gate.code || NO_MESSAGE)
  if (!gate.enforced) {
    use.shadow++
    if (denies) use.shadowDenied++
  } else if (denies) use.denied++
  else if (gate.decision === 'mutate') use.changed++
  else if (gate.decision === 'skip') use.skipped++
  else if (gate.decision === 'require_approval') use.asked++
}

const ANSWERS = /^(approve|edit|reject)/

/** One who gives no name has answered all the same; what a run refused by itself, as it ended, has nobody. */
function whoAnswered({ human, error }: SpanRow): string {
  if (human?.approver) return human.approver
  return !error && ANSWERS.test(human?.action ?? '') ? '' : NOBODY
}

function addAnswer(use: RunUse, row: SpanRow): void {
  const action = row.human?.action ?? ''
  use.calls++
  // What ended without an answer was parked: it waits for one elsewhere.
  const isOpen = row.state === 'running' || (row.state === 'ended' && !action && !row.error)
  if (isOpen) use.asked++
  else if (row.error) fail(use, row.errorText || action)
  else if (action === 'approve') use.approved++
  else if (action === 'edit') use.changed++
  else if (action.startsWith('reject')) use.denied++
  else fail(use, row.errorText || action)
  if (row.human?.waitedMs !== undefined) use.durationsMs.push(row.human.waitedMs)
  else if (!isOpen) took(use, row)
}

function took(use: RunUse, row: SpanRow): void {
  if (row.endUs > 0) use.durationsMs.push((row.endUs - row.startUs) / 1000)
}

function fail(use: RunUse, text: string): void {
  use.failed++
  tell(use, text || NO_MESSAGE)
}

function tell(use: RunUse, given: string): void {
  const text = errorKind(given)
  const count = use.errors.get(text)
  if (count !== undefined || use.errors.size < ERRORS_PER_USE) use.errors.set(text, (count ?? 0) + 1)
}

class Uses {
  readonly #byKind = new Map<UseKind, Map<string, RunUse>>()

  of(kind: UseKind, given: string): RunUse {
    let byName = this.#byKind.get(kind)
    if (!byName) {
      byName = new Map()
      this.#byKind.set(kind, byName)
    }
    // As it is kept, which is in UTF-8: names that differ only in halves of characters are one there.
    const asked = given.slice(0, NAME_CHARS).toWellFormed() || 'unnamed'
    const known = byName.get(asked)
    if (known) return known
    const name = byName.size < NAMES_PER_RUN ? asked : OTHERS
    const use = byName.get(name) ?? newUse(kind, name)
    byName.set(name, use)
    return use
  }

  all(): RunUse[] {
    return [...this.#byKind.values()].flatMap((byName) => [...byName.values()])
  }
}

function newUse(kind: UseKind, name: string): RunUse {
  // What is spread first is copied at once, and not name by name.
  return { ...NO_COUNTS, kind, name, durationsMs: [], errors: new Map() }
}

const NO_COUNTS = Object.fromEntries(USE_COUNTS.map((count) => [count, 0])) as Record<UseCount, number>

export function noCounts(): Record<UseCount, number> {
  return { ...NO_COUNTS }
}
