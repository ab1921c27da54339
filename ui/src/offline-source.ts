/** The run inside of a saved page: everything is read out of its spans here. */

import type { OtlpTraces } from '../../src/internal/otlp/types.ts'
import { buildConversation } from '../../src/viewer/model/conversation.ts'
import { digestSpan } from '../../src/viewer/model/digest.ts'
import { eventLog } from '../../src/viewer/model/event-log.ts'
import { lintRun } from '../../src/viewer/model/lint.ts'
import type { RunDiff } from '../../src/viewer/model/run-diff.ts'
import { runMarkdown } from '../../src/viewer/model/run-markdown.ts'
import { seenBy } from '../../src/viewer/model/seen.ts'
import type { RunSummary, SpanRecord, SpanRow } from '../../src/viewer/model/span.ts'
import { rowOf } from '../../src/viewer/model/span-row.ts'
import { summarise } from '../../src/viewer/model/summary.ts'
import { listOf, plainSpan } from '../../src/viewer/otlp/plain.ts'
import type { Source } from './source.ts'

export class OfflineSource implements Source {
  readonly offline = true
  readonly mayChange = false
  readonly readOnly = ''
  readonly #records = new Map<string, SpanRecord>()
  readonly #rows: SpanRow[]
  readonly #summary: RunSummary

  constructor(traces: OtlpTraces) {
    for (const group of listOf(traces.resourceSpans)) {
      for (const { scope, spans } of listOf(group.scopeSpans)) {
        for (const span of listOf(spans))
          this.#records.set(span.spanId, plainSpan(span, group.resource, scope))
      }
    }
    const records = [...this.#records.values()]
    this.#rows = records.map(savedRow)
    const digests = records.map((record) => digestSpan(record.name, record.attributes, [], record.status))
    const reasons = new Map(digests.map((digest, at) => [records[at]!.spanId, digest.reason]))
    this.#summary = summarise({
      traceId: records[0]?.traceId ?? '',
      rows: this.#rows,
      conversationId: digests.map((digest) => digest.conversationId).find(Boolean) ?? '',
      reasonOf: (spanId) => reasons.get(spanId) ?? '',
      open: (spanId) => this.#records.get(spanId),
    })
  }

  get traceId(): string {
    return this.#summary.traceId
  }

  #open = (spanId: string) => this.#records.get(spanId)
  status = async () => ({
    version: '',
    runs: 1,
    spans: this.#rows.length,
    bytes: 0,
    storageError: '',
    waiting: 0,
  })
  runs = async () => ({ runs: [this.#summary], total: 1, indexing: 0, problems: [] })
  numbers = async (): Promise<never> => {
    throw new Error('A saved run has no list.')
  }
  uses = this.numbers
  diffSets = this.numbers
  snippets = this.numbers
  run = async () => ({ summary: this.#summary, rows: this.#rows, seq: 0 })
  span = async (_traceId: string, spanId: string) => {
    const span = this.#records.get(spanId)
    if (!span) throw new Error('No such span in this file.')
    return { span, cut: {} }
  }
  seen = async (_traceId: string, spanId: string, all = false) => {
    const seen = seenBy({ rows: this.#rows, open: this.#open, spanId, all })
    if (!seen) throw new Error('No such span in this file.')
    return seen
  }
  firstWords = () => undefined
  conversation = async () => buildConversation(this.#rows, this.#open)
  events = async () => eventLog(this.#rows, this.#records.values())
  lint = async () => lintRun(this.#rows, this.#open)
  search = async (text: string) => {
    const words = text.toLowerCase().split(/\s+/).filter(Boolean)
    const spanIds = [...this.#records.values()]
      .filter((record) => {
        const all = JSON.stringify(record).toLowerCase()
        return words.every((word) => all.includes(word))
      })
      .map((record) => record.spanId)
    return { spanIds, indexing: 0 }
  }
  diff = async (): Promise<RunDiff> => Promise.reject(new Error('This file holds one run.'))
  acts = async (): Promise<never> => Promise.reject(new Error('This file holds one run.'))
  remove = async () => {}
  mark = async () => Promise.reject(new Error('A saved run keeps no marks.'))
  markdown = async () =>
    runMarkdown(this.#summary, this.#rows, await this.conversation(), { open: this.#open })
  importTraces = async () => Promise.reject(new Error('This file holds one run.'))
  approvals = async () => ({ requests: [] })
  approvalContext = async () => ({ path: [] })
  respond = async () => Promise.reject(new Error('A saved run waits for nobody.'))
  outcome = async () => Promise.reject(new Error('A saved run waits for nobody.'))
  live = () => () => {}
}

function savedRow(record: SpanRecord): SpanRow {
  const digest = digestSpan(record.name, record.attributes, record.events, record.status)
  const running = digest.started || record.endUs === 0
  return rowOf(record, digest, {
    endUs: running ? 0 : record.endUs,
    state: running ? 'interrupted' : 'ended',
    error: record.status.code === 2,
    service: String(record.resource['service.name'] ?? ''),
  })
}
