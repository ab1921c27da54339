/** The keys of the runs list's query language: what narrows by what, and what people are told of it. */
import type { UseCount, UseKind } from './run-uses.ts'
import type { RunSummary } from './span.ts'
import { USE_COLUMNS, useKey } from './use-columns.ts'

type TextKey = { readonly kind: 'text'; readonly of: keyof RunSummary; readonly says: string }
/** By the sum of the columns. */
type NumberKey = {
  readonly kind: 'number'
  readonly of: readonly (keyof RunSummary)[]
  readonly unit: 'ms' | 'scaled' | 'usd' | 'plain'
  readonly says: string
}
type TimeKey = { readonly kind: 'time'; readonly bound: 'ago' | 'from' | 'to'; readonly says: string }

/** By what one tool, model, agent, gate or person did in the run at least once. */
type UseKey = {
  readonly kind: 'use'
  readonly use: UseKind
  readonly count: UseCount
  readonly says: string
}

/** By how something of one kind failed in the run, or refused. */
type UseErrorKey = { readonly kind: 'useError'; readonly use: UseKind; readonly says: string }

/** By an attribute of what sent spans of the run. */
type ResourceKey = { readonly kind: 'resource'; readonly says: string }

export type QueryKey = TextKey | NumberKey | TimeKey | UseKey | UseErrorKey | ResourceKey

const text = (of: keyof RunSummary, says: string): TextKey => ({ kind: 'text', of, says })
const number = (unit: NumberKey['unit'], says: string, ...of: (keyof RunSummary)[]): NumberKey => ({
  kind: 'number',
  of,
  unit,
  says,
})

export const QUERY_KEYS: Readonly<Record<string, QueryKey>> = {
  status: text('status', 'done, failed, with-errors, interrupted, denied, running, waiting'),
  agent: text('agents', 'an agent of the run'),
  tool: text('tools', 'a tool it called'),
  model: text('models', 'a model it asked'),
  service: text('service', 'the service that sent it'),
  conversation: text('conversationId', 'its conversation'),
  conv: text('conversationId', 'its conversation'),
  title: text('title', 'its name in the list'),
  reason: text('reason', 'why it ended'),
  trace: text('traceId', 'its trace id'),
  mark: text('mark', 'what a person said of it: good, bad, none'),
  label: text('labels', 'a label that a person gave it'),
  note: text('note', 'words of the note that a person wrote'),
  duration: number('ms', 'ms, or 10s, 2m', 'durationMs'),
  tokens: number('scaled', 'in and out; 20k', 'inputTokens', 'outputTokens'),
  input: number('scaled', 'tokens in', 'inputTokens'),
  output: number('scaled', 'tokens out', 'outputTokens'),
  cached: number('scaled', 'tokens read from a cache', 'cachedTokens'),
  cost: number('usd', 'US dollars', 'costUsd'),
  estimated: number('usd', 'US dollars that no span told', 'estimatedUsd'),
  errors: number('plain', 'failures; the step and the run of a failed call count with it', 'errors'),
  mocked: number('plain', 'tool calls that were mocked; mocked:yes', 'mockedCalls'),
  waiting: number('plain', 'questions to a person that are open; waiting:yes', 'waiting'),
  steps: number('plain', 'steps', 'steps'),
  calls: number('plain', 'tool calls', 'toolCalls'),
  spans: number('scaled', 'spans', 'spans'),
  since: { kind: 'time', bound: 'ago', says: 'started lately; 90s, 30m, 2h, 3d, 2w' },
  after: { kind: 'time', bound: 'from', says: 'started at or after 2026-11-22T10:00' },
  before: { kind: 'time', bound: 'to', says: 'started before 2026-11-22T12:00' },
  resource: { kind: 'resource', says: 'an attribute of the resource; service.version=1.4' },
  ...Object.fromEntries(useKeys()),
}

function* useKeys(): Generator<[string, UseKey | UseErrorKey]> {
  for (const [use, columns] of Object.entries(USE_COLUMNS) as [UseKind, typeof USE_COLUMNS.tool][]) {
    for (const { count, says } of columns) {
      if (count) yield [useKey(use, count), { kind: 'use', use, count, says }]
    }
    yield [useKey(use, 'error'), { kind: 'useError', use, says: 'its name, a colon, and how it failed' }]
  }
}

/** What the list can be ordered by, and what that is. `-` before it: the greatest first. */
export const SORT_KEYS: Readonly<Record<string, readonly (keyof RunSummary)[]>> = {
  started: ['startUs'],
  run: ['title'],
  status: ['status'],
  duration: ['durationMs'],
  tokens: ['inputTokens', 'outputTokens'],
  cost: ['costUsd'],
  calls: ['llmCalls', 'toolCalls'],
  errors: ['errors'],
  reason: ['reason'],
  service: ['service'],
  model: ['models'],
  agents: ['agents'],
  tools: ['tools'],
  conversation: ['conversationId'],
  input: ['inputTokens'],
  output: ['outputTokens'],
  cached: ['cachedTokens'],
  mocked: ['mockedCalls'],
  steps: ['steps'],
  spans: ['spans'],
  mark: ['mark'],
}
export const NEWEST_FIRST = '-started'
