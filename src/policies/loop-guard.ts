import { deny, type Gate } from '../gates/index.ts'
import { a, type Fields } from '../internal/expect.ts'
import { GLOB_LIST, matchesTool } from '../internal/glob.ts'
import { digestOf } from '../internal/json.ts'
import { common, memory, READY, type ReadyGateOptions } from './options.ts'

export interface LoopGuardOptions extends ReadyGateOptions {
  /** How often one agent may call the same tool with the same arguments within the window. @default 3 */
  maxRepeats?: number
  /** How many of the agent's last tool calls are looked at. @default 20 */
  window?: number
  /** After how many refusals the run ends, as the model does not listen. @default 3 */
  stopAfter?: number
  /** Tools that may be repeated, as polling ones are. Globs. */
  ignore?: readonly string[]
}

export const LOOP_GUARD: Fields<LoopGuardOptions> = {
  ...READY,
  maxRepeats: a.number(1),
  window: a.number(1),
  stopAfter: a.number(1),
  ignore: GLOB_LIST,
}

interface Memory {
  /** `[callKey, digest]` of the last calls. */
  calls: [string, string][]
  refusals: number
  /** The longest that looks at them: plugins do not know each other's ids. */
  window?: number
}

/**
 * Refuses a tool call that only repeats earlier ones, alone or as part of a circle, and tells the model so.
 *
 * @throws HookspanError `INVALID_OPTION`.
 */
export function loopGuard(options: LoopGuardOptions = {}): Gate {
  const gate = common(options, LOOP_GUARD, 'loop-guard')
  const { maxRepeats = 3, window = 20, stopAfter = 3, ignore = [] } = options
  return {
    ...gate,
    point: 'beforeToolCall',
    decide({ state, operationId, callKey = '', identifier, source, apiName = '', payload }) {
      if (ignore.some((glob) => matchesTool(glob, { apiName, identifier, source }))) return undefined
      const seen = memory<Memory>(state, `loop:${gate.id}:${operationId}`, () => ({ calls: [], refusals: 0 }))
      const digest = digestOf([identifier, apiName, payload]).slice(0, 16)
      const others = seen.calls.filter(([key]) => key !== callKey)
      const repeats = others.slice(-window).filter(([, one]) => one === digest).length
      seen.window = Math.max(window, seen.window ?? 0)
      if (repeats < maxRepeats) {
        seen.calls = [...others, [callKey, digest] as [string, string]].slice(-seen.window)
        return undefined
      }
      seen.refusals++
      const stop = seen.refusals >= stopAfter
      return deny(
        `${apiName} was called ${repeats} times with these arguments already, and gives nothing new. Do something else, or answer with what there is.`,
        { code: 'loop_detected', stop },
      )
    },
  }
}
