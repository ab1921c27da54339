import { HookDispatcher } from '../dispatcher/index.ts'
import type { Approver } from '../gates/index.ts'
import { errorMessage } from '../internal/errors.ts'
import { assertFields, type Fields } from '../internal/expect.ts'
import { type DurableRun, LiveRun } from './agent-run.ts'
import { AnswerWatch, type TellAnswer } from './answer-watch.ts'
import { drive, type JournalEntry, keptIn, type Segment } from './drive.ts'
import type { DurableEngine } from './engine.ts'
import { LiveLoop } from './loop/live-loop.ts'
import type { LoopOutcome } from './loop/loop-outcome.ts'
import type { LoopRecord } from './loop/records.ts'
import { type DurableLoop, runLoop } from './loop-run.ts'
import { agentRunOptions, type DurableAgentOptions, durableInput, loopOptions } from './options.ts'
import { Segments } from './segments.ts'

/** How the run of an agent or of a loop ended. */
export type DurableOutcome = DurableRun | LoopOutcome

/** A part of a run, of an agent or of a loop: who hands it on does not look into it. */
export type RunSegment = Segment<unknown, DurableOutcome>

/** The parts of one run, in one process. */
type RunSegments = Segments<unknown, DurableOutcome>

/** The runs of one durable agent that are in this process: what `durableAgent` of each engine is made of. */
export class DurableRuns {
  readonly #maxDurationMs: number | undefined
  readonly #parts: (operationId: string, input: unknown) => RunSegments
  readonly #watch: AnswerWatch | undefined
  /** Engines begin the next attempt at a run as soon as they have lost one, which may not have noticed. */
  readonly #here = new Map<string, RunSegments>()

  private constructor(
    options: DurableAgentOptions,
    dispatcher: HookDispatcher,
    tell: TellAnswer | undefined,
  ) {
    this.#maxDurationMs = options.maxDurationMs
    const approver = approverOf(options, dispatcher)
    this.#parts = partsOf(options, dispatcher, approver)
    this.#watch = tell && AnswerWatch.of(approver, options.pollMs, tell)
  }

  /**
   * @param tell gives what tells the engine of answers. Without, each run finds them when it looks.
   * @throws HookspanError `INVALID_OPTION` for options, and keys, that the engine's agent does not take.
   */
  static of<O extends DurableAgentOptions>(
    options: O,
    fields: Fields<O>,
    tell: (options: O) => TellAnswer | undefined,
  ): DurableRuns {
    assertFields<O>(options, fields, 'durableAgent')
    return new DurableRuns(options, options.dispatcher ?? new HookDispatcher(), tell(options))
  }

  /** An attempt at a run, on an engine that replays it; the one before leaves it. @throws what the engine throws, and `refusal`. */
  async run(engine: DurableEngine, operationId: string, input: unknown): Promise<DurableOutcome> {
    const segments = this.#begin(engine, operationId, input)
    const over = () => this.#over(operationId, segments)
    engine.lost?.addEventListener('abort', over, { once: true })
    const watched: DurableEngine = {
      journal: (name, closure) => engine.journal(name, closure),
      wait: (requestIds, timeoutMs) => {
        this.#watch?.add(operationId, requestIds)
        return engine.wait(requestIds, timeoutMs)
      },
      isCancelled: (error) => engine.isCancelled(error),
    }
    try {
      return await drive(watched, segments, this.#maxDurationMs)
    } finally {
      over()
    }
  }

  /** Ends a run that its engine has cancelled and goes on with nowhere, from what that has kept. */
  async end(operationId: string, input: unknown, journal: readonly JournalEntry[]): Promise<void> {
    const segments = this.#begin({}, operationId, input)
    try {
      await segments.run({ kept: keptIn(journal), cancelled: true })
    } finally {
      this.#over(operationId, segments)
    }
  }

  #begin({ refusal }: Pick<DurableEngine, 'refusal'>, operationId: string, input: unknown): RunSegments {
    const segments = refusing(refusal, () => this.#parts(operationId, input))
    this.#here.get(operationId)?.leave()
    this.#here.set(operationId, segments)
    return segments
  }

  /** The attempt is over: the run goes on in another, or has ended. */
  #over(operationId: string, segments: RunSegments): void {
    segments.leave()
    if (this.#here.get(operationId) === segments) this.#here.delete(operationId)
  }
}

function refusing<T>(refusal: DurableEngine['refusal'], begin: () => T): T {
  try {
    return begin()
  } catch (error) {
    throw refusal?.(errorMessage(error), error) ?? error
  }
}

/** @throws HookspanError `INVALID_OPTION`. */
function partsOf(
  options: DurableAgentOptions,
  dispatcher: HookDispatcher,
  approver: Approver | undefined,
): (operationId: string, input: unknown) => RunSegments {
  const { name, agent } = options
  if (typeof agent === 'function') {
    const shared = { ...loopOptions({ ...options, dispatcher }), dispatcher }
    const loop = agent as DurableLoop<unknown>
    return (operationId, input) =>
      new Segments<LoopRecord, LoopOutcome>(
        approver,
        (at) =>
          new LiveLoop(shared, operationId, input, at, (live, admitted) => runLoop(live, loop, admitted)),
      ) as RunSegments
  }
  const shared = { ...agentRunOptions(agent, options), dispatcher }
  return (operationId, input) => {
    const asked = durableInput(name, input)
    return new Segments<string, DurableRun>(
      approver,
      (at) => new LiveRun(shared, operationId, asked, at),
    ) as RunSegments
  }
}

/** Who can say whether a request was answered. */
function approverOf(
  { approver: own }: Pick<DurableAgentOptions, 'approver'>,
  dispatcher: HookDispatcher,
): Approver | undefined {
  return (typeof own === 'function' ? undefined : own) ?? dispatcher.approver
}
