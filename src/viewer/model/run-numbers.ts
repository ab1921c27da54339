/** What many runs come to. */
import type { RunStatus, RunSummary } from './span.ts'

export interface RunNumbers
  extends Pick<
    RunSummary,
    'inputTokens' | 'outputTokens' | 'cachedTokens' | 'costUsd' | 'toolCalls' | 'mockedCalls'
  > {
  runs: number
  /** Runs that are not running or waiting any more: what a share of failures is of. */
  ended: number
  byStatus: Record<RunStatus, number>
  /** Of runs that ended; absent without any. */
  durationMs?: { p50: number; p95: number }
  /** What of the cost is made from tokens and a table of prices. */
  estimatedUsd: number
  /** When they started, in bars of the same width, oldest first. Empty without runs. */
  starts: StartBar[]
}

export interface StartBar {
  fromUs: number
  toUs: number
  byStatus: Partial<Record<RunStatus, number>>
}

/** Runs that did not come to their end: what the share of failures counts. */
export function failedRuns({ byStatus }: Pick<RunNumbers, 'byStatus'>): number {
  return byStatus.failed + byStatus.interrupted
}

/** Not running or waiting any more. */
export function isOver(status: RunStatus): boolean {
  return status !== 'running' && status !== 'waiting'
}

/** A share of a whole: "12 %". */
export function share(part: number, whole: number): string {
  if (whole === 0) return '–'
  const percent = (part / whole) * 100
  const shown =
    percent > 0 && percent < 1 ? '<1' : percent > 99 && percent < 100 ? '>99' : String(Math.round(percent))
  return `${shown} %`
}
