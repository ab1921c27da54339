/** Where the page gets its data, in one shape: the viewer it was served by (online-source.ts), or the run inside its own file (offline-source.ts). */

import type { ApprovalOutcome, ApprovalReply, WaitingRequest } from '../../src/viewer/model/approval.ts'
import type { ApprovalContext } from '../../src/viewer/model/approval-context.ts'
import type { Conversation } from '../../src/viewer/model/conversation-items.ts'
import type { CutSpan } from '../../src/viewer/model/cut.ts'
import type { LogEntry } from '../../src/viewer/model/event-log.ts'
import type { LintReport } from '../../src/viewer/model/lint.ts'
import type { RunDiff } from '../../src/viewer/model/run-diff.ts'
import type { RunNumbers } from '../../src/viewer/model/run-numbers.ts'
import type { RunActs } from '../../src/viewer/model/run-steps.ts'
import type { UseKind, UseSums } from '../../src/viewer/model/run-uses.ts'
import type { Seen } from '../../src/viewer/model/seen.ts'
import type { SetDiff } from '../../src/viewer/model/set-diff.ts'
import type { Snippet } from '../../src/viewer/model/snippet.ts'
import type { Marking, RunSummary, SpanRow } from '../../src/viewer/model/span.ts'

/** What is said of a request that came to nobody. */
export const NO_ANSWER = 'The viewer does not answer.'

export interface RunData {
  summary: RunSummary
  rows: SpanRow[]
  seq: number
  /** When `rows` are only the first of the timeline: how many it has. */
  totalRows?: number
}

export interface RunPage {
  runs: RunSummary[]
  total: number
  /** Spans that searching cannot find yet. */
  indexing: number
  /** What of the query was searched for as words, though it looks like a key. */
  problems: string[]
  /** What of the query is looked for in the spans; absent from a viewer that is older than the page. */
  words?: string
}

export interface Found {
  spanIds: string[]
  /** Spans that were not searched yet. */
  indexing: number
}

export interface Status {
  version: string
  runs: number
  spans: number
  bytes: number
  storageError: string
  /** By which costs are estimated; null without one. */
  prices?: { source: string; newest: string } | null
  /** Approvals that wait for an answer. */
  waiting: number
}

export type LiveEvent =
  /** Where not `areAll`, others changed, too. */
  | { type: 'changed'; runs: string[]; areAll: boolean }
  | { type: 'storage'; error: string }
  | { type: 'approvals' }
  | { type: 'connected' | 'disconnected' }

export interface Source {
  readonly offline: boolean
  /** Whether the link with the token was opened: then runs can be imported and removed. */
  readonly mayChange: boolean
  /** Where the runs are, when they are not the viewer's own and nothing can be changed; else empty. */
  readonly readOnly: string
  status(): Promise<Status>
  runs(query: string, limit: number, sort: string): Promise<RunPage>
  /** Of all runs that the query finds. */
  numbers(query: string): Promise<RunNumbers>
  /** What each tool, model, agent, gate or person did in them. */
  uses(query: string, kind: UseKind): Promise<UseSums>
  /** The runs of one query against those of another. */
  diffSets(a: string, b: string): Promise<SetDiff>
  run(traceId: string, since: number): Promise<RunData>
  span(traceId: string, spanId: string, full?: boolean): Promise<CutSpan>
  /** What a call of a model was sent; the content of what the call before had only with `all`. */
  seen(traceId: string, spanId: string, all?: boolean): Promise<Seen>
  /** The beginning of a conversation that came with the page; once. */
  firstWords(traceId: string): Conversation | undefined
  /** With `first`: about so many items of its beginning. */
  conversation(traceId: string, first?: number): Promise<Conversation>
  events(traceId: string): Promise<LogEntry[]>
  lint(traceId: string): Promise<LintReport>
  diff(a: string, b: string): Promise<RunDiff>
  /** What each of these runs did, in order. */
  acts(traceIds: readonly string[]): Promise<RunActs[]>
  search(text: string, traceId: string): Promise<Found>
  /** By run; those of which the words were found and can be shown. */
  snippets(query: string, traceIds: readonly string[]): Promise<Record<string, Snippet>>
  remove(traceId: string): Promise<void>
  mark(traceId: string, marking: Marking): Promise<void>
  /** For a language model. */
  markdown(traceId: string): Promise<string>
  importTraces(text: string): Promise<{ runs: string[]; rejected: number; reason: string }>
  /** What waits for an answer; needs the token. */
  approvals(): Promise<{ requests: WaitingRequest[]; approver?: string }>
  /** What led to a request. */
  approvalContext(id: string): Promise<ApprovalContext>
  /** @throws Error with the reason when the request is no longer open, or is about something else by now. */
  respond(id: string, reply: ApprovalReply): Promise<ApprovalOutcome>
  outcome(id: string): Promise<ApprovalOutcome>
  /** Returns how to stop listening. */
  live(onEvent: (event: LiveEvent) => void): () => void
}

/** @throws Error saying why what was to be done cannot be, and what to do. */
export function assertMayChange(source: Source, doing: string): void {
  if (source.readOnly) throw new Error(`This page shows ${source.readOnly}, and changes nothing there.`)
  if (!source.mayChange)
    throw new Error(`${doing} needs the link that \`hookspan view\` printed: open it once in this tab.`)
}
