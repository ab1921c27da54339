import type { HookEvent } from '../hooks/index.ts'
import { a, expected } from '../internal/expect.ts'
import { defined } from '../internal/objects.ts'

/** Calls of one kind of one tool or model, real ones only. */
export interface CallSummary {
  readonly calls: number
  readonly failed: number
  /** Milliseconds of the calls that were made, the median and the 95th percentile; absent without any. */
  readonly medianMs?: number
  readonly p95Ms?: number
}

export interface RunSummary {
  /** Real calls by name of the tool. */
  readonly tools: Readonly<Record<string, CallSummary>>
  /** Real calls by name of the model. */
  readonly models: Readonly<Record<string, CallSummary>>
  /** US dollars of real model calls; absent when none had a known price. */
  readonly costUsd?: number
  /** Tokens of real model calls. */
  readonly inputTokens: number
  readonly outputTokens: number
  /** Calls that are left out above, by what answered: `mock`, `replay`, `simulated`, `event.mock`, `scripted`. */
  readonly leftOut: Readonly<Record<string, number>>
}

interface Group {
  durations: number[]
  failed: number
}

/**
 * What a run cost and how long its calls took. Mocked, replayed and simulated calls are counted apart: their
 * latency and price would make the real ones look better than they are. Refused calls are no calls.
 */
export function summarizeCalls(events: readonly HookEvent[]): RunSummary {
  if (!a.objects.fits(events)) throw expected('the events of summarizeCalls to be a list of them', events)
  const tools = new Map<string, Group>()
  const models = new Map<string, Group>()
  const leftOut: Record<string, number> = {}
  let costUsd: number | undefined
  const tokens = { inputTokens: 0, outputTokens: 0 }
  const leave = (source: string) => {
    leftOut[source] = (leftOut[source] ?? 0) + 1
  }
  for (const event of events) {
    if (event.hookType === 'afterToolCall') {
      if (event.mocked) leave(event.mockSource ?? 'mock')
      else if (event.outcome === undefined || event.outcome === 'completed') {
        add(tools, event.apiName, event.executionTimeMs, !event.success)
      }
    } else if (event.hookType === 'onToolCallError') {
      if (event.mocked) leave(event.mockSource ?? 'refused')
      else add(tools, event.apiName, event.executionTimeMs, true)
    } else if (event.hookType === 'afterLlmCall') {
      if (event.mocked) {
        leave('scripted')
        continue
      }
      add(models, event.model, event.executionTimeMs, false)
      if (event.costUsd !== undefined) costUsd = (costUsd ?? 0) + event.costUsd
      tokens.inputTokens += event.usage?.inputTokens ?? 0
      tokens.outputTokens += event.usage?.outputTokens ?? 0
    } else if (event.hookType === 'onLlmCallError') {
      if (event.mocked) leave('scripted')
      else add(models, event.model, event.executionTimeMs, true)
    }
  }
  return {
    tools: summaries(tools),
    models: summaries(models),
    ...defined({ costUsd }),
    ...tokens,
    leftOut,
  }
}

function add(groups: Map<string, Group>, name: string, durationMs: number, failed: boolean): void {
  const group = groups.get(name) ?? { durations: [], failed: 0 }
  group.durations.push(durationMs)
  if (failed) group.failed++
  groups.set(name, group)
}

function summaries(groups: ReadonlyMap<string, Group>): Record<string, CallSummary> {
  return Object.fromEntries([...groups].map(([name, group]) => [name, summary(group)]))
}

function summary({ durations, failed }: Group): CallSummary {
  const sorted = durations.toSorted((a, b) => a - b)
  const at = (share: number) =>
    sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * share) - 1)] as number
  return { calls: sorted.length, failed, medianMs: at(0.5), p95Ms: at(0.95) }
}
