import { a, assertKnown, expected } from '../internal/expect.ts'
import { joinFailures, TestKit } from './test-kit.ts'

/** What one of several runs gets: the fixtures, of its own. */
export type RepeatedRun = Pick<TestKit, 'dispatcher' | 'mocks' | 'humans' | 'model' | 'trace'> & {
  /** From 0. */
  readonly index: number
}

export interface RepeatReport {
  readonly runs: number
  readonly passed: number
  /** What failed, by run. */
  readonly failures: readonly { readonly index: number; readonly error: Error; readonly tree: string }[]
  /** The chance that `k` runs in a row all pass, estimated without bias: C(passed, k) / C(runs, k). */
  passHat(k: number): number
  toString(): string
}

/**
 * Does the same several times, each time with mocks, models and a trace of its own, and counts how often it passes:
 * an agent that passes once may fail the next time.
 *
 * @param options.concurrency how many runs go on at once. @default 1
 * @throws HookspanError `INVALID_OPTION`; never for a run that fails.
 */
export function repeatRuns(
  runs: number,
  fn: (run: RepeatedRun) => unknown,
  options?: { concurrency?: number },
): Promise<RepeatReport> {
  return repeatWith(runs, fn, options)
}

interface OfTest {
  /** Given the report, and whether anybody has looked at it. */
  onReport?: (report: RepeatReport, isRead: () => boolean) => void
  /** Given the fixtures of each run at its end. */
  onRun?: (kit: TestKit) => void
  /** No run begins once it is aborted. */
  signal?: AbortSignal
}

/** As {@link repeatRuns}, as a part of a test. */
export async function repeatWith(
  runs: number,
  fn: (run: RepeatedRun) => unknown,
  options: { concurrency?: number } = {},
  test: OfTest = {},
): Promise<RepeatReport> {
  assertKnown(options, ['concurrency'], 'repeatRuns')
  const { concurrency = 1 } = options
  for (const [name, value] of Object.entries({ runs, concurrency })) {
    if (Number.isInteger(value) && value >= 1) continue
    throw expected(`\`${name}\` to be a whole number >= 1`, value)
  }
  const failures: { index: number; error: Error; tree: string }[] = []
  let next = 0
  const worker = async () => {
    while (next < runs && !test.signal?.aborted) {
      const index = next++
      const failed = await runOnce(index, fn, test)
      if (failed !== undefined) failures.push(failed)
    }
  }
  await Promise.all(Array.from({ length: Math.min(concurrency, runs) }, worker))
  failures.sort((a, b) => a.index - b.index)
  const made = report(runs, failures)
  if (test.onReport === undefined) return made
  let isRead = false
  const told = new Proxy(made, {
    get(target, key, receiver) {
      // To be awaited is not to be looked at.
      if (key !== 'then') isRead = true
      return Reflect.get(target, key, receiver)
    },
  })
  test.onReport(made, () => isRead)
  return told
}

async function runOnce(index: number, fn: (run: RepeatedRun) => unknown, { onRun, signal }: OfTest) {
  const kit = new TestKit(signal)
  const errors: Error[] = []
  try {
    await fn(withIndex(kit, index))
  } catch (error) {
    errors.push(error instanceof Error ? error : new Error(String(error)))
  }
  errors.push(...(await kit.finish()))
  onRun?.(kit)
  return errors.length === 0 ? undefined : { index, error: joinFailures(errors), tree: kit.trace.tree() }
}

/** Not a copy: the mocks of a kit begin to be strict when they are first asked for. */
function withIndex(kit: TestKit, index: number): RepeatedRun {
  return Object.defineProperty(kit, 'index', { value: index }) as unknown as RepeatedRun
}

function report(runs: number, failures: RepeatReport['failures']): RepeatReport {
  const passed = runs - failures.length
  return {
    runs,
    passed,
    failures,
    passHat: (k) => passHat(k, runs, passed),
    toString: () =>
      [
        `${passed} of ${runs} runs passed`,
        ...failures.map(
          ({ index, error, tree }) => `run ${index}: ${error.message}\n${tree.replace(/^/gm, '  ')}`,
        ),
      ].join('\n'),
  }
}

/** @throws HookspanError `INVALID_OPTION` when `k` is not between 1 and the number of runs. */
export function passHat(k: number, runs: number, passed: number): number {
  if (![runs, passed].every(a.integer(0).fits)) {
    throw expected('`runs` and `passed` of passHat to be whole numbers', [runs, passed])
  }
  if (!Number.isInteger(k) || k < 1 || k > runs) {
    throw expected(`\`k\` to be a whole number from 1 to ${runs}`, k)
  }
  let chance = 1
  for (let i = 0; i < k; i++) chance *= Math.max(0, passed - i) / (runs - i)
  return chance
}
