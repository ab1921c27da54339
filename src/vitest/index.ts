// Tests of a project with `declaration` say the type of the fixtures that they extend, by a name that they can import.
export type { HookDispatcher } from '../dispatcher/index.ts'
export type { RecordedSpan } from '../spans/span-tree.ts'
export type { HookspanMatchers } from './augment.ts'
export { expect, type HookspanFixtures, it, test } from './fixtures.ts'
export {
  type AskedHumanOptions,
  type CalledToolOptions,
  type DeniedOptions,
  type MatcherResult,
  matchers,
} from './matchers.ts'
export { passHat, type RepeatedRun, type RepeatReport, repeatRuns } from './repeat.ts'
export type { ReplayFixtureOptions } from './test-files.ts'
export type { ModelFixture, TestTrace } from './test-kit.ts'
