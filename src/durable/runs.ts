import type { HookDispatcher } from '../dispatcher/index.ts'
import type { DurableRun } from './agent-run.ts'
import { AgentSegments } from './agent-segments.ts'
import { drive } from './drive.ts'
import type { DurableEngine } from './engine.ts'
import { type DurableLoop, JournaledLoop, type LoopOutcome } from './loop-run.ts'
import { agentRunOptions, type DurableAgentOptions, durableInput, loopOptions } from './options.ts'

/** A run in one attempt of an engine. */
export interface DurableAttempt {
  outcome(maxDurationMs: number | undefined): Promise<DurableRun | LoopOutcome>
  /** The attempt is over: the run goes on in another, or has ended. */
  leave(): void
}

/** Begins attempts at a run. @throws HookspanError `INVALID_OPTION` for input that no attempt could run. */
export type BeginRun = (engine: DurableEngine, operationId: string, input: unknown) => DurableAttempt

/** @throws HookspanError `INVALID_OPTION`. */
export function runsOf(options: DurableAgentOptions, dispatcher: HookDispatcher): BeginRun {
  const { name, agent } = options
  if (typeof agent === 'function') {
    const shared = { ...loopOptions({ ...options, dispatcher }), dispatcher }
    return (engine, operationId, input) => {
      const run = new JournaledLoop(engine, shared, operationId)
      const loop = agent as DurableLoop<unknown>
      return { outcome: (maxDurationMs) => run.runTo(loop, input, maxDurationMs), leave: () => run.leave() }
    }
  }
  const shared = { ...agentRunOptions(agent, options), dispatcher }
  return (engine, operationId, input) => {
    const segments = new AgentSegments(shared, operationId, durableInput(name, input))
    return {
      outcome: (maxDurationMs) => drive(engine, segments, maxDurationMs),
      leave: () => segments.leave(),
    }
  }
}
