import type { ContractSubject } from 'hookspan/adapter/contract'
import { describe, it } from 'vitest'
import { tellAlike } from '../adapter/comparison/alike.ts'
import { toldBy } from '../adapter/comparison/told.ts'
import { expectConform, watchedSubject } from '../conformance/contract.ts'
import { claudeAgentSubject } from './subjects/claude-agent.ts'
import { copilotSubject } from './subjects/copilot.ts'
import { googleAdkSubject } from './subjects/google-adk.ts'
import { mastraSubject } from './subjects/mastra.ts'
import { strandsSubject } from './subjects/strands.ts'

const SUBJECTS = [mastraSubject, strandsSubject, googleAdkSubject, claudeAgentSubject, copilotSubject]

/** The contract, once for all that look on: an agent that is a process of its own takes seconds for each run. */
function runOnce(subject: ContractSubject) {
  const { watched, seen } = watchedSubject(subject)
  return { told: toldBy(watched, { whole: true }), seen }
}

const runs = new Map<string, ReturnType<typeof runOnce>>()
function runOf(subject: ContractSubject): ReturnType<typeof runOnce> {
  const before = runs.get(subject.name)
  if (before !== undefined) return before
  const run = runOnce(subject)
  runs.set(subject.name, run)
  return run
}

// With the scenarios, the reference and the known differences of test/adapter/comparison.test.ts.
tellAlike(SUBJECTS, (subject) => runOf(subject).told)

// The rules of test/conformance, for what that suite has no SDK of.
describe('in the spans and metrics of both profiles', () => {
  it.each(SUBJECTS)(
    'has no violation in the contract runs of $name',
    { timeout: 600_000 },
    async (subject) => {
      const { told, seen } = runOf(subject)
      await told
      expectConform(await seen())
    },
  )
})
