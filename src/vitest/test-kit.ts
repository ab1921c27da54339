import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import {
  type GateDecidedMessage,
  HOOK_CHANNEL,
  HookDispatcher,
  type HookRunMessage,
} from '../dispatcher/index.ts'
import type { HookEvent } from '../hooks/index.ts'
import { HookspanError } from '../internal/errors.ts'
import { isFailedExpect, isFailedExpectation } from '../internal/failed-expectation.ts'
import { makeFolder } from '../internal/make-folder.ts'
import { attachedTo } from '../mock/attached.ts'
import { isUnused } from '../mock/failures.ts'
import {
  type EventLog,
  type MockCoverage,
  MockTools,
  type ModelStep,
  mockTools,
  type ReplayMode,
  recordEvents,
  replayTools,
  type ScriptedApprovals,
  type ScriptedModel,
  type ScriptedModelOptions,
  scriptedApprovals,
  scriptedModel,
  ToolReplay,
} from '../mock/index.ts'
import { letGo } from '../mock/mock-tools.ts'
import { assertMode } from '../mock/recordings/replay-options.ts'
import { isSubAgent } from '../mock/sub-agent.ts'
import { GEN_AI, HOOKSPAN } from '../spans/names.ts'
import type { RecordedSpan } from '../spans/span-tree.ts'
import { coverageOf } from './coverage.ts'
import type { ReplayFixtureOptions } from './test-files.ts'
import { traceList } from './trace-lists.ts'
import { TraceTree } from './trace-tree.ts'

/** What happened in the test's dispatcher. */
export interface TestTrace {
  readonly events: readonly HookEvent[]
  /** Events that were dropped, the oldest first, because there were more than 10,000. */
  readonly dropped: number
  readonly spans: readonly RecordedSpan[]
  /** One line a span. */
  tree(): string
  /** OTLP JSON. */
  toJSON(): object
}

export type ModelFixture = (steps: readonly ModelStep[], options?: ScriptedModelOptions) => ScriptedModel

let nextId = 0

/** Which test has a dispatcher that it has brought along. */
const holders = new WeakMap<HookDispatcher, TestKit>()

const SHUTDOWN_MS = 1_000
/** Not those of `vi.useFakeTimers()`, which takes their place later. */
const { setTimeout: startTimer, clearTimeout: stopTimer } = globalThis

/** Everything one test, or one of several runs in a test, needs; nothing is shared with another one. */
export class TestKit {
  readonly trace: TestTrace
  readonly #own = new HookDispatcher()
  readonly #tree = new TraceTree()
  #dispatcher = this.#own
  #log: EventLog
  #instrument: Disposable
  readonly #models: ScriptedModel[] = []
  readonly #replays: { replay: ToolReplay; mode: ReplayMode }[] = []
  readonly #counted: (MockCoverage | undefined)[] = []
  /** Of hooks and gates: whatever one throws, the run goes on. */
  readonly #failedExpectations: Error[] = []
  #mocks: MockTools | undefined
  #humans: ScriptedApprovals | undefined
  /** Whether the test has looked at all that ran: then it says itself that nothing did. */
  #isTraceRead = false
  /** Not where it looks for something in it, which is not there either of an agent that has another dispatcher. */
  #isTraceSearched = false

  /** `signal`: the test's, aborted when it is out of time. */
  constructor(signal?: AbortSignal) {
    signal?.addEventListener('abort', () => this.#letGo(), { once: true })
    const tree = this.#tree
    this.#instrument = this.#own.use({ name: 'hookspan/vitest', instrument: tree })
    this.#log = recordEvents(this.#own)
    subscribe(HOOK_CHANNEL, this.#onHookRun)
    const log = () => this.#log
    const read = <T>(list: readonly T[]) => {
      this.#isTraceRead = true
      return traceList(list, () => {
        this.#isTraceSearched = true
      })
    }
    this.trace = {
      get events() {
        return read(log().events)
      },
      get dropped() {
        return log().dropped
      },
      get spans() {
        return read(tree.spans)
      },
      tree: () => tree.toString(),
      toJSON: () => tree.toJSON(),
    }
  }

  readonly #onHookRun = (message: unknown) => {
    const { status, error, operationId } = message as HookRunMessage | GateDecidedMessage
    const isFailed = status === 'decided' ? isFailedExpect : isFailedExpectation
    if (!isFailed(error)) return
    // The channel is that of the process.
    if (this.#log.events.some((event) => event.operationId === operationId)) {
      this.#failedExpectations.push(error)
    }
  }

  get dispatcher(): HookDispatcher {
    return this.#dispatcher
  }

  /**
   * Looks at a dispatcher that the test brings along in place of its own, and mocks there.
   *
   * @throws HookspanError `INVALID_OPTION` while another test has it.
   */
  on(dispatcher: HookDispatcher): this {
    if (dispatcher === this.#dispatcher) return this
    if (holders.has(dispatcher)) {
      throw new HookspanError(
        'INVALID_OPTION',
        'Two tests have the same `dispatcher` at once: the mocks of each would answer the calls of the other. ' +
          'Run them one after the other, or give each a dispatcher of its own.',
      )
    }
    holders.set(dispatcher, this)
    this.#instrument[Symbol.dispose]()
    this.#log[Symbol.dispose]()
    this.#dispatcher = dispatcher
    this.#instrument = dispatcher.use({ name: `hookspan/vitest ${nextId++}`, instrument: this.#tree })
    this.#log = recordEvents(dispatcher)
    return this
  }

  /** Strict mocks without a rule yet: from now on a call that no rule answers fails the test. */
  get mocks(): MockTools {
    this.#mocks ??= mockTools(this.dispatcher)
    return this.#mocks
  }

  get humans(): ScriptedApprovals {
    this.#humans ??= scriptedApprovals(this.dispatcher)
    return this.#humans
  }

  readonly model: ModelFixture = (steps, options) => {
    const model = scriptedModel(steps, options)
    this.#models.push(model)
    return model
  }

  /** In `HOOKSPAN_REPLAY_MODE`, else `strict` in CI, where nothing may be recorded unseen, else `auto`. */
  replay(file: string, { mode, ...options }: ReplayFixtureOptions = {}): ToolReplay {
    const { CI, HOOKSPAN_REPLAY_MODE } = process.env
    // `True` of AppVeyor, `1` of others.
    const fallback = /^(0|false|)$/i.test(CI ?? '') ? 'auto' : 'strict'
    const told = HOOKSPAN_REPLAY_MODE || fallback
    if (mode === undefined) assertMode(told, 'HOOKSPAN_REPLAY_MODE')
    const chosen = mode ?? (told as ReplayMode)
    const { folder: _folder, ...more } = options
    const replay = replayTools(this.dispatcher, { ...more, file, mode: chosen })
    this.#replays.push({ replay, mode: chosen })
    return replay
  }

  /** Of its own run, and of those that were counted with it. */
  get coverage(): MockCoverage | undefined {
    return coverageOf(this.#log.events, [this.#mocks?.coverage(), ...this.#counted])
  }

  /** For runs in a test that have fixtures of their own. */
  countWith(coverage: MockCoverage | undefined): void {
    this.#counted.push(coverage)
  }

  /** Cleans up, and gives everything that was not as the test says. `cutShort`: it failed already, or skipped itself. */
  async finish(cutShort = false): Promise<Error[]> {
    const failures: Error[] = cutShort ? [] : [...leftAtWork(this.#tree.spans), ...this.#nothingRan()]
    /** What is not used is mostly so because of another one. */
    const unused: Error[] = []
    this.#closeTools()
    const end = (part: Disposable | undefined) => {
      try {
        part?.[Symbol.dispose]()
      } catch (error) {
        ;(isUnused(error) ? unused : failures).push(error as Error)
      }
    }
    const left = this.#left()
    const leftReplays = left.filter((part) => part instanceof ToolReplay)
    for (const part of [this.#mocks, this.#humans, ...this.#models]) end(part)
    for (const part of left) if (!(part instanceof ToolReplay)) end(part)
    const replays = leftReplays.map((replay) => ({ replay, mode: 'auto' as const }))
    for (const { replay, mode } of [...this.#replays, ...replays]) {
      // It may end where the test broke, and would be what the next try is held to.
      const isOfFailed = cutShort || failures.length + unused.length > 0
      if (isOfFailed && mode === 'auto' && replay.mode === 'record') replay.detach()
      else end(replay)
    }
    failures.push(...unused)
    // One that the test brought along may be that of others, too.
    if (this.#dispatcher === this.#own) await this.#inTime(this.#own.shutdown({ timeoutMs: SHUTDOWN_MS }))
    else await this.#inTime(this.#dispatcher.drain(undefined, { timeoutMs: SHUTDOWN_MS }))
    unsubscribe(HOOK_CHANNEL, this.#onHookRun)
    failures.unshift(...this.#failedExpectations, ...expectedInTools(this.#log.events))
    this.#instrument[Symbol.dispose]()
    this.#log[Symbol.dispose]()
    if (holders.get(this.#dispatcher) === this) holders.delete(this.#dispatcher)
    // What is not installed is why nothing else was as the test says.
    const missing = failures.find((error) => 'code' in error && error.code === 'MISSING_DEPENDENCY')
    return missing === undefined ? failures : [missing]
  }

  /** Of an agent that has another dispatcher, or none, the real tools ran: mocks that are optional, or not called, tell nothing. */
  #nothingRan(): Error[] {
    const hasRan = this.#tree.spans.length > 0 || this.#log.events.length > 0 || this.#log.dropped > 0
    if (this.#mocks === undefined || hasRan || (this.#isTraceRead && !this.#isTraceSearched)) return []
    return [
      new HookspanError(
        'MOCK_UNUSED',
        'The test has mocks, and nothing has run on its dispatcher: whatever ran was not mocked. Give the agent the ' +
          'fixture `dispatcher`. Where nothing is to run, say so: expect(trace.spans).toEqual([]).',
      ),
    ]
  }

  /**
   * What a test leaves behind, one that was out of time, may go on, and begin a run anew: its mocks are gone, and the real
   * tools still do not run.
   */
  #closeTools(): void {
    const parts = [this.#mocks, ...this.#replays.map(({ replay }) => replay), ...this.#left()]
    if (!parts.some(standsIn)) return
    const isOwn = this.#dispatcher === this.#own
    // A dispatcher that was brought along goes on with others' runs, in the next test, too.
    const left = this.#tree.spans.filter(isAtWork).map(({ traceId }) => traceId)
    const runs = new Set(
      this.#tree.roots.flatMap(({ traceId, attributes }) =>
        left.includes(traceId) ? [attributes[HOOKSPAN.operationRootId]] : [],
      ),
    )
    if (!isOwn && runs.size === 0) return
    this.#dispatcher.use({
      name: `hookspan/vitest: the test is over ${nextId++}`,
      standIn: (call) => {
        if (isSubAgent(call) || !(isOwn || runs.has(call.operation.rootOperationId))) return undefined
        throw new HookspanError(
          'MOCK_UNMATCHED',
          `Tool "${call.apiName}" was called after the end of its test, whose mocks are gone: it does not run. ` +
            'Await the agent in the test, and give it the time that it takes.',
        )
      },
    })
  }

  /** What the test set up itself on the dispatcher that only it has, and has not taken out: without `using` nobody else looks at it. */
  #left(): readonly Disposable[] {
    return this.#dispatcher === this.#own ? attachedTo(this.#own) : []
  }

  /** A test that waits for a mock that hangs goes on to what cleans up behind it, and not in the time of the next one. */
  #letGo(): void {
    if (this.#dispatcher === this.#own) this.#own.interruptAll()
    if (this.#mocks !== undefined) letGo(this.#mocks)
  }

  /** In time by the real clock: a test may have stopped its own. */
  async #inTime(done: Promise<unknown>): Promise<void> {
    const late = Promise.withResolvers<void>()
    const timer = startTimer(late.resolve, SHUTDOWN_MS * 2)
    await Promise.race([done, late.promise])
    stopTimer(timer)
  }

  /** Writes the trace beside those of other failed tests. */
  save(path: string): void {
    makeFolder(dirname(path))
    writeFileSync(path, `${JSON.stringify(this.trace.toJSON(), null, 2)}\n`)
  }
}

/**
 * A run that nobody awaits is judged by what it did so far. One that stands still, for a human or because its loop does, has
 * done what it does, and of a stream it is the reader who decides how much is read.
 */
function leftAtWork(spans: readonly RecordedSpan[]): Error[] {
  const open = spans.filter(({ endTime }) => endTime === undefined)
  const isAsked = open.some(({ name }) => name === 'human_intervention')
  const isStream = spans.some(({ attributes }) => attributes[GEN_AI.requestStream] === true)
  const [run] = open
  if (run === undefined || isAsked || isStream || !open.some(isAtWork)) return []
  return [
    new HookspanError(
      'TRAJECTORY_UNREADABLE',
      `The test ended while a run went on (${run.name}): nobody has seen what it does next. Await it, read its ` +
        'stream to the end, or end it in the test, also where its SDK has stopped it for a human: `dispatcher.interruptAll()`.',
    ),
  ]
}

const standsIn = (part: Disposable | undefined) =>
  part instanceof MockTools || (part instanceof ToolReplay && part.mode === 'replay')

const isAtWork = ({ name, endTime }: RecordedSpan) =>
  endTime === undefined && name !== 'human_intervention' && !name.startsWith('invoke_agent')

/** Of tools that ran: the agent takes it for one that failed, and goes on. */
function expectedInTools(events: readonly HookEvent[]): Error[] {
  return events.flatMap((event) =>
    event.hookType === 'onToolCallError' && !event.mocked && isFailedExpect(event.error) ? [event.error] : [],
  )
}

export function joinFailures(failures: readonly Error[]): Error {
  const [first, ...rest] = failures
  if (first !== undefined && rest.length === 0) return first
  return new AggregateError(failures, failures.map(({ message }) => message).join('\n\n'))
}
