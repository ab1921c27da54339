import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import {
  countRuns,
  type RecordedRun,
  readRecordings,
  restoreMessages,
} from '../../src/cli/replay/recordings/index.ts'
import { recordingsFolder } from '../support/recordings-folder.ts'

interface Counts {
  runs?: number
  assistant_turns: number
  user_messages: number
  system_messages: number
  tool_calls: number
  tool_calls_by_name: Record<string, number>
  tool_results: number
  tool_results_starting_Error: number
  tool_results_error_flagged: number
  extra: Record<string, number | undefined>
}
interface File extends Counts {
  path: string
}
interface Run extends Counts {
  file: string
  pos: number
  run_id: string
}

const folder = recordingsFolder()
const read = (name: string) => readFileSync(join(folder ?? '', name), 'utf8')
const manifest = folder ? JSON.parse(read('manifest.json')) : { datasets: {} }
const files: File[] = ['tau-bench', 'tau2-bench'].flatMap((name) => manifest.datasets[name]?.files ?? [])
const runLines: Run[] = folder
  ? read('runs.jsonl')
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line))
  : []

/** Our counts in the manifest's words, for the fields it has. */
function inWordsOf(expected: Counts, runs: readonly RecordedRun[]): Counts {
  const counts = countRuns(runs)
  const results = runs.flatMap((run) => run.items).filter((item) => item.kind === 'toolResult')
  const byUs: Record<string, number> = {
    messages_with_parallel_tool_calls: counts.parallelMessages,
    tool_calls_with_repeated_id: counts.repeatedIds,
    tool_calls_by_assistant: counts.toolCalls - counts.toolCallsByUser,
    tool_calls_by_user: counts.toolCallsByUser,
    reward_1: runs.filter((run) => run.outcome.reward === 1).length,
  }
  for (const reason of ['user_stop', 'agent_stop', 'max_steps']) {
    byUs[`termination_${reason}`] = runs.filter((run) => run.outcome.terminationReason === reason).length
  }
  const isTauBench = runs[0]?.format === 'tau-bench'
  return {
    ...expected,
    assistant_turns: counts.assistantTurns,
    user_messages: counts.userMessages,
    system_messages: runs.flatMap((run) => run.items).filter((item) => item.kind === 'system').length,
    tool_calls: counts.toolCalls,
    tool_calls_by_name: counts.toolCallsByName,
    tool_results: counts.toolResults,
    tool_results_starting_Error: isTauBench
      ? counts.failedCalls
      : results.filter((result) => result.content.startsWith('Error')).length,
    tool_results_error_flagged: isTauBench ? 0 : counts.failedCalls,
    extra: Object.fromEntries(Object.keys(expected.extra).map((key) => [key, byUs[key]])),
  }
}

describe.skipIf(!folder)('the real recordings', () => {
  it('are the eleven files of the manifest', () => {
    expect(files).toHaveLength(11)
  })

  describe.each(files)('$path', (file) => {
    const load = () => readRecordings(join(folder!, file.path))

    it('has the counts of the manifest, in all and run by run', async () => {
      const runs = await load()

      expect(runs).toHaveLength(file.runs!)
      expect(inWordsOf(file, runs)).toEqual(file)
      const lines = runLines.filter((line) => line.file === file.path)
      expect(lines).toHaveLength(runs.length)
      for (const line of lines) {
        const run = runs[line.pos]!
        expect(run.id).toBe(line.run_id)
        expect(inWordsOf(line, [run])).toEqual(line)
      }
    })

    it('gives every message back byte for byte, out of the neutral fields', async () => {
      const runs = await load()
      const recorded: { traj?: unknown[]; messages?: unknown[] }[] = (() => {
        const value = JSON.parse(read(file.path))
        return Array.isArray(value) ? value : value.simulations
      })()

      for (const [index, run] of runs.entries()) {
        const messages = recorded[index]!.traj ?? recorded[index]!.messages
        expect(JSON.stringify(restoreMessages(run))).toBe(JSON.stringify(messages))
      }
      // What was said must come from the fields that a replay uses, not from a copy beside them.
      const copied = new Set(
        runs.flatMap((run) => run.items).flatMap((item) => Object.keys(item.origin.extra)),
      )
      const allowed = ['turn_idx', 'raw_data', 'errors', 'reasoning', 'tool_calls', 'usage', 'cost']
      expect([...copied].filter((key) => !allowed.includes(key))).toEqual([])
      for (const item of runs.flatMap((run) => run.items)) {
        for (const key of ['tool_calls', 'usage'] as const) expect(item.origin.extra[key] ?? null).toBeNull()
      }
    })

    it('joins every result with its call and parses what the model wrote', async () => {
      for (const run of await load()) {
        expect(run.systemPrompt).toMatch(/./)
        for (const [index, call] of run.calls.entries()) {
          const result = run.items[call.resultItem!]!
          if (result.kind !== 'toolResult') throw new Error(`Call ${index} of ${run.id} has no result.`)
          expect(result).toMatchObject({
            callIndex: index,
            toolCallId: call.id,
            name: call.name,
            madeBy: call.madeBy,
          })
          expect(JSON.parse(call.argumentsText)).toEqual(call.args)
          expect(call.index).toBe(index)
        }
      }
    })
  })

  it('keep what only tau2-bench has: the policy, times, usage, costs and the user as caller', async () => {
    const [run] = await readRecordings(join(folder!, 'tau2-bench/telecom_gpt-4.1_dual-control.json'))

    expect(run?.systemPrompt).toBe(
      JSON.parse(read('tau2-bench/telecom_gpt-4.1_dual-control.json')).info.environment_info.policy,
    )
    expect(run?.model).toBe('gpt-4.1')
    expect(run?.outcome).toMatchObject({ reward: 1, terminationReason: 'user_stop' })
    const turn = run?.items.find((item) => item.kind === 'assistant' && item.usage)
    expect(turn).toMatchObject({ usage: { inputTokens: expect.any(Number) }, costUsd: expect.any(Number) })
    expect(new Date((turn as { timestampMs: number }).timestampMs).toISOString()).toMatch(/^2025-08-01T16:/)
    expect(run?.calls.some((call) => call.madeBy === 'user')).toBe(true)
    expect(run?.items.filter((item) => item.kind === 'user').some((item) => item.content === null)).toBe(true)
  })
})
