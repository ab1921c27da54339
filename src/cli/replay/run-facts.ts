/** What a recording says of the run as a whole. */
import { basename } from 'node:path'
import { defined } from '../../internal/objects.ts'
import type { RecordedItem, RecordedRun } from './recordings/index.ts'

/** When the recording begins, if it has times at all. */
export function firstTime({ items, outcome }: RecordedRun): number | undefined {
  const times = items.flatMap((item) => ('timestampMs' in item ? (item.timestampMs ?? []) : []))
  const first = times[0]
  if (first === undefined) return undefined
  return Math.min(first, outcome.startedAtMs ?? first)
}

export function agentNameOf({ agentName, source }: RecordedRun): string {
  return agentName ?? basename(source).replace(/\.(json|jsonl|traj)$/i, '')
}

export function attributesOf(run: RecordedRun): Record<string, string | number | boolean> {
  const { reward, terminationReason, mistake } = run.outcome
  return defined({
    'hookspan.replay.source': basename(run.source),
    'hookspan.replay.format': run.format,
    'hookspan.replay.run_id': run.id,
    'hookspan.replay.reward': reward,
    'hookspan.replay.termination_reason': terminationReason,
    'hookspan.replay.mistake_agent': mistake?.agent,
    'hookspan.replay.mistake_step': mistake?.step,
    'hookspan.replay.mistake_reason': mistake?.reason,
  })
}

/** How the recording's runtime calls what ended the run; SWE-agent says `submitted (exit_cost)`, too. */
export function reasonOf({
  outcome: { terminationReason = '' },
}: RecordedRun): 'done' | 'max_steps' | 'cost_limit' {
  if (terminationReason === 'max_steps') return 'max_steps'
  return /\bexit_cost\b/.test(terminationReason) ? 'cost_limit' : 'done'
}

export function lastText(items: readonly RecordedItem[]): string {
  return items.findLast((item) => item.kind === 'assistant' && item.content !== null)?.content ?? ''
}
