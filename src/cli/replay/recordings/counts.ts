import type { RecordedRun } from './types.ts'

/** What a trace of the run must hold. */
export interface RecordingCounts {
  assistantTurns: number
  userMessages: number
  toolCalls: number
  toolCallsByName: Record<string, number>
  toolCallsByUser: number
  toolResults: number
  failedCalls: number
  /** Messages that make more than one call. */
  parallelMessages: number
  /** Calls whose id an earlier call of the same run has. */
  repeatedIds: number
}

export function countRuns(runs: readonly RecordedRun[]): RecordingCounts {
  const items = runs.flatMap((run) => run.items)
  const calls = runs.flatMap((run) => run.calls)
  const results = items.filter((item) => item.kind === 'toolResult')
  const toolCallsByName: Record<string, number> = {}
  for (const { name } of calls) toolCallsByName[name] = (toolCallsByName[name] ?? 0) + 1
  return {
    assistantTurns: items.filter((item) => item.kind === 'assistant').length,
    userMessages: items.filter((item) => item.kind === 'user').length,
    toolCalls: calls.length,
    toolCallsByName,
    toolCallsByUser: calls.filter((call) => call.madeBy === 'user').length,
    toolResults: results.length,
    failedCalls: results.filter((result) => result.isError).length,
    parallelMessages: items.filter((item) => 'calls' in item && item.calls.length > 1).length,
    repeatedIds: runs.reduce(
      (sum, run) => sum + run.calls.length - new Set(run.calls.map(({ id }) => id)).size,
      0,
    ),
  }
}
