import { join } from 'node:path'
import { expect as baseExpect, test as baseTest, type TestAPI } from 'vitest'
import type { HookDispatcher } from '../dispatcher/index.ts'
import { errorMessage } from '../internal/errors.ts'
import type { MockTools, ScriptedApprovals, ToolReplay } from '../mock/index.ts'
import { matchers } from './matchers.ts'
import { type RepeatedRun, type RepeatReport, repeatWith } from './repeat.ts'
import { fullName, type ReplayFixtureOptions, recordingPath, type TestTask, tracePath } from './test-files.ts'
import { joinFailures, type ModelFixture, TestKit, type TestTrace } from './test-kit.ts'

baseExpect.extend(matchers)

/** What a test may ask for by name. */
export interface HookspanFixtures {
  /** A dispatcher of the test's own. Give it to the agent. */
  dispatcher: HookDispatcher
  /** Strict mocks of the dispatcher's tools: add rules with `mocks.use(mock('search').returns(...))`. */
  mocks: MockTools
  /** Makes scripted models: `model(['hello'])`. */
  model: ModelFixture
  /** Scripted humans: `humans.add(human('refund').approves())`. */
  humans: ScriptedApprovals
  /** What happened: events, spans, and a tree to print. */
  trace: TestTrace
  /**
   * Replays this test's own recording, or makes it: `__recordings__/<file>/<test>.json`. With the mode `auto` a test
   * that fails, or skips itself, leaves none.
   */
  replay: (options?: ReplayFixtureOptions) => ToolReplay
  /** Runs the same several times and counts how often it passes. Where some fail and the report is not read, the test fails. */
  repeat: (
    runs: number,
    fn: (run: RepeatedRun) => unknown,
    options?: { concurrency?: number },
  ) => Promise<RepeatReport>
}

/** Where the reporter finds what a test mocked. */
const META_KEY = 'hookspan'

type Use<T> = (value: T) => Promise<void>
type Context = {
  kit: TestKit
  /** vitest's own: aborted when the test is out of time. */
  signal: AbortSignal
  task: TestTask & {
    meta: object
    retry?: number | { count?: number }
    result?: { state?: string; retryCount?: number; errors?: object[] }
  }
}
type OnDispatcher = Context & { dispatcher: HookDispatcher }

/**
 * vitest's `test` with fixtures of hookspan. Each test has its own, also under `test.concurrent`; at its end it
 * fails when a mock, a step of a model, or a scripted human was not used, or a call had no mock. The trace of a
 * failed test is printed, and saved in `.hookspan/failed-tests` (`HOOKSPAN_TRACE_DIR`).
 *
 * @example
 * test('tells the weather', async ({ dispatcher, mocks, model }) => {
 *   mocks.use(mock('get_weather').returns({ tempC: 7 }))
 *   const client = model([callTool('get_weather', { city: 'Berlin' }), 'It is 7 °C.'])
 *   const run = await execAgent({ agent, prompt: 'How warm is it?', client, dispatcher })
 *   expect(run).toHaveCalledTool('get_weather', { city: 'Berlin' })
 * })
 */
export const test: TestAPI<HookspanFixtures> = baseTest.extend<HookspanFixtures & { kit: TestKit }>({
  kit: async ({ task, signal }: Omit<Context, 'kit'>, use: Use<TestKit>) => {
    const kit = new TestKit(signal)
    await use(kit)
    // Of vitest: a test that skips itself midway ends as one that fails does, but is none.
    const isSkipped = task.result?.state === 'skip'
    const hasFailed = task.result?.state === 'fail'
    const failures = await kit.finish(isSkipped || hasFailed)
    unfold(task.result?.errors)
    if (isSkipped) return
    const { coverage } = kit
    if (coverage !== undefined) Object.assign(task.meta, { [META_KEY]: coverage })
    if (failures.length > 0 || hasFailed) showTrace(kit, task)
    if (failures.length > 0 && !(hasFailed && isTriedAgain(task))) throw joinFailures(failures)
  },
  dispatcher: async ({ kit }: Context, use: Use<HookDispatcher>) => use(kit.dispatcher),
  // What looks at the dispatcher looks at the one that the test has, also where a fixture brings another.
  mocks: async ({ kit, dispatcher }: OnDispatcher, use: Use<MockTools>) => use(kit.on(dispatcher).mocks),
  model: async ({ kit }: Context, use: Use<ModelFixture>) => use(kit.model),
  humans: async ({ kit, dispatcher }: OnDispatcher, use: Use<ScriptedApprovals>) =>
    use(kit.on(dispatcher).humans),
  trace: async ({ kit, dispatcher }: OnDispatcher, use: Use<TestTrace>) => use(kit.on(dispatcher).trace),
  replay: async ({ kit, dispatcher, task }: OnDispatcher, use: Use<HookspanFixtures['replay']>) =>
    use((options) => kit.on(dispatcher).replay(recordingPath(task, options), options)),
  repeat: async ({ kit, signal, task }: Context, use: Use<HookspanFixtures['repeat']>) => {
    const unread = new Set<() => string | undefined>()
    await use(async (runs, fn, options) => {
      const onRun = ({ coverage }: TestKit) => kit.countWith(coverage)
      const open = () => 'repeat() had not ended when the test did. Await it.'
      unread.add(open)
      return repeatWith(runs, fn, options, {
        onRun,
        signal,
        onReport: (report, isRead) =>
          unread.add(() =>
            isRead() || report.failures.length === 0
              ? undefined
              : `${report}\nNobody looked at the report of repeat(): expect(report.passed).toBe(${runs}).`,
          ),
      }).finally(() => unread.delete(open))
    })
    if (task.result?.state === 'fail' || task.result?.state === 'skip') return
    const wrong = [...unread].flatMap((tell) => tell() ?? [])
    if (wrong.length > 0) throw new Error(wrong.join('\n\n'))
  },
})

export const it = test
export const expect = baseExpect

/** vitest 4 fails every later try of a test by what a fixture throws: of one that failed midway it was no more than the consequence. */
function isTriedAgain({ retry = 0, result }: Context['task']): boolean {
  const tries = typeof retry === 'number' ? retry : (retry.count ?? 0)
  return (result?.retryCount ?? 0) < tries
}

/** Where an `expect` fails and `using` then finds more, reporters show one error that says nothing, and not the two that it holds. */
function unfold(errors: object[] = []): void {
  errors.splice(0, errors.length, ...errors.flatMap(errorsIn))
}

function errorsIn(one: object): object[] {
  const { name, error, suppressed } = one as { name?: string; error?: object; suppressed?: object }
  if (name !== 'SuppressedError' || !error || !suppressed) return [one]
  return [...errorsIn(suppressed), ...errorsIn(error)]
}

/** What went wrong stands whatever becomes of the trace. */
function showTrace(kit: TestKit, task: TestTask): void {
  if (kit.trace.spans.length === 0) return
  const path = tracePath(task, process.env.HOOKSPAN_TRACE_DIR ?? join('.hookspan', 'failed-tests'))
  let saved = `saved as ${path}`
  try {
    kit.save(path)
  } catch (error) {
    saved = `not saved: ${errorMessage(error)}`
  }
  console.error(`Trace of the failed test "${fullName(task)}" (${saved}):\n${kit.trace.tree()}`)
}
