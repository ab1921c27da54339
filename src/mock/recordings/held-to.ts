import type { RecordedToolCall } from './recording.ts'

/** A call that was recorded, and made again. */
export interface MadeCall {
  readonly call: RecordedToolCall
  readonly recorded: RecordedToolCall
  /** A rule of the test answered it, not the recording. */
  readonly overruled: boolean
}

interface Held {
  readonly made: readonly RecordedToolCall[]
  readonly recorded: readonly RecordedToolCall[]
}

/**
 * What is compared with what. A run may go another way once a rule has answered in the recording's place: it is held to
 * what it was until there, that call included, and the agents that worked with it to nothing, for when they were at
 * work is not known.
 */
export function heldTo(made: readonly MadeCall[], recorded: readonly RecordedToolCall[]): Held {
  const overruled = new Set(made.filter((one) => one.overruled).map(({ call }) => runOf(call)))
  if (overruled.size === 0) return { made: made.map(({ call }) => call), recorded }
  const over = new Set<string>()
  const until = new Map<string, number>()
  const kept = made.filter(({ call, recorded: before, overruled: turns }) => {
    const run = runOf(call)
    if (over.has(run)) return false
    if (turns) over.add(run)
    if (overruled.has(run) && runOf(before) === run)
      until.set(run, Math.max(until.get(run) ?? -1, recorded.indexOf(before)))
    return true
  })
  const agents = [...new Set(made.filter((one) => one.overruled).map(({ call }) => call.agent))]
  const isOther = (call: RecordedToolCall) =>
    !overruled.has(runOf(call)) && agents.some((agent) => workTogether(agent, call.agent))
  return {
    made: kept.map(({ call }) => call).filter((call) => !isOther(call)),
    recorded: recorded.filter((call, index) => {
      const run = runOf(call)
      return overruled.has(run) ? index <= (until.get(run) ?? -1) : !isOther(call)
    }),
  }
}

const runOf = ({ agent, run = 0 }: RecordedToolCall) => `${agent}\n${run}`
const rootOf = (agent: string) => agent.split(' > ', 1)[0]

/** Not two runs of one agent at the top: each is a run of its own. */
function workTogether(one: string, other: string): boolean {
  return rootOf(one) === rootOf(other) && (one !== rootOf(one) || other !== rootOf(other))
}
