import { writeFileSync } from 'node:fs'
import { basename, isAbsolute, join, relative } from 'node:path'
import { HookDispatcher } from '../dispatcher/index.ts'
import type { HookEvent } from '../hooks/index.ts'
import { makeFolder } from '../internal/make-folder.ts'
import {
  type EventLog,
  type MockCoverage,
  type MockTools,
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
  type ToolReplay,
} from '../mock/index.ts'
import type { RecordedSpan } from '../spans/span-tree.ts'
import { coverageOf } from './coverage.ts'
import type { ReplayFixtureOptions } from './recording-path.ts'
import { TraceTree } from './trace-tree.ts'

/** What happened in the test's dispatcher. */
export interface TestTrace {
  readonly events: readonly HookEvent[]
  readonly spans: readonly RecordedSpan[]
  /** One line a span. */
  tree(): string
  /** OTLP JSON. */
  toJSON(): object
}

export type ModelFixture = (steps: readonly ModelStep[], options?: ScriptedModelOptions) => ScriptedModel

/** Everything one test, or one of several runs in a test, needs; nothing is shared with another one. */
export class TestKit {
  readonly dispatcher = new HookDispatcher()
  readonly trace: TestTrace
  readonly #log: EventLog
  readonly #models: ScriptedModel[] = []
  readonly #replays: ToolReplay[] = []
  readonly #counted: (MockCoverage | undefined)[] = []
  #mocks: MockTools | undefined
  #humans: ScriptedApprovals | undefined

  constructor() {
    const tree = new TraceTree()
    this.dispatcher.use({ name: 'hookspan/vitest', instrument: tree })
    this.#log = recordEvents(this.dispatcher)
    const { events } = this.#log
    this.trace = {
      events,
      get spans() {
        return tree.spans
      },
      tree: () => tree.toString(),
      toJSON: () => tree.toJSON(),
    }
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
    const fallback = process.env.CI === 'true' ? 'strict' : 'auto'
    const chosen = mode ?? (process.env.HOOKSPAN_REPLAY_MODE as ReplayMode | undefined) ?? fallback
    const { folder: _folder, ...more } = options
    const replay = replayTools(this.dispatcher, { ...more, file, mode: chosen })
    this.#replays.push(replay)
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

  /** Cleans up, and gives everything that was not as the test says. */
  async finish(): Promise<Error[]> {
    const failures = [this.#mocks, this.#humans, ...this.#models, ...this.#replays].flatMap((part) => {
      try {
        part?.[Symbol.dispose]()
        return []
      } catch (error) {
        return [error as Error]
      }
    })
    await this.dispatcher.shutdown({ timeoutMs: 1_000 })
    this.#log[Symbol.dispose]()
    // What is not installed is why nothing else was as the test says.
    const missing = failures.find((error) => 'code' in error && error.code === 'MISSING_DEPENDENCY')
    return missing === undefined ? failures : [missing]
  }

  /** Writes the trace beside those of other failed tests, in a folder per test file. @returns the file's path. */
  save(testFile: string, testName: string): string {
    const root = process.env.HOOKSPAN_TRACE_DIR ?? join('.hookspan', 'failed-tests')
    const place = relative(process.cwd(), testFile)
    const folder = join(root, place.startsWith('..') || isAbsolute(place) ? basename(place) : place)
    makeFolder(folder)
    const slug = testName.replaceAll(/[^\p{L}\p{N}]+/gu, '-').slice(0, 120)
    const path = join(folder, `${slug}.json`)
    writeFileSync(path, `${JSON.stringify(this.trace.toJSON(), null, 2)}\n`)
    return path
  }
}

export function joinFailures(failures: readonly Error[]): Error {
  const [first, ...rest] = failures
  if (first !== undefined && rest.length === 0) return first
  return new AggregateError(failures, failures.map(({ message }) => message).join('\n\n'))
}
