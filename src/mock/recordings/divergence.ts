import { safeStringify } from '../../internal/json.ts'
import { differences, formatDifference } from '../match/difference.ts'
import { cut } from '../rules/describe-rule.ts'
import { bestAlignment } from '../trajectory/assignment.ts'
import { callKey, type RecordedToolCall } from './recording.ts'

/** How a replayed run is not the recorded one. */
export interface Divergence {
  /**
   * `changed`: a call was made with other arguments. `extra`: it is not in the recording. `repeated`: it was made
   * more often than recorded. `missing`: it was not made. `moved`: it was made at another place.
   */
  readonly kind: 'changed' | 'extra' | 'repeated' | 'missing' | 'moved'
  readonly made?: RecordedToolCall
  readonly recorded?: RecordedToolCall
  readonly message: string
}

export type KeyOf = (call: RecordedToolCall) => string

/** The key of each call once: in a long run each is compared with all of the others. */
export function rememberKeys(): KeyOf {
  const known = new WeakMap<RecordedToolCall, string>()
  return (call) => {
    const key = known.get(call) ?? callKey(call)
    known.set(call, key)
    return key
  }
}

/** A call that the recording does not hold, or no more. `all`: the whole recording; `open`: what is not served yet. */
export function divergenceOfMiss(
  made: RecordedToolCall,
  all: readonly RecordedToolCall[],
  open: readonly RecordedToolCall[],
  keyOf: KeyOf,
): Divergence {
  const key = keyOf(made)
  const same = all.filter((call) => keyOf(call) === key)
  if (same.length > 0) {
    const message = `repeated: ${show(made)}\n  recorded ${same.length} times, made ${same.length + 1} times`
    return { kind: 'repeated', made, recorded: same.at(-1) as RecordedToolCall, message }
  }
  const sameTool = open.filter(({ tool }) => tool === made.tool)
  const ranked = sameTool
    .map((call) => ({ call, found: differencesOf(call, made) }))
    .sort((a, b) => a.found.length - b.found.length)
  const nearest = ranked[0]
  if (nearest !== undefined) {
    const lines = [
      `changed: ${show(made)}`,
      `  recorded ${show(nearest.call)}`,
      ...nearest.found.map((tell) => `    ${tell()}`),
    ]
    return { kind: 'changed', made, recorded: nearest.call, message: lines.join('\n') }
  }
  const next = open[0]
  const expected = next === undefined ? 'nothing more' : show(next)
  return { kind: 'extra', made, message: `extra: ${show(made)}\n  recorded ${expected} at this point` }
}

function differencesOf(recorded: RecordedToolCall, made: RecordedToolCall): (() => string)[] {
  const found = differences(recorded.args, made.args, 'exact').map(
    (difference) => () => formatDifference(difference),
  )
  if (recorded.agent !== made.agent) found.push(() => `agent: expected ${recorded.agent}, got ${made.agent}`)
  if (recorded.identifier !== made.identifier) {
    found.push(
      () => `identifier: expected ${recorded.identifier ?? 'local'}, got ${made.identifier ?? 'local'}`,
    )
  }
  return found
}

/**
 * Calls that were served at another place than recorded. Each agent's runs are compared on their own: between two
 * agents that work at once there is no order.
 */
export function divergencesOfOrder(
  made: readonly RecordedToolCall[],
  recorded: readonly RecordedToolCall[],
  keyOf: KeyOf,
): Divergence[] {
  const sequenceKey = (calls: readonly RecordedToolCall[]) => calls.map(keyOf).join('\n\n')
  const madeRuns = groupByRun(made)
  const recordedRuns = groupByRun(recorded)
  // A run that was followed exactly explains one recorded run, whichever of several it is.
  for (const [agent, runs] of madeRuns) {
    const others = recordedRuns.get(agent) ?? []
    for (const run of [...runs]) {
      const at = others.findIndex((other) => sequenceKey(other) === sequenceKey(run))
      if (at < 0) continue
      others.splice(at, 1)
      runs.splice(runs.indexOf(run), 1)
    }
  }
  return [...madeRuns].flatMap(([agent, runs]) =>
    runs.flatMap((run, index) => {
      const other = recordedRuns.get(agent)?.[index]
      return other === undefined ? [] : compareOrder(run, other, keyOf)
    }),
  )
}

function compareOrder(
  made: readonly RecordedToolCall[],
  recorded: readonly RecordedToolCall[],
  keyOf: KeyOf,
): Divergence[] {
  // Calls that one side lacks are told as missing or extra; here only the places of the others count.
  const [madeCommon, recordedCommon] = [common(made, recorded, keyOf), common(recorded, made, keyOf)]
  const madeKeys = madeCommon.map(keyOf)
  const recordedKeys = recordedCommon.map(keyOf)
  const weights = recordedKeys.map((recordedKey) => madeKeys.map((key) => (key === recordedKey ? 1 : 0)))
  const kept = new Set(bestAlignment(weights, madeCommon.length))
  return madeCommon.flatMap((call, index) => {
    if (kept.has(index)) return []
    const wasAt = recordedKeys.indexOf(keyOf(call))
    const message = `moved: ${show(call)}\n  made as call ${index + 1}, recorded as call ${wasAt + 1}`
    return [
      { kind: 'moved' as const, made: call, recorded: recordedCommon[wasAt] as RecordedToolCall, message },
    ]
  })
}

/** The calls of `a` that `b` has, too, as often as it has them. */
function common(
  a: readonly RecordedToolCall[],
  b: readonly RecordedToolCall[],
  keyOf: KeyOf,
): RecordedToolCall[] {
  const left = new Map<string, number>()
  for (const call of b) left.set(keyOf(call), (left.get(keyOf(call)) ?? 0) + 1)
  return a.filter((call) => {
    const count = left.get(keyOf(call)) ?? 0
    left.set(keyOf(call), count - 1)
    return count > 0
  })
}

function groupByRun(calls: readonly RecordedToolCall[]): Map<string, RecordedToolCall[][]> {
  const groups = new Map<string, Map<number, RecordedToolCall[]>>()
  for (const call of calls) {
    const runs = groups.get(call.agent) ?? new Map<number, RecordedToolCall[]>()
    groups.set(call.agent, runs)
    runs.set(call.run ?? 0, [...(runs.get(call.run ?? 0) ?? []), call])
  }
  return new Map([...groups].map(([agent, runs]) => [agent, [...runs.values()]]))
}

export function divergenceOfUnserved(recorded: RecordedToolCall): Divergence {
  return { kind: 'missing', recorded, message: `missing: ${show(recorded)}\n  recorded, not made` }
}

function show({ tool, args, agent, step }: RecordedToolCall): string {
  return `${tool}(${cut(safeStringify(args), 300)})  by ${agent}, step ${step}`
}
