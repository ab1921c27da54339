import type { ExpectedCall, ExpectedSpan, TrajectoryOptions } from '../mock/index.ts'
import type { AskedHumanOptions, CalledToolOptions, DeniedOptions } from './matchers.ts'

/** What the matchers add to `expect(...)`. */
export interface HookspanMatchers<R> {
  /** Holds the tool calls of a run, events, spans or messages against those that are expected. */
  toMatchTrajectory(expected: readonly ExpectedCall[], options?: TrajectoryOptions): R
  /** Whether the tool was called: with at least these arguments, so often, with this result or outcome. */
  toHaveCalledTool(name: string, args?: unknown, options?: CalledToolOptions): R
  /** Whether a trace has these spans, each expectation by one of its own. */
  toHaveSpans(expected: readonly ExpectedSpan[]): R
  /** Whether a gate or a human refused a call of the tool. */
  toHaveBeenDenied(name?: string, options?: DeniedOptions): R
  /** Whether a human was asked about a call of the tool. */
  toHaveAskedHuman(name?: string, options?: AskedHumanOptions): R
}

// Not vitest's `Matchers`: its type parameters are others in each major, which is an error without `skipLibCheck`.
declare global {
  namespace Chai {
    interface Assertion extends HookspanMatchers<void> {}
  }
}

declare module 'vitest' {
  interface AsymmetricMatchersContaining extends HookspanMatchers<unknown> {}
}
