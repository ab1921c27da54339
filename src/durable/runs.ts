import type { HookDispatcher } from '../dispatcher/index.ts'
import type { Approver } from '../gates/index.ts'
import { type DurableRun, LiveRun } from './agent-run.ts'
import { drive } from './drive.ts'
import type { DurableEngine } from './engine.ts'
import { LiveLoop } from './loop/live-loop.ts'
import type { LoopOutcome } from './loop/loop-outcome.ts'
import type { LoopRecord } from './loop/records.ts'
import { type DurableLoop, runLoop } from './loop-run.ts'
import { agentRunOptions, type DurableAgentOptions, durableInput, loopOptions } from './options.ts'
import { Segments } from './segments.ts'

/** The parts of one run, in one process. */
export type RunSegments = Segments<string, DurableRun> | Segments<LoopRecord, LoopOutcome>

/** @throws HookspanError `INVALID_OPTION` for input that no attempt could run. */
export type SegmentsOf = (operationId: string, input: unknown) => RunSegments

/** @throws HookspanError `INVALID_OPTION`. */
export function segmentsOf(options: DurableAgentOptions, dispatcher: HookDispatcher): SegmentsOf {
  const { name, agent } = options
  const approver = approverOf(options, dispatcher)
  if (typeof agent === 'function') {
    const shared = { ...loopOptions({ ...options, dispatcher }), dispatcher }
    const loop = agent as DurableLoop<unknown>
    return (operationId, input) =>
      new Segments<LoopRecord, LoopOutcome>(
        approver,
        (at) => new LiveLoop(shared, operationId, input, at, (live) => runLoop(live, loop, input)),
      )
  }
  const shared = { ...agentRunOptions(agent, options), dispatcher }
  return (operationId, input) => {
    const asked = durableInput(name, input)
    return new Segments<string, DurableRun>(approver, (at) => new LiveRun(shared, operationId, asked, at))
  }
}

/** Who can say whether a request was answered. */
export function approverOf(
  { approver: own }: Pick<DurableAgentOptions, 'approver'>,
  dispatcher: HookDispatcher,
): Approver | undefined {
  return (typeof own === 'function' ? undefined : own) ?? dispatcher.approver
}

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
  const of = segmentsOf(options, dispatcher)
  return (engine, operationId, input) => {
    const segments = of(operationId, input) as Segments<unknown, DurableRun | LoopOutcome>
    return {
      outcome: (maxDurationMs) => drive(engine, segments, maxDurationMs),
      leave: () => segments.leave(),
    }
  }
}
