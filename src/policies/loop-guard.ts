import { deny, type Gate } from '../gates/index.ts'
import { matchesGlob } from '../internal/glob.ts'
import { digestOf } from '../internal/json.ts'
import { assertKnown, assertLimit, common, memory, type ReadyGateOptions } from './options.ts'

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

interface Memory {
  /** `[callKey, digest]` of the last calls. */
  calls: [string, string][]
  refusals: number
}

/**
 * Refuses a tool call that only repeats earlier ones, alone or as part of a circle, and tells the model so.
 *
 * @throws HookspanError `INVALID_OPTION`.
 */
export function loopGuard(options: LoopGuardOptions = {}): Gate {
  const gate = common(options, 'loop-guard')
  const owner = `gate "${gate.id}"`
  assertKnown(options, ['id', 'priority', 'shadow', 'maxRepeats', 'window', 'stopAfter', 'ignore'], owner)
  const { maxRepeats = 3, window = 20, stopAfter = 3, ignore = [] } = options
  assertLimit(maxRepeats, 'maxRepeats', owner, 1)
  assertLimit(window, 'window', owner, 1)
  assertLimit(stopAfter, 'stopAfter', owner, 1)
  return {
    ...gate,
    point: 'beforeToolCall',
    decide({ state, operationId, callKey = '', identifier, apiName = '', payload }) {
      if (ignore.some((glob) => matchesGlob(glob, apiName))) return undefined
      const seen = memory<Memory>(state, `loop:${gate.id}:${operationId}`, () => ({ calls: [], refusals: 0 }))
      const digest = digestOf([identifier, apiName, payload]).slice(0, 16)
      const others = seen.calls.filter(([key]) => key !== callKey)
      const repeats = others.filter(([, one]) => one === digest).length
      if (repeats < maxRepeats) {
        seen.calls = [...others, [callKey, digest] as [string, string]].slice(-window)
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
