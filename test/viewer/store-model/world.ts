/** What happens to a store: requests and whatever else, one after the other, the same for the same seed. */
import { Random } from './random.ts'
import type { Format, SentGroup, SentLog, SentSpan } from './sent.ts'
import { randomRun } from './traffic.ts'

/** Of two viewers of one file: the second one is not always there. */
export type Which = 0 | 1

export type Act = { which: Which } & (
  | { what: 'spans'; groups: SentGroup[]; format: Format }
  | { what: 'logs'; logs: SentLog[] }
  /** So many chunks and logs fill a segment of its index. */
  | { what: 'opens'; segmentDocuments: number }
  | { what: 'closes' }
  | { what: 'works'; ms: number }
  | { what: 'indexes'; steps: number }
  | { what: 'looks'; traceId: string; typed: string }
  | { what: 'removes'; traceId: string }
  | { what: 'sweeps'; maxAgeMs: number }
  /** Down to a share of what is there. */
  | { what: 'makes room'; share: number }
  | { what: 'marks'; traceId: string; mark: 'good' | 'bad' | ''; note: string; labels: string[] }
  | { what: 'waits'; ms: number }
  /** A request while others are answered, each in turns. */
  | {
      what: 'goes on at once'
      groups: SentGroup[]
      format: Format
      removed: string | undefined
      seed: number
    }
  /** What people are asked, by run. */
  | { what: 'people'; open: [traceId: string, open: number][] }
  | { what: 'is asked'; seed: number }
)

/** The same for each, so that a seed is always the same world. */
export const BEGIN_MS = Date.UTC(2026, 0, 15, 12)

export function randomWorld(seed: number): Act[] {
  const random = new Random(seed)
  const segmentDocuments = random.pick([1, 3, 10_000])
  const traffic = Array.from({ length: random.between(1, 6) }, () => {
    // Some are recordings of days ago.
    const agoMs = random.chance(0.15) ? 3 * 86_400_000 : random.pick([200, 1_000, 2_000])
    return {
      ...randomRun(random, (BEGIN_MS - agoMs) * 1000),
      order: random.pick(['sent', 'sent', 'reversed', 'any']),
    }
  })
  const queues = traffic.map(({ spans, order }) =>
    order === 'sent' ? [...spans] : order === 'reversed' ? [...spans].reverse() : random.shuffled(spans),
  )
  const sent: SentSpan[] = []
  while (queues.some(({ length }) => length > 0)) {
    const queue = random.pick(queues.filter(({ length }) => length > 0))
    sent.push(...queue.splice(0, random.between(1, random.chance(0.3) ? 100 : 6)))
    if (random.chance(0.1)) sent.push(random.pick(sent))
  }
  const traceIds = [...new Set(sent.map(({ traceId }) => traceId))]
  const logs = traffic.flatMap((run) => run.logs)
  const opens = (one: Which): Act => ({ which: one, what: 'opens', segmentDocuments })
  const acts: Act[] = [opens(0)]
  let isOpen = [true, false]
  let isAsking = false
  const which = (): Which => (isOpen[1] && random.chance(0.5) ? 1 : 0)
  const asked = (): Act => ({ which: which(), what: 'is asked', seed: random.between(0, 2 ** 31) })
  while (sent.length > 0) {
    const format = random.pick(['json', 'protobuf'] as const)
    const groups = grouped(random, sent.splice(0, random.between(1, 30)))
    if (random.chance(0.75)) acts.push({ which: which(), what: 'spans', groups, format })
    else {
      const here = new Set(groups.flatMap(({ spans }) => spans.map((span) => span.traceId)))
      const removed = random.chance(0.2) ? traceIds.find((id) => !here.has(id)) : undefined
      const seed = random.between(0, 2 ** 31)
      acts.push({ which: which(), what: 'goes on at once', groups, format, removed, seed })
    }
    if (logs.length > 0 && random.chance(0.5)) {
      const some = logs.splice(0, random.between(1, 3))
      acts.push({ which: which(), what: 'logs', logs: random.chance(0.2) ? [...some, some[0]!] : some })
    }
    const traceId = random.pick(traceIds)
    const others: (() => Act[])[] = [
      () => {
        const one = which()
        isAsking = false
        if (one === 1) isOpen = [true, false]
        return one === 1 ? [{ which: 1, what: 'closes' }] : [{ which: 0, what: 'closes' }, opens(0)]
      },
      () => {
        // Each asks the approvals that it was given, and tells the other's runs by them.
        if (isOpen[1] || isAsking) return []
        isOpen = [true, true]
        return [opens(1)]
      },
      () => [{ which: which(), what: 'works', ms: random.pick([0, 1, 100]) }],
      () => [{ which: which(), what: 'indexes', steps: random.between(1, 3) }],
      () => [
        {
          which: which(),
          what: 'looks',
          traceId,
          typed: random.pick(['apple', 'order refund', 'banana ch']),
        },
      ],
      () => [{ which: which(), what: 'looks', traceId, typed: 'cherry' }],
      () =>
        random.chance(0.1)
          ? [{ which: which(), what: 'sweeps', maxAgeMs: random.pick([0, 50, 4_000_000]) }]
          : [],
      () => [
        {
          which: which(),
          what: 'marks',
          traceId,
          mark: random.pick(['good', 'bad', '']),
          note: random.pick(['', 'look at "this"']),
          labels: random.pick([[], ['regression', 'a\\b'], ['ü,v']]),
        },
      ],
      () => {
        if (isOpen[1] || random.chance(0.7)) return []
        isAsking = true
        const open = traceIds
          .filter(() => random.chance(0.2))
          .map((id): [string, number] => [id, random.between(0, 2)])
        return [{ which: 0, what: 'people', open }]
      },
      () => (random.chance(0.15) ? [{ which: 0, what: 'waits', ms: random.pick([1_000, 3_700_000]) }] : []),
      () => (random.chance(0.3) ? [asked()] : []),
    ]
    while (random.chance(0.45)) acts.push(...random.pick(others)())
    if (random.chance(0.15)) acts.push({ which: which(), what: 'removes', traceId })
    if (random.chance(0.15))
      acts.push({ which: which(), what: 'makes room', share: random.pick([0.5, 0.9, 0.99, 1.5]) })
  }
  if (logs.length > 0) acts.push({ which: which(), what: 'logs', logs })
  acts.push(asked())
  if (random.chance(0.5)) acts.push({ which: 0, what: 'waits', ms: 3_700_000 }, asked())
  return acts
}

/** By where they came from, each in a part of its own, or in several. */
function grouped(random: Random, spans: readonly SentSpan[]): SentGroup[] {
  const groups: SentGroup[] = []
  for (const span of spans) {
    const { resource, scope } = span
    const known = groups.findLast((group) => group.resource === resource && group.scope === scope)
    if (known && !random.chance(0.05)) known.spans.push(span)
    else groups.push({ resource, scope, spans: [span] })
  }
  return groups
}
