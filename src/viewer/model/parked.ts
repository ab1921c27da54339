/** A call that was parked for a human is told by two spans, or more: the one that asked, and the one that went on with it. */
import type { SpanRow } from './span.ts'

/** As the tree has it, which is built by this. */
interface Told {
  row: SpanRow
  readonly children: readonly Told[]
}

/** The outcome of a row that another one goes on with: its part of the call is over, and what came of it stands there. */
export const PARKED = 'parked'

export function isParked({ row }: Told): boolean {
  return row.outcome === PARKED
}

/** A call that asks a human, as its span says. Nothing says so of most runs. */
export function asksAndEnds(row: SpanRow): boolean {
  return row.category === 'tool' && row.outcome === 'waiting' && row.state === 'ended'
}

/** Marks the calls that were gone on with, the questions in them, and the steps that were begun anew for them. */
export function markParked(root: Told): void {
  interface Place {
    node: Told
    /** The agent that calls, and what is around the node in it. */
    agent: Told
    around: readonly Told[]
  }
  const later = new Map<Told, Set<string>>()
  const places: Place[] = []
  const stack: Place[] = [{ node: root, agent: root, around: [] }]
  for (let place = stack.pop(); place; place = stack.pop()) {
    const { node } = place
    if (node.row.category === 'tool') places.push(place)
    const agent = node.row.category === 'agent' ? node : place.agent
    const around = agent === node ? [] : node.row.category === 'step' ? [...place.around, node] : place.around
    for (const child of node.children) stack.push({ node: child, agent, around })
  }
  // By their ends, which lie further apart than their begins: two processes may have two clocks.
  const ended = ({ node }: Place) => node.row.endUs || Number.MAX_SAFE_INTEGER
  places.sort((a, b) => ended(b) - ended(a))
  for (const { node, agent, around } of places) {
    const key = `${node.row.callId}\n${node.row.label}`
    const known = later.get(agent) ?? new Set()
    later.set(agent, known)
    if (asksAndEnds(node.row) && known.has(key)) {
      const asked = node.children.filter(({ row }) => row.category === 'human' && !row.human?.action)
      for (const part of [node, ...asked, ...around]) part.row = { ...part.row, outcome: PARKED }
    }
    known.add(key)
  }
}
