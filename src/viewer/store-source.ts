import { exportingRuns, writingMarkdown } from './http/export-runs.ts'
import { buildConversation } from './model/conversation.ts'
import type { Conversation } from './model/conversation-items.ts'
import type { RunContent } from './model/data-set.ts'
import { finish } from './model/in-turns.ts'
import { type LintReport, lintRun } from './model/lint.ts'
import { NEWEST_FIRST } from './model/query-keys.ts'
import { diffRuns, type RunDiff } from './model/run-diff.ts'
import type { UseKind } from './model/run-uses.ts'
import type { RunSource } from './run-source.ts'
import type { Store } from './store/store.ts'

/** Runs of a store in this process, which is closed with it. */
export class StoreSource implements RunSource {
  readonly from: string
  readonly #store: Store

  constructor(store: Store, from: string) {
    this.from = from
    this.#store = store
  }

  listRuns = async (query: string, limit: number, sort = NEWEST_FIRST, offset = 0) =>
    this.#store.listRuns(query, { limit, offset, sort })
  search = async (words: string, limit: number, run?: string) => this.#store.search(words, limit, run)
  snippets = async (query: string, traceIds: readonly string[]) =>
    finish(this.#store.findingSnippets(query, traceIds))
  numbers = async (query: string) => this.#store.numbers(query)
  uses = async (query: string, kind: UseKind) => this.#store.uses(query, kind)
  diffSets = async (a: string, b: string) => this.#store.diffSets(a, b)
  run = async (traceId: string, sinceSeq = 0) => this.#store.run(traceId, sinceSeq)
  span = async (traceId: string, spanId: string) => this.#store.span(traceId, spanId)

  async conversation(traceId: string): Promise<Conversation | undefined> {
    const side = this.#side(traceId)
    return side && buildConversation(side.rows, side.open)
  }

  async findings(traceId: string): Promise<LintReport | undefined> {
    const side = this.#side(traceId)
    return side && lintRun(side.rows, side.open)
  }

  exportRuns = async (format: 'otlp' | 'jsonl', query: string, ids: readonly string[]) =>
    finish(exportingRuns(this.#store, { format, query, ids })).file
  markdown = async (traceId: string, maxChars: number) =>
    finish(writingMarkdown(this.#store, traceId, maxChars))
  content = async (traceId: string): Promise<RunContent | undefined> => this.#side(traceId)

  async diff(a: string, b: string): Promise<RunDiff | undefined> {
    const sideA = this.#side(a)
    const sideB = this.#side(b)
    return sideA && sideB && diffRuns(sideA, sideB)
  }

  close(): void {
    this.#store.close()
  }

  #side(traceId: string) {
    const run = this.#store.run(traceId)
    return run && { ...run, open: (spanId: string) => this.#store.span(run.summary.traceId, spanId) }
  }
}
