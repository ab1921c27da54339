/** What runs are asked for, wherever they are. */
import type { Conversation } from './model/conversation-items.ts'
import type { RunContent } from './model/data-set.ts'
import type { LintReport } from './model/lint.ts'
import type { RunDiff } from './model/run-diff.ts'
import type { RunNumbers } from './model/run-numbers.ts'
import type { UseKind, UseSums } from './model/run-uses.ts'
import type { SetDiff } from './model/set-diff.ts'
import type { Snippet } from './model/snippet.ts'
import type { RunSummary, SpanRecord, SpanRow } from './model/span.ts'
import type { SearchResult } from './store/answers.ts'
import type { RunList } from './store/reader.ts'

export interface RunWithRows {
  summary: RunSummary
  rows: SpanRow[]
  /** Ask with it for what changed since. */
  seq: number
}

export interface RunSource {
  /** What is read, for people. */
  readonly from: string
  /** `sort`: a key of `SORT_KEYS`, such as cost; `-` before it: the greatest first. @default '-started' */
  listRuns(query: string, limit: number, sort?: string, offset?: number): Promise<RunList>
  /** Spans that hold every word, newest first; of one run when `run` is given. */
  search(words: string, limit: number, run?: string): Promise<SearchResult>
  /** What stands around the words of a query in these runs, by trace id. */
  snippets(query: string, traceIds: readonly string[]): Promise<Readonly<Record<string, Snippet>>>
  /** Sums over all runs that the query finds. `undefined` from a viewer that is too old for it. */
  numbers(query: string): Promise<RunNumbers | undefined>
  /** What each tool, model, agent, gate or person did in them. `undefined` likewise. */
  uses(query: string, kind: UseKind): Promise<UseSums | undefined>
  /** The runs of one query against those of another. `undefined` likewise. */
  diffSets(a: string, b: string): Promise<SetDiff | undefined>
  /** `undefined` when there is no such run. `traceId` may be the beginning of one. */
  run(traceId: string, sinceSeq?: number): Promise<RunWithRows | undefined>
  span(traceId: string, spanId: string): Promise<SpanRecord | undefined>
  conversation(traceId: string): Promise<Conversation | undefined>
  /** What fills the context of its model calls without need. */
  findings(traceId: string): Promise<LintReport | undefined>
  /** These runs as one file; where there are no ids, those of the query. */
  exportRuns(format: 'otlp' | 'jsonl', query: string, ids: readonly string[]): Promise<Uint8Array>
  /** For a language model, of at most so many characters. */
  markdown(traceId: string, maxChars: number): Promise<string | undefined>
  /** All of it, in memory. */
  content(traceId: string): Promise<RunContent | undefined>
  diff(a: string, b: string): Promise<RunDiff | undefined>
  close(): void
}
