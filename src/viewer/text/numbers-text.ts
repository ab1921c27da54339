/** What the runs of a query come to, in a line. */
import { formatCost, formatCount, formatDuration, formatWhole } from '../model/format.ts'
import { failedRuns, type RunNumbers, share } from '../model/run-numbers.ts'

export function numbersText(numbers: RunNumbers): string {
  const { runs, ended, durationMs, inputTokens, outputTokens, cachedTokens } = numbers
  const failed = failedRuns(numbers)
  return [
    `${formatWhole(runs)} ${runs === 1 ? 'run' : 'runs'}`,
    `${share(failed, ended)} failed (${formatWhole(failed)} of ${formatWhole(ended)})`,
    ...(durationMs ? [`p50 ${formatDuration(durationMs.p50)}`, `p95 ${formatDuration(durationMs.p95)}`] : []),
    `${formatCount(inputTokens + outputTokens)} tokens, ${share(cachedTokens, inputTokens)} of the input cached`,
    `${formatCost(numbers.costUsd)}${numbers.estimatedUsd > 0 ? ` (${formatCost(numbers.estimatedUsd)} estimated)` : ''}`,
    ...(numbers.mockedCalls > 0
      ? [`${share(numbers.mockedCalls, numbers.toolCalls)} of the calls mocked`]
      : []),
  ].join(' · ')
}
