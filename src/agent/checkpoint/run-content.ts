import type { ParkedOperation } from '../../dispatcher/index.ts'
import { type LoopState, RUN_STATE_VERSION, type SavedRun } from '../run-state.ts'
import { type CheckpointRecord, invalidCheckpoint, wayTo } from './record.ts'
import { type RunContent, RunDocument } from './run-document.ts'

const OPERATION = 'operation.'
const SUMS = 'operation.tree.sums'
const MEMORY = 'operation.tree.state.'
const LOOP = 'loop.'

/** A run, without those of its sub-agents, as it is written down. Sums and memory of the tree are written with its root. */
export function contentOf(run: SavedRun, isRoot: boolean): RunContent {
  const { schema: _s, version: _v, children: _c, pendingApprovals: _p, operation, loop, ...fields } = run
  const { waiting = [], tree, ...rest } = operation
  const { messages, context, ...turn } = loop
  return {
    fields: {
      ...fields,
      ...named(OPERATION, rest),
      ...(isRoot && tree !== undefined && { [SUMS]: tree.sums, ...named(MEMORY, tree.state) }),
      ...named(LOOP, turn),
    },
    messages,
    context,
    calls: waiting,
  }
}

function named(start: string, fields: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [`${start}${name}`, value]))
}

/** What a run's records come to: its documents, by the way to each. */
export function documentsOf(records: readonly CheckpointRecord[]): Map<string, RunDocument> {
  const documents = new Map<string, RunDocument>()
  for (const { runs } of records) {
    for (const [way, change] of Object.entries(runs)) {
      if (change === null) {
        documents.delete(way)
        continue
      }
      const document = documents.get(way) ?? new RunDocument()
      document.apply(change)
      documents.set(way, document)
    }
  }
  return documents
}

/** The run to go on with. @throws HookspanError `INVALID_STATE` for what is not whole. */
export function savedRunOf(documents: ReadonlyMap<string, RunDocument>): SavedRun {
  return savedAt([], documents)
}

function savedAt(keys: readonly string[], documents: ReadonlyMap<string, RunDocument>): SavedRun {
  const document = documents.get(wayTo(keys))
  if (document === undefined) throw invalidCheckpoint('the run itself is missing')
  const { fields, messages, context, calls } = document.content
  const children: Record<string, SavedRun> = {}
  for (const way of documents.keys()) {
    const other = JSON.parse(way) as string[]
    const key = other[keys.length]
    if (other.length === keys.length + 1 && key !== undefined && keys.every((one, i) => one === other[i])) {
      children[key] = savedAt(other, documents)
    }
  }
  const operation: Record<string, unknown> = {}
  const memory: Record<string, unknown> = {}
  const loop: Record<string, unknown> = {}
  const own: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(fields)) {
    if (name === SUMS) continue
    if (name.startsWith(MEMORY)) memory[name.slice(MEMORY.length)] = value
    else if (name.startsWith(OPERATION)) operation[name.slice(OPERATION.length)] = value
    else if (name.startsWith(LOOP)) loop[name.slice(LOOP.length)] = value
    else own[name] = value
  }
  const sums = fields[SUMS]
  const asked = calls.flatMap(({ request }) => request ?? [])
  const saved = {
    schema: 'hookspan.run',
    version: RUN_STATE_VERSION,
    ...own,
    operation: { ...operation, waiting: calls, ...(sums !== undefined && { tree: { sums, state: memory } }) },
    loop: { ...loop, messages, context },
    children,
    pendingApprovals: [...asked, ...Object.values(children).flatMap((child) => child.pendingApprovals)],
  }
  return checked(
    saved as unknown as SavedRun,
    keys.length === 0 ? 'the run' : `the run of ${keys.join(' > ')}`,
  )
}

function checked(saved: SavedRun, whose: string): SavedRun {
  const { operationId, sequence, stepIndex, totals } = saved.operation as Partial<ParkedOperation>
  const { pending, told, steps } = saved.loop as Partial<LoopState>
  const parts = {
    agentName: typeof saved.agentName === 'string',
    hookIds: Array.isArray(saved.hookIds),
    spending: typeof saved.spending === 'object',
    operationId: typeof operationId === 'string',
    sequence: Number.isInteger(sequence),
    stepIndex: Number.isInteger(stepIndex),
    totals: typeof totals === 'object',
    pending: Array.isArray(pending),
    told: Array.isArray(told),
    steps: Number.isInteger(steps),
  }
  const missing = Object.entries(parts).find(([, there]) => !there)?.[0]
  if (missing !== undefined) throw invalidCheckpoint(`${whose} has no \`${missing}\``)
  return saved
}
